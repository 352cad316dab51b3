// The law of what a write loads: the files of the library and the command line that one `create`
// reads, in dist as it is before it is bundled. Like the limits of test/tidy/house.ts, the limit
// only shrinks: what a write does not need is imported when it is used.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/temporary.ts'

const LIMIT = 273

const dist = new URL('../../dist/', import.meta.url)
const program = fileURLToPath(new URL('cli/main.js', dist))

test(`a write loads at most ${LIMIT} files`, { tags: 'slow' }, () => {
  const home = temporaryDirectory()
  const coverage = join(home, 'coverage')
  const run = (words: readonly string[], variables: NodeJS.ProcessEnv = {}): void => {
    const env = { PATH: process.env['PATH'], HOME: home, ...variables }
    execFileSync(process.execPath, [program, ...words], { env, stdio: 'pipe' })
  }
  run(['init', '--no-passphrase'])
  run(['create', 'a.md', '--text', 'a'], { NODE_V8_COVERAGE: coverage })
  const loaded = readdirSync(coverage).flatMap((file): { url: string }[] => {
    return JSON.parse(readFileSync(join(coverage, file), 'utf8')).result
  })
  const own = new Set(loaded.map(({ url }) => url).filter((url) => url.startsWith(dist.href)))
  expect(own.size).toBeGreaterThan(50)
  expect(own.size).toBeLessThanOrEqual(LIMIT)
})
