// A directory in RAM for plaintext that an editor needs as a file: 0700, on a tmpfs, and removed
// however the process ends, but for `kill -9`: then the next one removes it, and until then it is
// plaintext that proofs of absence must count. The directory names the store of its text, and the
// processes that use it. A tmpfs can be swapped out, and an editor may copy what it edits
// elsewhere; docs/CLI.md explains both.

import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { lifeOf, ownerOf, thisProcess, type ProcessOwner } from '../../disk/process-owner.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { attempt } from '../../home/files.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError, type Context } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'

const NAME = 'gitlocket-edit-'
/** In the directory: the id of the store, and then a process in each line. */
const USERS = 'used-by'
const USERS_BYTES_MAX = 65_536
/** `f_type` of statfs(2): tmpfs and ramfs. */
const ramFileSystems: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6])

export interface ScratchDirectory {
  readonly directory: string
  /** Marks that another process uses it, which may outlive this one. */
  readonly useBy: (process: number) => void
}

/** Throws `storage_denied` if there is only a disk. */
export async function withScratchDirectory<T>(
  context: Context,
  { allowDisk, storeId }: { readonly allowDisk: boolean; readonly storeId: string },
  work: (scratch: ScratchDirectory) => Promise<T>,
): Promise<T> {
  const parent = findRamDirectory(context.environment) ?? (allowDisk ? tmpdir() : undefined)
  if (parent === undefined) {
    throw new CommandError(
      'storage_denied',
      'No file system in RAM was found for the plaintext that the editor needs',
      'Use `str-replace` or `insert`, or accept a file on disk with --allow-disk-temp',
    )
  }
  await removeLeft(context.environment)
  const directory = attempt('make a directory', parent, () => mkdtempSync(join(parent, NAME)))
  const remove = context.interrupts.atExit(() =>
    rmSync(directory, { recursive: true, force: true }),
  )
  const note = (line: unknown): void =>
    attempt('write a temporary file', directory, () =>
      appendFileSync(join(directory, USERS), `${JSON.stringify(line)}\n`, { mode: 0o600 }),
    )
  try {
    note(storeId)
    note(thisProcess())
    return await work({ directory, useBy: (process) => note(ownerOf(process)) })
  } finally {
    remove()
  }
}

/** The first usual place that is on a tmpfs. */
function findRamDirectory({ runtimeDirectory }: Environment): string | undefined {
  const candidates = [runtimeDirectory, '/dev/shm']
  return candidates.find((path): path is string => path !== undefined && isInRam(path))
}

/** Directories of this user that an `edit` is using, or left behind when it was killed. */
export function leftScratchDirectories(environment: Environment): readonly string[] {
  const parents = new Set([findRamDirectory(environment), '/dev/shm', tmpdir()])
  return [...parents].flatMap((parent) => {
    if (parent === undefined || !existsSync(parent)) return []
    return readdirSync(parent)
      .filter((name) => name.startsWith(NAME))
      .map((name) => join(parent, name))
      .filter(isOwnDirectory)
  })
}

/** For every proof that a text is erased: names those that may hold a text of the store. */
export function textsOutside(
  environment: Environment,
  { id }: Pick<MemoryStore, 'id'>,
): () => readonly string[] {
  return () =>
    leftScratchDirectories(environment).filter((directory) => {
      const users = findUsers(directory)
      if (users !== undefined) return users.storeId === id
      // Another edit may just have made it, or removed it since it was listed.
      return systemDisk.list(directory).some((name) => name !== USERS)
    })
}

/** Removes those whose processes have certainly ended, the editor included. */
async function removeLeft(environment: Environment): Promise<void> {
  for (const directory of leftScratchDirectories(environment)) {
    const users = findUsers(directory)
    if (users === undefined || users.processes.length === 0) continue
    const lives = await Promise.all(users.processes.map((user) => lifeOf(user, undefined)))
    if (lives.every((life) => life === 'ended')) {
      attempt('remove a directory', directory, () =>
        rmSync(directory, { recursive: true, force: true }),
      )
    }
  }
}

/** Where everyone may write, others can put a directory or a link of this name. */
function isOwnDirectory(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() !== true) return false
  return getuid === undefined || (found.uid === getuid() && (found.mode & 0o077) === 0)
}

/** Undefined for what this version has not made, or not to its end. */
function findUsers(directory: string) {
  const file = join(directory, USERS)
  try {
    const found = lstatSync(file)
    if (!found.isFile() || found.size > USERS_BYTES_MAX) return undefined
    const [storeId, ...processes] = readFileSync(file, 'utf8').trimEnd().split('\n').map(parsed)
    if (typeof storeId !== 'string' || !processes.every(isOwner)) return undefined
    return { storeId, processes }
  } catch {
    return undefined
  }
}

function parsed(line: string): unknown {
  return JSON.parse(line)
}

function isOwner(value: unknown): value is ProcessOwner {
  if (typeof value !== 'object' || value === null) return false
  const { pid, startTime, bootId, namespace } = value as Partial<Record<string, unknown>>
  return (
    typeof pid === 'number' &&
    [startTime, bootId, namespace].every((field) => typeof field === 'string')
  )
}

/** Whether the path is on a file system in RAM. */
export function isInRam(path: string): boolean {
  try {
    return ramFileSystems.has(statfsSync(path).type)
  } catch {
    return false
  }
}
