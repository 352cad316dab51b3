// refs/remotes/<remote>/main: where a remote's branch was last seen. Written by git's lock
// protocol. Must be changed only under the writer lock; readers need no lock.

import { utf8 } from '../../bytes.ts'
import { type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import type { Oid } from '../objects/object.ts'
import { Branch } from './branch.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'
import { removeRef } from './ref-list.ts'

const remotesDirectory = 'refs/remotes'
/** A subset of what git allows in a ref, so that it is a valid file name too. */
const remotePattern = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/

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
  await makeDurableDirectory(disk, `${directory}/${remotesDirectory}/${remote}`)
  await replaceUnderLock(files, name, utf8(`${next}\n`), () => undefined)
}

/** The names of all tracking refs, and perhaps of removed ones that left a lock file. */
export function trackingRefs(disk: Disk, directory: string): string[] {
  return disk
    .entries(`${directory}/${remotesDirectory}`)
    .filter(({ name, isDirectory }) => isDirectory && remotePattern.test(name))
    .map(({ name }) => trackingRefName(name))
}

/** Throws `invalid_input`. */
export function checkRemoteName(remote: string): void {
  if (remotePattern.test(remote)) return
  throw new StoreError(
    'invalid_input',
    'The name of a remote must be letters, digits, dots, hyphens and underscores',
    { details: { parameter: 'remote' } },
  )
}

/** The name of a remote's tracking ref. Throws `invalid_input`. */
export function trackingRefName(remote: string): string {
  checkRemoteName(remote)
  return `${remotesDirectory}/${remote}/main`
}
