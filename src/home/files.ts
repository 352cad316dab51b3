// A user's files outside every store: the identity file, and the files that commands read and
// write. Messages name the file, which the user gave or can change, and never its contents. New
// files are 0600, new directories 0700.

import { isUtf8 } from 'node:buffer'
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { concatBytes, toHex, utf8Text } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'
import { type ErrorCode, StoreError } from '../errors.ts'
import { MEBIBYTE } from '../limits.ts'
import { decodePlain } from '../plain-input.ts'

/** The longest text: a bundle of certificates has a few hundred kilobytes. */
const textBytesMax = 16 * MEBIBYTE
/** What a pipe holds at most, on Linux. */
const CHUNK_BYTES = 65_536

/** What pipes held, by device and inode: they can be read once, and commands read files again. */
const drained = new Map<string, Uint8Array>()

/** The text of a file as `findBytes` finds it, without the marks of other programs. */
export function findTextFile(...file: Parameters<typeof findBytes>): string | undefined {
  const bytes = findBytes(...file)
  return bytes === undefined ? undefined : plainTextOf(bytes, file[0])
}

/**
 * The bytes of a file, or undefined if it does not exist. Links are followed: orchestrators mount
 * secrets as links. A file that the user has named may be a pipe, which is read to its end. Else
 * opening does not wait, and anything but a file is refused: `invalid_input`. `check` may refuse a
 * file before it is read.
 */
export function findBytes(
  what: string,
  path: string,
  isNamed: boolean,
  check: (found: Stats) => void = () => undefined,
): Uint8Array | undefined {
  return attempt(`read ${what}`, path, () => {
    try {
      return isNamed && statSync(path).isFIFO()
        ? readPipe(what, path)
        : readRegular(what, path, check)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    }
  })
}

function readRegular(what: string, path: string, check: (found: Stats) => void): Uint8Array {
  const { O_RDONLY, O_NONBLOCK } = constants
  const file = openSync(path, O_RDONLY | O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw unreadable(what, path, 'it is not a regular file')
    check(found)
    return checkLength(what, path, readUpTo(file, textBytesMax))
  } finally {
    closeSync(file)
  }
}

/** Waits for the writer. */
function readPipe(what: string, path: string): Uint8Array {
  const { dev, ino } = statSync(path)
  const key = `${dev}:${ino}`
  const known = drained.get(key)
  if (known !== undefined) return known
  const bytes = checkLength(what, path, readNamed(path, textBytesMax))
  drained.set(key, bytes)
  return bytes
}

function checkLength(what: string, path: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length <= textBytesMax) return bytes
  throw unreadable(what, path, 'it is too large')
}

function unreadable(what: string, path: string, problem: string): StoreError {
  return new StoreError('invalid_input', `Could not read ${what} at ${path}: ${problem}`)
}

/** The bytes of a file or pipe that the user has named: `limit` and one more if there are more. */
export function readNamed(path: string, limit: number): Uint8Array {
  const file = openSync(path, constants.O_RDONLY)
  try {
    return readUpTo(file, limit)
  } finally {
    closeSync(file)
  }
}

/** What an open file holds, from where it stands: `limit` bytes and one more if there are more. */
export function readUpTo(file: number, limit: number): Uint8Array {
  const chunks: Uint8Array[] = []
  let left = limit + 1
  while (left > 0) {
    const chunk = new Uint8Array(Math.min(left, CHUNK_BYTES))
    const read = readSync(file, chunk)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    left -= read
  }
  return concatBytes(...chunks)
}

/** Well-formed text of UTF-8 bytes, each of them. Throws `invalid_input`. */
export function textOf(bytes: Uint8Array, what: string): string {
  if (isUtf8(bytes)) return utf8Text(bytes)
  throw notUtf8(what)
}

/** A secret, a pattern or JSON, without the marks of other programs. Throws `invalid_input`. */
export function plainTextOf(bytes: Uint8Array, what: string): string {
  const text = decodePlain(bytes)
  if (text === undefined) throw notUtf8(what)
  return text
}

function notUtf8(what: string): StoreError {
  return new StoreError('invalid_input', `${capitalised(what)} must be UTF-8 text`)
}

/**
 * Writes a new file, durably, with its directories. Never replaces one: `path_conflict`. Another
 * process finds no file or the whole one.
 */
export function writeSecretFile(what: string, path: string, text: string): void {
  const directory = dirname(path)
  const temporary = `${path}.${toHex(systemRandom(8))}.tmp`
  attempt(`write ${what}`, path, () => {
    makeDirectory(directory)
    const file = openSync(temporary, 'wx', 0o600)
    try {
      fchmodSync(file, 0o600)
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    try {
      giveName(temporary, path)
    } finally {
      rmSync(temporary, { force: true })
    }
    syncDirectory(directory)
  })
}

/** Throws EEXIST if the name is taken. */
function giveName(temporary: string, path: string): void {
  try {
    linkSync(temporary, path)
  } catch (error) {
    // Some file systems have no hard links.
    if (errnoOf(error) === 'EEXIST') throw error
    copyFileSync(temporary, path, constants.COPYFILE_EXCL)
  }
}

/** Creates a directory and its missing parents, each 0700 whatever the umask. */
export function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o700)
}

/** Runs file operations. Turns a system error into a storage code or `invalid_input`. */
export function attempt<T>(action: string, path: string, operation: () => T): T {
  try {
    return operation()
  } catch (error) {
    const found = systemProblem(error)
    if (found === undefined) throw error
    const [code, problem] = found
    throw new StoreError(code, `Could not ${action} at ${path}: ${problem}`, { cause: error })
  }
}

/** What a system error means, as the end of a sentence; undefined for any other error. */
export function systemProblem(error: unknown): readonly [ErrorCode, string] | undefined {
  const errno = errnoOf(error)
  if (errno === undefined) return undefined
  return problems[errno] ?? ['storage_failed', `the system reported ${errno}`]
}

/** The name of the system's error, such as `ENOENT`, if `error` is one. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return 'syscall' in error && typeof error.code === 'string' ? error.code : undefined
}

const problems: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['invalid_input', 'it does not exist'],
  EISDIR: ['invalid_input', 'it is a directory'],
  ENOTDIR: ['invalid_input', 'part of the path is not a directory'],
  ENXIO: ['invalid_input', 'it is a socket or a device'],
  ELOOP: ['invalid_input', 'it is a symbolic link'],
  ENAMETOOLONG: ['invalid_input', 'the name is too long for the file system'],
  EEXIST: ['path_conflict', 'it exists already'],
  ENOSPC: ['storage_full', 'the disk is full'],
  EDQUOT: ['storage_full', 'the disk quota is used up'],
  EACCES: ['storage_denied', 'permission was denied'],
  EPERM: ['storage_denied', 'the operation is not permitted here'],
  EROFS: ['storage_denied', 'the file system is read-only'],
}

function syncDirectory(path: string): void {
  const directory = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
