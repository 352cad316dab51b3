// A file of settings that belongs to the user and to another program: reads it, and replaces it as
// a whole, so that it holds the old text or the new one whatever happens. It keeps the permissions,
// follows a link of the user to the file behind it, and lets no project point outside itself. Must
// not know what the text means, and never shows it.

import { fchmodSync, lstatSync, realpathSync, statSync, type Stats } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { geteuid } from 'node:process'
import { utf8 } from '../../bytes.ts'
import { atomicWrite, makeDurableDirectory, removeTemporary, type Disk } from '../../disk/disk.ts'
import { StoreError, hasCode, type ErrorCode } from '../../errors.ts'
import { attempt, errnoOf, findBytes, textOf } from '../../home/files.ts'
import { CommandError } from '../call/command.ts'

export interface UserFile {
  /** As the program calls it. */
  readonly path: string
  /** Where its bytes are, which a link may hide. */
  readonly target: string
  /** Undefined if there is no such file. */
  readonly text: string | undefined
  /** Permissions. */
  readonly mode: number
}

const NEW_MODE = 0o600
const OWNER_MAY_WRITE = 0o200

/**
 * Reads a file as it is. `within` is a directory that a link must not lead out of. Throws
 * `invalid_input` for anything but a text file, or `storage_denied`.
 */
export function readUserFile(path: string, within?: string): UserFile {
  const target = targetOf(path)
  if (within !== undefined && !`${target}${sep}`.startsWith(realpathSync(within) + sep)) {
    throw new StoreError('invalid_input', `${path} is a link out of this project; remove the link`)
  }
  let found: Stats | undefined
  // With its mark, which must still be there when the file is written again.
  const bytes = findBytes('the file', target, false, (stats) => {
    found = stats
  })
  const text = bytes && textOf(bytes, 'the file')
  if (found !== undefined) checkOwner(path, found)
  const mode = found === undefined ? NEW_MODE : found.mode & 0o7777
  return { path, target, text, mode }
}

/** Its directory may be writable: then only this shows the user's intent. */
export function checkWritable({ path, text, mode }: UserFile): void {
  if (text === undefined || (mode & OWNER_MAY_WRITE) !== 0) return
  throw unwritable('storage_denied', path, 'the file is read-only')
}

/** With `sudo` the file would change hands. */
function checkOwner(path: string, { uid }: Stats): void {
  if (uid === geteuid?.()) return
  throw new StoreError('storage_denied', `${path} belongs to another user; run this as that user`)
}

/** The path without links. Its last directories may be missing. */
function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') return attempt('read the file', path, () => realpathSync(path))
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      return join(targetOf(dirname(path)), basename(path))
    }
    throw new StoreError('invalid_input', `${path} is a link to nothing; remove the link`)
  }
}

/**
 * Replaces the file if it is still as it was read. Durable when it resolves. Throws
 * `precondition_failed` if it is not, and a storage code; then the file is as it was.
 */
export async function replaceUserFile(disk: Disk, file: UserFile, text: string): Promise<void> {
  const { path, target, mode } = file
  try {
    await makeDurableDirectory(disk, dirname(target))
    await atomicWrite(disk, target, utf8(text), (fd) => {
      fchmodSync(fd, mode)
      checkUnchanged(file)
    })
  } catch (error) {
    tidy(disk, target)
    throw named(error, path)
  }
}

/** Removes what an earlier run has left that was cut off, whether this one writes or not. */
export function tidy(disk: Disk, target: string): void {
  try {
    if (statSync(dirname(target), { throwIfNoEntry: false })?.isDirectory() === true) {
      removeTemporary(disk, target)
    }
  } catch {
    // The rest is as private as the file, and the next run tries again.
  }
}

function checkUnchanged({ path, target, text, mode }: UserFile): void {
  const now = readUserFile(path)
  if (now.target === target && now.text === text && (text === undefined || now.mode === mode)) {
    return
  }
  throw new StoreError('precondition_failed', `${path} was changed in the meantime; run this again`)
}

/** The disk speaks of a store, and does not name files. */
function named(error: unknown, path: string): unknown {
  if (!hasCode(error, 'storage_full', 'storage_denied', 'storage_failed')) return error
  const problem = problems[error.code] ?? 'the disk failed'
  return unwritable(error.code, path, problem)
}

const problems: Readonly<Record<string, string>> = {
  storage_full: 'the disk is full',
  storage_denied: 'the file system or its directory is read-only',
}

function unwritable(code: ErrorCode, path: string, problem: string): CommandError {
  const message = `Could not write ${path}: ${problem}`
  const hint = 'Without --write this prints what to add to the file'
  return new CommandError(code, message, hint, { place: '' })
}
