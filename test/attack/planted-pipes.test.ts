// T39: pipes, sockets and devices in the place of files of a prepared store, whose opening would
// wait for ever, or read without an end. Each is refused with a code, or ignored. In a process that
// can be killed: a thread that waits in the system cannot be interrupted.

import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { findTextFile } from '../../src/home/files.ts'
import { createStore, formatIdentity, generateIdentity } from '../../src/index.ts'
import { author } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

const program = join(import.meta.dirname, '../support/open-planted.mjs')

/** A closed store with caches, a journal, a loose object and packed refs; its paths. */
async function prepared(): Promise<readonly string[]> {
  const folder = temporaryDirectory()
  const directory = join(folder, 'store')
  const stateDirectory = join(folder, 'state')
  const identity = await generateIdentity()
  const identityFile = join(folder, 'config/identity')
  mkdirSync(join(folder, 'config'))
  writeFileSync(identityFile, formatIdentity(identity))
  const { store } = await createStore({ directory, stateDirectory, identity })
  await store.as(author).write('/a.md', 'one')
  await store.history.versions()
  await store.close()
  git(['hash-object', '-w', '--stdin'], directory, 'loose')
  return [directory, stateDirectory, identityFile]
}

test('T39: a pipe with something to read is neither a file of a store nor an identity', () => {
  const path = join(temporaryDirectory(), 'pipe')
  execFileSync('mkfifo', [path])
  const pipe = openSync(path, 'r+')
  writeSync(pipe, 'text')
  try {
    expect(() => systemDisk.readFile(path)).toThrow('it is a link, a pipe or a device; remove it')
    expect(() => findTextFile('the identity file', path, false)).toThrow('it is not a regular file')
  } finally {
    closeSync(pipe)
  }
})

describe('T39: a file that blocks for ever is refused, in place of any file', () => {
  test.each(['pipe', 'socket', 'device'])('a %s', { tags: 'slow' }, async (kind) => {
    const args = [program, ...(await prepared()), kind]
    const options = { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' } as const
    const { stdout, stderr, status } = spawnSync(process.execPath, args, options)
    const lines = stdout.trimEnd().split('\n')
    expect([status, stderr, lines.length % 2], lines.at(-1)).toEqual([0, '', 0])
    const verdicts = lines.filter((_, index) => index % 2 === 1)
    expect(verdicts.filter((verdict) => !/^[a-z_]+$/.test(verdict))).toEqual([])
    expect(verdicts.at(-1)).toBe('invalid_input')
    expect(verdicts.filter((verdict) => verdict !== 'accepted').length).toBeGreaterThan(9)
  })
})
