// refs/remotes/<remote>/main: where a remote's branch was last seen; and refs/gitlocket/…: heads
// that are kept as evidence, where no remote's ref can be. Written by git's lock protocol. Must be
// changed only under the writer lock; readers need no lock.

import { utf8 } from '../../bytes.ts'
import { type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { dirname } from '../../platform/paths.ts'
import type { Oid } from '../objects/object.ts'
import { Branch } from './branch.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'
import { removeRef } from './ref-list.ts'

const remotesDirectory = 'refs/remotes'
export const evidenceDirectory = 'refs/gitlocket'
const leftOut = 'left-out'
/** A subset of what git allows in a ref, so that it is a valid file name too. */
const remotePattern = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/

/** The name under which a head is tracked that the history has left out. */
export function leftOutName(commit: Oid): string {
  return `${leftOut}/${commit}`
}

/** The commit it points at. Throws `invalid_input`, or `ref_corrupt` if the file is damaged. */
export function readTrackingRef(disk: Disk, directory: string, remote: string): Oid | undefined {
  return new Branch(disk, directory, trackingRefName(remote)).read()
}

/** Durable when it resolves. Undefined removes the ref. */
export async function writeTrackingRef(
  files: GitFileLockContext,
  remote: string,
  next: Oid | undefined,
): Promise<void> {
  const name = trackingRefName(remote)
  if (next === undefined) return removeRef(files, name)
  const { disk, directory } = files
  await makeDurableDirectory(disk, `${directory}/${dirname(name)}`)
  await replaceUnderLock(files, name, utf8(`${next}\n`), () => undefined)
}

/** The names that are tracked, and perhaps removed ones that left a lock file. */
export function trackedNames(disk: Disk, directory: string): string[] {
  const remotes = disk
    .entries(`${directory}/${remotesDirectory}`)
    .filter(({ name, isDirectory }) => isDirectory && isName(name))
    .map(({ name }) => name)
  const files = disk.list(`${directory}/${evidenceDirectory}/${leftOut}`)
  const evidence = new Set(files.map((name) => name.replace(/\.lock$/, '')))
  return [...remotes, ...[...evidence].filter(isName).map((name) => `${leftOut}/${name}`)]
}

function isName(name: string): boolean {
  return remotePattern.test(name)
}

export function checkRemoteName(remote: string): void {
  if (isName(remote)) return
  throw new StoreError(
    'invalid_input',
    'The name of a remote must be letters, digits, dots, hyphens and underscores',
    { details: { parameter: 'remote' } },
  )
}

/** The tracking ref of a remote, or of `leftOutName`. Throws `invalid_input`. */
export function trackingRefName(name: string): string {
  const isLeftOut = name.startsWith(`${leftOut}/`)
  checkRemoteName(isLeftOut ? name.slice(leftOut.length + 1) : name)
  return isLeftOut ? `${evidenceDirectory}/${name}` : `${remotesDirectory}/${name}/main`
}
