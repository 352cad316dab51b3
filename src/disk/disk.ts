// Every file operation of a store, behind one interface, so that fault tests can count, cut and
// tear each one, and the operations that are made of several. Must not know what the files mean.
// Only the two syncs are asynchronous: they may take long.

import { toHex } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'
import { hasCode } from '../errors.ts'
import { basename, dirname } from '../platform/paths.ts'
import type { Life, Listener } from './life-socket.ts'
import type { ProcessOwner } from './process-owner.ts'

/** 'wx' creates a file and refuses an existing one, also a link that leads nowhere. */
export type OpenMode = 'r' | 'r+' | 'wx'

export interface DirectoryEntry {
  readonly name: string
  /** False for a symbolic link, whatever its target. */
  readonly isDirectory: boolean
  readonly isLink: boolean
}

export interface FileStatus {
  readonly size: number
  readonly inode: number
  readonly mtimeMs: number
  /** The device number; each mounted file system has its own. */
  readonly device: number
}

/** Whether two looks at a path saw one file, unchanged. Replacing a file changes its inode. */
export function isSameFile(a: FileStatus | undefined, b: FileStatus | undefined): boolean {
  return a?.inode === b?.inode && a?.mtimeMs === b?.mtimeMs && a?.size === b?.size
}

/**
 * The file system as the storage engine uses it. Failures are StoreErrors: `storage_full`,
 * `storage_denied` or `storage_failed`.
 */
export interface Disk {
  /** Refuses anything but a regular file. */
  open(path: string, mode: OpenMode): number
  /** Like `open`, but returns undefined if the file does not exist. */
  openExisting(path: string, mode: 'r' | 'r+'): number | undefined
  close(fd: number): void
  /**
   * Like `close`, for a file that was only read and may be removed: the last close frees its
   * blocks, which blocks a thread for a quarter of a second if the file is large.
   */
  closeInBackground(fd: number): void
  /** Returns the number of bytes read: fewer than requested only at the end of the file. */
  read(fd: number, into: Uint8Array, position: number): number
  /** Writes all of `bytes`. */
  write(fd: number, bytes: Uint8Array, position: number): void
  size(fd: number): number
  truncate(fd: number, length: number): void
  /**
   * fdatasync: resolves once the data and the size are durable. With `isHere` this thread waits,
   * and nothing else runs in it: for a few kilobytes on a device that is fast.
   */
  sync(fd: number, isHere?: boolean): Promise<void>
  /** The whole file, or undefined if it does not exist. Refused if it is larger than `limit`. */
  readFile(path: string, limit?: number): Uint8Array | undefined
  /** The names in a directory, sorted; empty if it does not exist. */
  list(directory: string): string[]
  /** Like `list`, with the kind of each entry. */
  entries(directory: string): DirectoryEntry[]
  stat(path: string): FileStatus | undefined
  rename(from: string, to: string): void
  /** Creates a hard link; returns false if `to` exists. */
  link(from: string, to: string): boolean
  /** No error if the file does not exist. */
  remove(path: string): void
  /** Creates the directory and its missing parents; no error if it exists. */
  makeDirectory(path: string): void
  /** Removes a directory recursively; no error if it does not exist. */
  removeTree(path: string): void
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>
  /** The identity of this process, for lock files. */
  owner(): ProcessOwner
  /** Listens on a socket at `path` until the process ends; undefined where sockets do not work. */
  listen(path: string): Promise<Listener | undefined>
  /** Whether the process `owner` still runs; `socket` is the one it listens at, if known. */
  lifeOf(owner: ProcessOwner, socket: string | undefined): Promise<Life>
}
/**
 * Replaces a file atomically: after a crash it holds the old bytes or the new ones. No one can
 * guess the temporary name and put a link there. One writer at a time: it removes what others left.
 * `ready` gets the new file once its bytes are durable; if it throws, nothing is replaced.
 */
export async function atomicWrite(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  ready: (fd: number) => void = () => undefined,
): Promise<void> {
  removeTemporary(disk, path)
  const temporary = `${path}.${toHex(systemRandom(8))}.tmp`
  const fd = disk.open(temporary, 'wx')
  try {
    disk.write(fd, bytes, 0)
    await disk.sync(fd)
    ready(fd)
  } finally {
    disk.close(fd)
  }
  disk.rename(temporary, path)
  await disk.syncDirectory(dirname(path))
}

/** Removes what an `atomicWrite` of this file has left that was cut off. */
export function removeTemporary(disk: Disk, path: string): void {
  const directory = dirname(path)
  for (const name of disk.list(directory)) {
    if (targetOf(name) === basename(path)) disk.remove(`${directory}/${name}`)
  }
}

/** The final name of a temporary file of `atomicWrite`; undefined for any other file. */
export function targetOf(name: string): string | undefined {
  return /^(.+)\.[0-9a-f]{16}\.tmp$/s.exec(name)?.[1]
}

/** Creates a missing directory and its missing parents. Durable when it resolves. */
export async function makeDurableDirectory(disk: Disk, path: string): Promise<void> {
  if (disk.stat(path) !== undefined) return
  const parents: string[] = []
  for (let top = path; disk.stat(top) === undefined; top = dirname(top)) parents.push(dirname(top))
  disk.makeDirectory(path)
  for (const parent of parents) await syncIfReadable(disk, parent)
}

/** Syncs a directory, unless it allows traversal only and cannot be opened for reading. */
export async function syncIfReadable(disk: Disk, directory: string): Promise<void> {
  try {
    await disk.syncDirectory(directory)
  } catch (error) {
    if (!hasCode(error, 'storage_denied')) throw error
  }
}
