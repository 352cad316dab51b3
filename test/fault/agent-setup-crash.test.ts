// The set-up of an agent program dies, the power fails or the disk does, at every operation: the
// file of the program holds what it held or what it should hold, and nothing else is left of it
// after the next run.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { addTo } from '../../src/cli/setup/json-text.ts'
import { readUserFile, replaceUserFile, tidy } from '../../src/cli/setup/user-file.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { everyDeath, everyError } from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const before = '{\n  // mine\n  "token": "s3cr3t"\n}\n'
const wanted = { path: ['mcpServers'], name: 'gitlocket', value: { command: 'gitlocket' } }

/** What one run does to the file, on this disk. */
async function setUp(path: string, disk: FaultyDisk): Promise<void> {
  const file = readUserFile(path)
  const added = addTo('the file', file.text ?? '', wanted)
  if (added === undefined) tidy(disk, file.target)
  else await replaceUserFile(disk, file, added.text)
}

const starts: readonly (readonly [name: string, mode: number, make: (path: string) => void])[] = [
  ['with a file', 0o640, (path) => writeFileSync(path, before, { mode: 0o640 })],
  ['without a file', 0o600, () => undefined],
]

describe.each(starts)('%s', (_, startMode, make) => {
  /** The operations of a run without faults, and what it leaves. */
  async function whole(): Promise<{ operations: number; after: string; mode: number }> {
    const path = place()
    const disk = new FaultyDisk()
    await setUp(path, disk)
    const { mode } = statSync(path)
    return { operations: disk.operations, after: readFileSync(path, 'utf8'), mode: mode & 0o777 }
  }

  function place(): string {
    const path = join(temporaryDirectory(), 'program', 'config.json')
    mkdirSync(dirname(path))
    make(path)
    return path
  }

  const faults = (at: number): readonly Fault[] => [
    ...everyDeath.map((death): Fault => ({ kind: 'death', at, ...death })),
    ...everyError.map(([code, times]): Fault => ({ kind: 'error', at, times, code })),
  ]

  test('every cut leaves the old file or the new one, and the next run tidies up', async () => {
    const { operations, after, mode } = await whole()
    expect(mode).toBe(startMode)
    expect(operations).toBeGreaterThanOrEqual(4)
    const seen = new Set<string | undefined>()
    for (let at = 1; at <= operations; at += 1) {
      for (const fault of faults(at)) {
        const path = place()
        const old = readUserFile(path).text
        const disk = new FaultyDisk(fault)
        const outcome = await setUp(path, disk).catch((error: unknown) => error)
        expect(outcome, JSON.stringify(fault)).toBeInstanceOf(Error)
        const left = readUserFile(path).text
        expect([old, after], JSON.stringify(fault)).toContain(left)
        seen.add(left)
        await setUp(path, new FaultyDisk())
        expect(readFileSync(path, 'utf8')).toBe(after)
        expect(statSync(path).mode & 0o777).toBe(mode)
        expect(readdirSync(dirname(path))).toEqual(['config.json'])
      }
    }
    expect(seen.size).toBe(2)
  })

  test('an error of the disk is said, names the file and leaves nothing', async () => {
    const path = place()
    const held = readUserFile(path).text
    const fault: Fault = { kind: 'error', at: 2, times: 1, code: 'storage_full' }
    await expect(setUp(path, new FaultyDisk(fault))).rejects.toMatchObject({
      code: 'storage_full',
      message: `Could not write ${path}: the disk is full`,
    })
    expect(readUserFile(path).text).toBe(held)
    expect(readdirSync(dirname(path))).toEqual(held === undefined ? [] : ['config.json'])
  })
})

test('a file that another program changes in between is left as it is', async () => {
  const path = join(temporaryDirectory(), 'config.json')
  writeFileSync(path, before)
  const file = readUserFile(path)
  writeFileSync(path, '{"other": true}')
  await expect(replaceUserFile(systemDisk, file, '{}')).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  expect(readFileSync(path, 'utf8')).toBe('{"other": true}')
  expect(readdirSync(dirname(path))).toEqual(['config.json'])
})

test('a file that another program makes in between is left as it is', async () => {
  const path = join(temporaryDirectory(), 'config.json')
  const file = readUserFile(path)
  writeFileSync(path, before)
  await expect(replaceUserFile(systemDisk, file, '{}')).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  expect(readFileSync(path, 'utf8')).toBe(before)
})
