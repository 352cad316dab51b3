// Prints the measures of the tree beside their limits: `npm run house`.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { measuresOf } from '../test/tidy/house.ts'
import { sourceFile } from '../test/tidy/source.ts'

const paths = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
const files = paths
  .split('\n')
  .filter((path) => /^(?:src|test|scripts)\/.*\.(?:ts|tsx|mjs)$/.test(path) && existsSync(path))
  .map((path) => sourceFile(path, readFileSync(path, 'utf8')))
for (const { name, value, limit } of measuresOf(files)) {
  process.stdout.write(`${String(value).padStart(8)}  of ${String(limit).padEnd(8)}${name}\n`)
}
