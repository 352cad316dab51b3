// A step of `npm run build`: writes the pages for man(1) into dist/man, which the package names.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { manualPages } from '../dist/cli/manual.js'
import { commandGroups } from '../dist/cli/table.js'

const directory = fileURLToPath(new URL('../dist/man/', import.meta.url))
rmSync(directory, { recursive: true, force: true })
mkdirSync(directory)
for (const [name, text] of manualPages(commandGroups)) writeFileSync(directory + name, text)
