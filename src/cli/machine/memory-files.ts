// Maps paths of a store to file names. A store may hold names that are dangerous as files: an agent
// that writes `/.git/config` must not configure git in the directory of an export.

import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmdirSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'

/** Bytes of one name on common file systems. */
const NAME_BYTES_MAX = 255

/** Why a memory cannot be written as a file; undefined if it can. */
export function exportProblem(path: string): string | undefined {
  // Some file systems would write it over the memory that is spelled in the other form.
  if (path.normalize('NFC') !== path) return 'is not in Unicode normalization form C'
  for (const segment of path.slice(1).split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return 'leads out of the directory'
    if (sep !== '/' && /[\\:]/.test(segment)) return 'is not a file name on this system'
    if (segment.split('\\').some(isGitName)) return 'would be read by git as its own'
    if (Buffer.byteLength(segment) > NAME_BYTES_MAX) return 'has a name too long for a file'
  }
  return undefined
}

/** `.git`, or the short name that Windows gives it. */
function isGitName(name: string): boolean {
  return /^(?:\.git|git~\d+|gi[0-9a-f]{4}~\d+)$/.test(nameKey(name))
}

/** A rule of that file system, and as in git; what text/visible.ts marks is another question. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * What names have in common that are one file on some file system: without regard to case (most),
 * to characters that HFS+ ignores, and to a stream, dots and spaces at the end (NTFS). Empty for an
 * invalid name there.
 */
export function nameKey(name: string): string {
  const seen = name.replaceAll(ignoredByHfs, '')
  return foldCase(seen.normalize('NFC'))
    .replace(/:.*$/s, '')
    .replace(/[ .]+$/, '')
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
 * The memories that cannot be files next to the others on a disk that ignores case: each but the
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

/** Also folds characters without a lower case, such as ß: rather one name too many. */
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

/** The directory by its real name, which it may get only later. */
export function realDirectory(directory: string): string {
  const existing = existingDirectory(directory)
  const real = attempt('examine a directory', existing, () => realpathSync(existing))
  return join(real, relative(existing, directory))
}

/**
 * What exists in the directories that files would be written into, and, of those above, whatever
 * has one of `names`. By absolute paths; no link is followed.
 */
export function existingFiles(
  directory: string,
  paths: readonly string[],
  names: readonly string[],
): readonly string[] {
  const below = new Set([directory, ...paths.flatMap(parentsOf).map((name) => directory + name)])
  return [
    ...[...below].filter((place) => isRealDirectory(place) === true).flatMap(entriesOf),
    ...ancestorsOf(directory)
      .flatMap((place) => names.map((name) => join(place, name)))
      .filter((path) => isRealDirectory(path) !== undefined),
  ]
}

function entriesOf(directory: string): readonly string[] {
  const names = attempt('list a directory', directory, () => readdirSync(directory))
  return names.map((name) => join(directory, name))
}

function ancestorsOf(directory: string): readonly string[] {
  const above = dirname(directory)
  return above === directory ? [] : [above, ...ancestorsOf(above)]
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

/** Whether the directory, or one above it, is a checkout of git. */
export function isInRepository(directory: string): boolean {
  for (let at = directory; ; at = dirname(at)) {
    if (lstatSync(join(at, '.git'), { throwIfNoEntry: false }) !== undefined) return true
    if (at === dirname(at)) return false
  }
}

/** False if it is not empty. */
export function removeEmpty(directory: string): boolean {
  try {
    rmdirSync(directory)
    return true
  } catch {
    return false
  }
}
