// The RAM of a process that opens a store of many versions, writes, and queries versions, the log
// and the past. FULL=1: a hundred thousand versions, in large commits so that the store is made in
// a minute: versions and index have full size, the list of commits has not.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { full } from '../../support/seed.ts'
import { copyDirectory, sharedDirectory } from '../../support/temporary.ts'

const program = fileURLToPath(new URL('../../support/large-store.mjs', import.meta.url))
const [commits, rows] = full ? [50, 2000] : [5, 1000]
const versions = commits * rows
const place = sharedDirectory()

interface Measured {
  /** Bytes in use once the store is open, and how many more after queries. */
  readonly open: number
  readonly asked: number
  readonly rss: number
  readonly versions: number
  readonly page: number
  readonly text: string
}

let measured: Measured

async function run(...args: readonly (string | number)[]): Promise<string> {
  const all = ['--expose-gc', program, ...args.map(String)]
  return (await promisify(execFile)(process.execPath, all)).stdout
}

beforeAll(async () => {
  await run('build', place, commits, rows)
  // V8's memory for compiled code varies by some hundred kilobytes between runs.
  for (let n = 0; n < 3; n += 1) {
    const copy = sharedDirectory()
    copyDirectory(place, copy)
    const next: Measured = JSON.parse(await run('ask', copy))
    const { open, asked } = n === 0 ? next : measured
    measured = { ...next, open: Math.min(open, next.open), asked: Math.min(asked, next.asked) }
  }
})

test('answers each query with the right versions', { tags: 'slow' }, () => {
  expect(measured).toMatchObject({ versions: commits, page: 100, text: 'round 0\n' })
})

test(
  'an open store holds its memories and at most 40 bytes for each version',
  { tags: 'slow' },
  () => {
    // The program's code and tables, a good 12 MB; a kilobyte for each memory.
    expect(measured.open).toBeLessThan(12_500_000 + rows * 1000 + versions * 40)
  },
)

test('queries take 3 MB and at most 250 bytes for each version', { tags: 'slow' }, () => {
  expect(measured.asked).toBeLessThan(3_000_000 + versions * 250)
})

test.runIf(full)('the process takes at most 200 MB', () => {
  expect(measured.rss).toBeLessThan(200_000_000)
})
