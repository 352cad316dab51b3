// Directories in RAM: empty after each boot, and then made again, open to their user alone.

import { chmodSync, statfsSync } from 'node:fs'
import { attempt, makeDirectory } from '../../home/files.ts'
import { existingDirectory } from '../machine/memory-files.ts'

const TMPFS = 0x01021994
const RAMFS = 0x858458f6

/** Makes the directory unless it exists. Returns why it cannot be in RAM. */
export function makeInMemory(path: string): string | undefined {
  const type = attempt(
    'examine a file system',
    path,
    () => statfsSync(existingDirectory(path)).type,
  )
  if (process.platform !== 'linux' || (type !== TMPFS && type !== RAMFS)) {
    return 'its directory would not be in RAM'
  }
  attempt('make a directory', path, () => {
    makeDirectory(path)
    chmodSync(path, 0o700)
  })
  return undefined
}
