// Purges what names commits, other than refs/heads/main: other refs, loose and packed, reflogs, and
// files such as ORIG_HEAD. A reference to an erased object would make git report damage. Must never
// change the value of refs/heads/main.

import { basename } from 'node:path'
import { atomicWrite, type Disk, targetOf } from '../../disk/disk.ts'
import { filesBelow, type FileSweep } from '../../disk/file-sweep.ts'
import type { Oid } from '../objects/object.ts'
import { branchName } from '../refs/branch.ts'
import { type GitFileLockContext, textOf } from '../refs/git-file-lock.ts'
import { lockSuffix, looseRefs, type Ref, sweepPackedRefs } from '../refs/ref-list.ts'
import { evidenceDirectory } from '../refs/tracking-ref.ts'

type IsErased = (oid: Oid) => boolean

export interface RefSweep {
  readonly sweep: FileSweep
  readonly isErased: IsErased
  /** Whether an object is missing, such as a tag that an interrupted purge has erased. */
  readonly isMissing: IsErased
}

/** A head that was left out may reach erased objects anywhere in its history. */
function isEvidence(name: string): boolean {
  return name.startsWith(`${evidenceDirectory}/`)
}

/** Removes refs, reflog entries and the like that name erased objects. Under the writer lock. */
export async function sweepRefs(
  files: GitFileLockContext,
  { sweep, isErased, isMissing }: RefSweep,
): Promise<void> {
  const { disk, directory } = files
  const isErasedRef = ({ name, oid }: Ref): boolean => {
    // The name of a replacement ref is the object that it replaces.
    const replaced = /^refs\/replace\/([0-9a-f]{40})$/.exec(name)?.[1]
    if (isEvidence(name) || (replaced !== undefined && isErased(replaced))) return true
    return oid !== undefined && (isErased(oid) || isMissing(oid))
  }
  const removed = sweepLooseRefs(disk, directory, { sweep, isErasedRef })
  await sweepPackedRefs(files, (ref) => removed.has(ref.name) || isErasedRef(ref))
  sweepHeads(disk, directory, { sweep, isErased })
  for (const path of filesBelow(disk, `${directory}/logs`)) {
    const isLeft = path.endsWith(lockSuffix) || targetOf(basename(path)) !== undefined
    if (isLeft) sweep.removeKnown(path)
    else await sweepReflog(disk, path, { sweep, isErased })
  }
}

interface Sweeping {
  readonly sweep: FileSweep
  readonly isErased: IsErased
}

/** Returns the names of the refs that it removed. */
function sweepLooseRefs(
  disk: Disk,
  directory: string,
  { sweep, isErasedRef }: { sweep: FileSweep; isErasedRef: (ref: Ref) => boolean },
): ReadonlySet<string> {
  const refs = looseRefs(disk, directory).filter(({ name }) => name !== branchName)
  const removed = new Set(refs.filter(isErasedRef).map(({ name }) => name))
  for (const { name, target } of refs) if (target && removed.has(target)) removed.add(name)
  for (const name of removed) sweep.removeKnown(`${directory}/${name}`)
  return removed
}

/** FETCH_HEAD, ORIG_HEAD and the like. HEAD itself names a branch. */
function sweepHeads(disk: Disk, directory: string, { sweep, isErased }: Sweeping): void {
  for (const name of disk.list(directory)) {
    if (!/^[A-Z_]+_HEAD$/.test(name)) continue
    const oids = textOf(disk, `${directory}/${name}`).match(/\b[0-9a-f]{40}\b/g) ?? []
    if (oids.some(isErased)) sweep.removeKnown(`${directory}/${name}`)
  }
}

/** A line of a reflog starts with two oids, before and after. */
async function sweepReflog(disk: Disk, path: string, { sweep, isErased }: Sweeping): Promise<void> {
  const before = textOf(disk, path)
  const kept = before.split('\n').filter((line) => {
    const oids = /^([0-9a-f]{40}) ([0-9a-f]{40})\b/.exec(line)?.slice(1) ?? []
    return !oids.some(isErased)
  })
  const after = kept.join('\n')
  if (after === before) return
  if (after.trim() === '') return sweep.removeKnown(path)
  await atomicWrite(disk, path, Buffer.from(after, 'latin1'))
}
