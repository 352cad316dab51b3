// The RAM of the history: bounded for each version, and released when unused.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { full } from '../../support/seed.ts'

const program = fileURLToPath(new URL('../../support/history-memory.mjs', import.meta.url))
const versions = full ? 1_000_000 : 30_000

interface Measured {
  readonly bytesPerVersion: number
  readonly left: number
  readonly same: boolean
  readonly isHeld: boolean
  readonly isGone: boolean
  readonly written: number
  readonly rss: number
}

let measured: Measured

beforeAll(async () => {
  const args = ['--expose-gc', program, String(versions), String(versions / 100)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  measured = JSON.parse(stdout)
})

test('a version takes at most 160 bytes', { tags: 'slow' }, () => {
  expect(measured.bytesPerVersion).toBeLessThan(160)
})

test('is held while in use, and released afterwards once it was stored', { tags: 'slow' }, () => {
  expect(measured).toMatchObject({ same: true, isHeld: true, isGone: true, written: 1 })
  expect(measured.left).toBeLessThan(measured.bytesPerVersion / 4)
})

test.runIf(full)('a million versions and the process around them take less than 300 MB', () => {
  expect(measured.rss).toBeLessThan(300_000_000)
})
