// Git's file `shallow`: the boundary of a clone without all of its history, commits that are stored
// without their parents. Every walk through the history ends at them. Replaced by git's lock
// protocol, so that stock git understands the repository. Must be changed only under the writer
// lock, and must never lack a commit whose parents are missing.

import { utf8 } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { FileSweep } from '../../disk/file-sweep.ts'
import { StoreError } from '../../errors.ts'
import { boundaryCommitsMax } from '../../limits.ts'
import type { BoundaryChange } from '../exchange.ts'
import type { Oid } from '../objects/object.ts'
import { type GitFileLockContext, replaceUnderLock, textOf } from './git-file-lock.ts'

export const shallowName = 'shallow'
export const unmoved: BoundaryChange = { shallow: [], unshallow: [] }

/** Empty if the file is missing. Throws `ref_corrupt`. */
export function readShallow(disk: Disk, directory: string): readonly Oid[] {
  const lines = textOf(disk, `${directory}/${shallowName}`).split('\n')
  const commits = lines.filter((line) => line !== '')
  if (commits.every((line) => /^[0-9a-f]{40}$/.test(line))) return commits
  throw new StoreError(
    'ref_corrupt',
    `The file ${shallowName} is damaged: each line must be the 40 hex digits of a commit`,
  )
}

/** Durable when it resolves. Throws `invalid_input`, and `locked` if git holds the file. */
export async function writeShallow(
  files: GitFileLockContext,
  commits: Iterable<Oid>,
): Promise<void> {
  const { disk, directory } = files
  const next = [...new Set(commits)].toSorted()
  checkCommits(next)
  const path = `${directory}/${shallowName}`
  const before = textOf(disk, path)
  const text = encodeShallow(next)
  if (text !== '' && text === before) return
  if (text !== '') return replaceUnderLock(files, shallowName, utf8(text), () => undefined)
  // For git, an empty file is a boundary too.
  const sweep = new FileSweep(disk)
  sweep.remove(path)
  await sweep.sync()
}

/** Adds and removes commits, in one move of the file. */
export async function moveShallow(
  files: GitFileLockContext,
  { shallow, unshallow }: BoundaryChange,
): Promise<void> {
  if (shallow.length === 0 && unshallow.length === 0) return
  const commits = new Set([...readShallow(files.disk, files.directory), ...shallow])
  for (const oid of unshallow) commits.delete(oid)
  await writeShallow(files, commits)
}

export function encodeShallow(commits: Iterable<Oid>): string {
  return [...new Set(commits)].map((oid) => `${oid}\n`).join('')
}

/** Throws `invalid_input`. */
export function checkCommits(commits: readonly Oid[]): void {
  const isValid = commits.every((oid) => /^[0-9a-f]{40}$/.test(oid))
  if (isValid && commits.length <= boundaryCommitsMax) return
  throw new StoreError(
    'invalid_input',
    `The history may end at ${boundaryCommitsMax} commits at most: fetch all of it`,
  )
}

/** The boundary after both changes, in this order. */
export function joinChanges(first: BoundaryChange, second: BoundaryChange): BoundaryChange {
  const [shallow, unshallow] = [new Set(first.shallow), new Set(first.unshallow)]
  for (const oid of second.shallow) {
    shallow.add(oid)
    unshallow.delete(oid)
  }
  for (const oid of second.unshallow) {
    shallow.delete(oid)
    unshallow.add(oid)
  }
  return { shallow: [...shallow], unshallow: [...unshallow] }
}
