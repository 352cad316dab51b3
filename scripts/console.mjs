// A step of `npm run build`: builds the page of the console into dist/console/client, with the
// licences of what is in it. Nothing of it comes from elsewhere when it runs.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { licenceTexts } from './licences.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'console', 'client')

// The same page in every environment: with that of tests Vite would build a larger one.
process.env['NODE_ENV'] = 'production'

const { output: written } = await build({
  root: join(root, 'src', 'console', 'client'),
  configFile: false,
  logLevel: 'warn',
  // Reads no .env of whoever builds.
  envDir: false,
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: output,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})
const modules = written.flatMap(({ moduleIds = [] }) => moduleIds)
writeFileSync(join(output, 'LICENSES.txt'), licenceTexts(modules))
