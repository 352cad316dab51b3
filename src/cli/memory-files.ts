// Maps paths of a store to file names. A store may hold names that are dangerous as files: an agent
// that writes `/.git/config` must not configure git in the directory of an export.

import { lstatSync, mkdtempSync, rmdirSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { StoreError } from '../errors.ts'
import { attempt } from '../home/files.ts'

/** Bytes of one name on common file systems. */
const NAME_BYTES_MAX = 255

/** Why a memory cannot be written as a file; undefined if it can. */
export function exportProblem(path: string): string | undefined {
  // Some file systems would write it over the memory that is spelled in the other form.
  if (path.normalize('NFC') !== path) return 'is not in Unicode normalization form C'
  for (const segment of path.slice(1).split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return 'leads out of the directory'
    if (sep !== '/' && /[\\:]/.test(segment)) return 'is not a file name on this system'
    if (/^(?:\.git|git~\d+)[ .]*$/i.test(segment)) return 'would be read by git as its own'
    if (Buffer.byteLength(segment) > NAME_BYTES_MAX) return 'has a name too long for a file'
  }
  return undefined
}

/** The file for a memory, always below `directory`. */
export function exportFile(directory: string, path: string): string {
  const file = join(directory, path)
  if (exportProblem(path) === undefined && file.startsWith(join(directory, sep))) return file
  throw new StoreError('invalid_path', 'The path cannot be written as a file', {
    details: { path },
  })
}

/**
 * The memories that cannot be files beside the others on a disk that ignores case: each but the
 * first of those whose names it would take as one, as file or as directory.
 */
export function findCaseTwins(paths: readonly string[]): readonly string[] {
  const files = new Set<string>()
  const directories = new Set<string>()
  return paths.filter((path) => {
    const file = foldCase(path)
    const above = parentsOf(file)
    if (files.has(file) || directories.has(file) || above.some((name) => files.has(name))) {
      return true
    }
    files.add(file)
    for (const name of above) directories.add(name)
    return false
  })
}

/** Also folds what has no lower case of its own, such as ß: rather one name too many. */
export function foldCase(path: string): string {
  return path.toUpperCase().toLowerCase()
}

function parentsOf(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(2).map((_, index) => segments.slice(0, index + 2).join('/'))
}

/** Whether names that differ by case are one on the disk. Tried out in an existing directory. */
export function ignoresCase(directory: string): boolean {
  return attempt('make a directory', directory, () => {
    const made = mkdtempSync(join(directory, '.Gitlocket-'))
    try {
      const other = join(directory, basename(made).toLowerCase())
      return lstatSync(other, { throwIfNoEntry: false }) !== undefined
    } finally {
      rmdirSync(made)
    }
  })
}

/** The directory itself, or the nearest above it that exists. */
export function existingDirectory(path: string): string {
  const found = isRealDirectory(path)
  return found === true || dirname(path) === path ? path : existingDirectory(dirname(path))
}

/** Whether the path is a directory itself, not a link to one. Undefined if it does not exist. */
export function isRealDirectory(path: string): boolean | undefined {
  const found = attempt('examine a file', path, () => lstatSync(path, { throwIfNoEntry: false }))
  return found?.isDirectory()
}
