// The disk of this machine. Owns file modes (0600, 0700) and the texts for errno, which name the
// action and never a path. Anyone who prepared a directory must not redirect or block anything: a
// file is opened only if it is a regular one, no symbolic link is followed, and a new file never
// replaces another.

import {
  chmodSync,
  close,
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { type ErrorCode, StoreError } from '../errors.ts'
import { fileBytesMax } from '../limits.ts'
import type { Disk, OpenMode } from './disk.ts'
import { listenAt } from './life-socket.ts'
import { lifeOf, thisProcess } from './process-owner.ts'

const syncData = promisify(fdatasync)
const syncAll = promisify(fsync)

// Where the platform lacks one, it is undefined, and `|` takes that for 0.
const { O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants
const openFlags: Readonly<Record<OpenMode, number>> = {
  r: constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
  'r+': constants.O_RDWR | O_NOFOLLOW | O_NONBLOCK,
  wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW,
}
/** Opening a pipe waits for its other end. */
const directoryFlags = constants.O_RDONLY | O_DIRECTORY | O_NONBLOCK

/**
 * Opens a file without waiting, whatever it is, and refuses it unless it is a regular one. To be
 * written in place it must have no other name: that may be a file of the user, or the same file of
 * a copy with hard links, such as `cp -al` makes, where a write would change both stores. It is not
 * replaced by a copy here, since other processes may have it open.
 */
function openRegular(path: string, mode: OpenMode): number {
  const fd = openSync(path, openFlags[mode], 0o600)
  try {
    if (!fstatSync(fd).isFile()) throw irregularError(path)
    if (mode === 'r+' && fstatSync(fd).nlink > 1) throw sharedError(path)
    if (mode === 'wx') fchmodSync(fd, 0o600)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Names the file: nothing but removing it helps. Other names than those of a store may lie. */
function irregularError(path: string): StoreError {
  return openError(path, 'it is a link, a pipe or a device; remove it')
}

function sharedError(path: string): StoreError {
  const advice = 'close the store, then copy the file and move the copy to its name'
  return openError(path, `it has a hard link elsewhere, which a write would change; ${advice}`)
}

/** A sparse file takes no room on the disk, and all of it in RAM. */
function largeError(path: string): StoreError {
  return openError(path, 'it is larger than any such file; move it away, and see `doctor`')
}

function openError(path: string, problem: string): StoreError {
  const name = basename(path)
  const file = /^[\w.-]{1,99}$/.test(name) ? name : 'a file'
  return new StoreError('storage_failed', `Could not open ${file} of the store: ${problem}`)
}

export const systemDisk: Disk = {
  open(path, mode) {
    return attempt('open a file', () => openRegular(path, mode))
  },
  openExisting(path, mode) {
    return attemptUnless('ENOENT', 'open a file', () => openRegular(path, mode))
  },
  close(fd) {
    attempt('close a file', () => closeSync(fd))
  },
  closeInBackground(fd) {
    close(fd, () => undefined)
  },
  read(fd, into, position) {
    return attempt('read a file', () => {
      let done = 0
      while (done < into.length) {
        const count = readSync(fd, into, done, into.length - done, position + done)
        if (count === 0) break
        done += count
      }
      return done
    })
  },
  write(fd, bytes, position) {
    attempt('write a file', () => {
      let done = 0
      while (done < bytes.length) {
        done += writeSync(fd, bytes, done, bytes.length - done, position + done)
      }
    })
  },
  size(fd) {
    return attempt('examine a file', () => fstatSync(fd).size)
  },
  truncate(fd, length) {
    attempt('shorten a file', () => ftruncateSync(fd, length))
  },
  async sync(fd, isHere = false) {
    try {
      if (isHere) fdatasyncSync(fd)
      else await syncData(fd)
    } catch (error) {
      fail('sync a file', error)
    }
  },
  readFile(path, limit = fileBytesMax) {
    return attemptUnless('ENOENT', 'read a file', () => {
      const fd = openRegular(path, 'r')
      try {
        if (fstatSync(fd).size > limit) throw largeError(path)
        const bytes = readFileSync(fd)
        // A Buffer's `slice` is a view, where callers expect a copy.
        return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
      } finally {
        closeSync(fd)
      }
    })
  },
  list(directory) {
    const names = attemptUnless('ENOENT', 'list a directory', () => readdirSync(directory))
    return (names ?? []).toSorted()
  },
  entries(directory) {
    const found = attemptUnless('ENOENT', 'list a directory', () => {
      return readdirSync(directory, { withFileTypes: true })
    })
    return (found ?? []).map((entry) => {
      const { name } = entry
      return { name, isDirectory: entry.isDirectory(), isLink: entry.isSymbolicLink() }
    })
  },
  stat(path) {
    return attemptUnless('ENOENT', 'examine a file', () => {
      const found = statSync(path, { throwIfNoEntry: false })
      if (found === undefined) return undefined
      return { size: found.size, inode: found.ino, mtimeMs: found.mtimeMs, device: found.dev }
    })
  },
  rename(from, to) {
    attempt('rename a file', () => renameSync(from, to))
  },
  link(from, to) {
    const done = attemptUnless('EEXIST', 'link a file', () => {
      linkSync(from, to)
      return true
    })
    return done ?? false
  },
  remove(path) {
    attemptUnless('ENOENT', 'remove a file', () => unlinkSync(path))
  },
  makeDirectory(path) {
    attempt('create a directory', () => {
      const first = mkdirSync(path, { recursive: true, mode: 0o700 })
      if (first !== undefined) chmodSync(path, 0o700)
    })
  },
  removeTree(path) {
    // Another process may create the file concurrently.
    const again = { maxRetries: 3, retryDelay: 10 }
    attempt('remove a directory', () => rmSync(path, { recursive: true, force: true, ...again }))
  },
  async syncDirectory(path) {
    const fd = attempt('open a directory', () => openSync(path, directoryFlags))
    try {
      await syncAll(fd).catch((error: unknown) => fail('sync a directory', error))
    } finally {
      closeSync(fd)
    }
  },
  owner: thisProcess,
  listen: listenAt,
  lifeOf,
}
function attempt<T>(action: string, operation: () => T): T {
  try {
    return operation()
  } catch (error) {
    return fail(action, error)
  }
}

function attemptUnless<T>(expected: string, action: string, operation: () => T): T | undefined {
  try {
    return operation()
  } catch (error) {
    const errno = errnoOf(error)
    // A path below a file does not exist, as one below a missing directory does not.
    if (errno === expected || (errno === 'ENOTDIR' && expected === 'ENOENT')) return undefined
    return fail(action, error)
  }
}

const problems: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOSPC: ['storage_full', 'the disk is full'],
  EDQUOT: ['storage_full', 'the disk quota is used up'],
  EACCES: ['storage_denied', 'permission was denied'],
  EPERM: ['storage_denied', 'the operation is not permitted here'],
  EROFS: ['storage_denied', 'the file system is read-only'],
  EIO: ['storage_failed', 'the device reported an input/output error'],
  EMFILE: ['storage_failed', 'too many files are open in this process'],
  ENFILE: ['storage_failed', 'too many files are open on this machine'],
  ENOENT: ['storage_failed', 'it does not exist'],
  ELOOP: ['storage_failed', 'it is a symbolic link, which is not followed'],
  ENXIO: ['storage_failed', 'it is a socket or a device'],
  EEXIST: ['storage_failed', 'it exists already'],
  ENOTDIR: ['storage_failed', 'part of the path is not a directory'],
  EISDIR: ['storage_failed', 'it is a directory'],
  EXDEV: ['storage_failed', 'the store spans two file systems'],
  EMLINK: ['storage_failed', 'the file has too many links'],
  ENOTSUP: ['storage_failed', 'the file system does not support it'],
}

function fail(action: string, error: unknown): never {
  if (error instanceof StoreError) throw error
  const errno = errnoOf(error)
  const [code, problem] = problems[errno] ?? ['storage_failed', `the system reported ${errno}`]
  throw new StoreError(code, `Could not ${action} of the store: ${problem}`)
}

function errnoOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return 'an unknown error'
}
