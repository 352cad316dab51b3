// Files of the command line itself: identity, secrets, imported and exported texts. Unlike the
// library, messages here name the file, which the user gave or can change. Never holds contents
// in a message. New files are 0600, new directories 0700.

import { isUtf8 } from 'node:buffer'
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { concatBytes, utf8Text } from '../bytes.ts'
import { type ErrorCode, StoreError } from '../errors.ts'
import { contentBytesFormatMax } from '../limits.ts'

/** The text of a file, or undefined if it does not exist. */
export function findTextFile(what: string, path: string): string | undefined {
  const bytes = attempt(`read ${what}`, path, () => {
    try {
      return readFileSync(path)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    }
  })
  return bytes === undefined ? undefined : textOf(bytes, what)
}

/** Text that is to become a memory, so no larger than one can be. */
export function readTextFile(what: string, path: string): string {
  const bytes = attempt(`read ${what}`, path, () => {
    checkSize(what, statSync(path).size)
    return readFileSync(path)
  })
  return textOf(bytes, what)
}

/** Everything on standard input. */
export async function readStandardInput(): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    checkSize('standard input', length)
    chunks.push(bytes)
  }
  return textOf(concatBytes(...chunks), 'standard input')
}

function checkSize(what: string, actual: number): void {
  const limit = contentBytesFormatMax
  if (actual <= limit) return
  throw new StoreError(
    'content_too_large',
    `${capitalised(what)} is larger than a memory can be: at most ${limit} bytes`,
    { details: { actual, limit } },
  )
}

/** Well-formed text of UTF-8 bytes. Throws `invalid_input`. */
export function textOf(bytes: Uint8Array, what: string): string {
  if (isUtf8(bytes)) return utf8Text(bytes)
  throw new StoreError('invalid_input', `${capitalised(what)} must be UTF-8 text`)
}

/** The first line of a file that holds a passphrase or a recovery key. Throws `invalid_input`. */
export function readSecretFile(what: string, path: string): string {
  const secret = readTextFile(`the file with ${what}`, path).replace(/\r?\n$/, '')
  if (secret !== '' && !/[\r\n]/.test(secret)) return secret
  throw new StoreError('invalid_input', `The file with ${what} must hold it in one line`)
}

/** Writes a file that was not there, for its user alone. Never replaces one: `path_conflict`. */
export function writeNewFile(what: string, path: string, text: string): void {
  attempt(`write ${what}`, path, () => writeFileSync(path, text, { flag: 'wx', mode: 0o600 }))
}

/** Writes a new file, durably, with its directories. Never replaces one: `path_conflict`. */
export function writeSecretFile(what: string, path: string, text: string): void {
  const directory = dirname(path)
  attempt(`write ${what}`, path, () => {
    makeDirectory(directory)
    const file = openSync(path, 'wx', 0o600)
    try {
      fchmodSync(file, 0o600)
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    syncDirectory(directory)
  })
}

/** Creates a directory and its missing parents, each 0700 whatever the umask. */
export function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o700)
}

/** Runs file operations, in words if they fail. Throws a storage code, or `invalid_input`. */
export function attempt<T>(action: string, path: string, operation: () => T): T {
  try {
    return operation()
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const [code, problem] = problems[errno] ?? ['storage_failed', `the system said ${errno}`]
    throw new StoreError(code, `Could not ${action} at ${path}: ${problem}`, { cause: error })
  }
}

/** `ENOENT` and the like, if the system refused something. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return 'syscall' in error && typeof error.code === 'string' ? error.code : undefined
}

const problems: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['invalid_input', 'it does not exist'],
  EISDIR: ['invalid_input', 'it is a directory'],
  ENOTDIR: ['invalid_input', 'part of the path is not a directory'],
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

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
