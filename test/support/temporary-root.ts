// Where temporary directories are while the tests run: on a file system in memory where there is
// one, since what they write to a disk is synced thousands of times, and gone a moment later. That
// a sync is made where one is needed is tested with disks that lose power (faulty-disk.ts).

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const prefix = 'gitlocket-test-'
/** Of Linux. */
const typeOfTmpfs = 0x01021994
/** Ten times what the tests have there at once. */
const bytesMin = 1024 ** 3
/** A run that made no temporary directory for this long has ended. */
const abandonedMs = 3_600_000

/**
 * Directs temporary directories to a new one; the returned function removes it with all of them.
 */
export function useTemporaryRoot(): () => void {
  // A short name where it may be of some use: that of a socket below is limited.
  const directory = directoryInMemory() ?? mkdtempSync(join(tmpdir(), 'gl-'))
  // Some tests are another user's.
  chmodSync(directory, 0o755)
  process.env['TEST_DISK'] = tmpdir()
  process.env['TMPDIR'] = directory
  return () => remove(directory)
}

/** The place of temporary directories otherwise: for tests that need a real disk. */
export function onDisk(): string {
  return process.env['TEST_DISK'] ?? tmpdir()
}

function directoryInMemory(): string | undefined {
  if (!hasRoom()) return undefined
  removeAbandoned()
  const directory = mkdtempSync(join(memory, `${prefix}${process.pid}-`))
  if (canRunPrograms(directory)) return directory
  remove(directory)
  return undefined
}

function hasRoom(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memory)
    return type === typeOfTmpfs && bavail * bsize >= bytesMin
  } catch {
    return false
  }
}

/** In containers it is often mounted so that nothing there runs, as tests want of their scripts. */
function canRunPrograms(directory: string): boolean {
  const script = join(directory, 'script')
  writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(script)
  rmSync(script)
  return status === 0
}

/** A run that was killed has removed nothing, and memory is scarcer than disks. */
function removeAbandoned(): void {
  for (const name of readdirSync(memory)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    const path = join(memory, name)
    const found = statSync(path, { throwIfNoEntry: false })
    // The process may run in another container with the same memory: then its directory changes.
    if (found === undefined || Date.now() - found.mtimeMs < abandonedMs) continue
    if (found.uid === userInfo().uid) remove(path)
  }
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}
