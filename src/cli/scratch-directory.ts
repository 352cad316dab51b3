// A directory in RAM for plaintext that an editor needs as a file: 0700, on a tmpfs, and removed
// however the process ends. A tmpfs can be swapped out, and an editor may copy what it edits
// elsewhere; docs/CLI.md says both.

import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attempt } from '../home/files.ts'
import { CommandError } from './command-error.ts'
import type { Context } from './context.ts'
import type { Environment } from './environment.ts'

const NAME = 'gitlocket-edit-'
/** `f_type` of statfs(2): tmpfs and ramfs. */
const ramFileSystems: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6])

/** Runs `work` with the directory's path. Throws `storage_denied` if there is only a disk. */
export async function withScratchDirectory<T>(
  context: Context,
  allowDisk: boolean,
  work: (directory: string) => Promise<T>,
): Promise<T> {
  const parent = findRamDirectory(context.environment) ?? (allowDisk ? tmpdir() : undefined)
  if (parent === undefined) {
    throw new CommandError(
      'storage_denied',
      'No file system in RAM was found for the plaintext that the editor needs',
      'Use `str-replace` or `insert`, or accept a file on disk with --allow-disk-temp',
    )
  }
  const directory = attempt('make a directory', parent, () => mkdtempSync(join(parent, NAME)))
  const remove = context.interrupts.atExit(() =>
    rmSync(directory, { recursive: true, force: true }),
  )
  try {
    return await work(directory)
  } finally {
    remove()
  }
}

/** The first usual place that is on a tmpfs. */
function findRamDirectory({ runtimeDirectory }: Environment): string | undefined {
  const candidates = [runtimeDirectory, '/dev/shm']
  return candidates.find((path): path is string => path !== undefined && isInRam(path))
}

/** Directories that a killed `edit` left behind, for `doctor`. */
export function leftScratchDirectories(environment: Environment): readonly string[] {
  return [findRamDirectory(environment), tmpdir()].flatMap((parent) => {
    if (parent === undefined) return []
    return readdirSync(parent)
      .filter((name) => name.startsWith(NAME))
      .map((name) => join(parent, name))
  })
}

/** Whether the path is on a file system in RAM. */
export function isInRam(path: string): boolean {
  try {
    return ramFileSystems.has(statfsSync(path).type)
  } catch {
    return false
  }
}
