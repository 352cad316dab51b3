// Purges files other than packs and the journal that may hold or name erased objects: loose
// objects, temporary files of any git, files that git derives from objects, its records of working
// trees, refs, reflogs, and files such as ORIG_HEAD. A reference to an erased object would make git
// report damage. Must be called under the writer lock and the checkpoint lock, and must never
// change the value of refs/heads/main.

import { basename } from 'node:path'
import { atomicWrite, type Disk, targetOf } from '../../disk/disk.ts'
import { filesBelow, type FileSweep } from '../../disk/file-sweep.ts'
import type { Oid } from '../objects/object.ts'
import type { OidList } from '../objects/oid-list.ts'
import { removeMultiPackIndex } from '../pack/pack-removal.ts'
import { branchName } from '../refs/branch.ts'
import { type GitFileLockContext, textOf } from '../refs/git-file-lock.ts'
import { lockSuffix, looseRefs, type Ref, sweepPackedRefs } from '../refs/ref-list.ts'
import { evidenceDirectory } from '../refs/tracking-ref.ts'

/** Derived from objects and refs; git recreates them on request. */
const derivedFiles = ['objects/info/commit-graph', 'objects/info/packs', 'info/refs']
/**
 * A running git that loses its temporary files fails and changes nothing. Otherwise it could store
 * erased objects.
 */
const temporaryPack = /^(tmp_|\.tmp-)/
const temporaryObject = /^tmp_obj_/
const temporaryDirectory = /^(tmp_objdir-|incoming-)/

export function sweepFiles(
  disk: Disk,
  directory: string,
  { sweep, dead }: { readonly sweep: FileSweep; readonly dead: OidList },
): void {
  const objects = `${directory}/objects`
  for (const name of derivedFiles) sweep.remove(`${directory}/${name}`)
  sweep.empty(`${objects}/info/commit-graphs`)
  removeMultiPackIndex(disk, `${objects}/pack`)
  unlinkWorkingTrees(directory, sweep)
  for (const { name, isDirectory } of disk.entries(`${objects}/pack`)) {
    if (!isDirectory && temporaryPack.test(name)) sweep.removeKnown(`${objects}/pack/${name}`)
  }
  sweep.touch(`${objects}/pack`)
  for (const { name, isDirectory } of disk.entries(objects)) {
    if (!isDirectory) continue
    if (temporaryDirectory.test(name)) sweep.empty(`${objects}/${name}`)
    else if (/^[0-9a-f]{2}$/.test(name)) sweepLoose(disk, objects, { name, sweep, dead })
  }
}

/**
 * The index, HEAD and reflog of a working tree protect objects from `git gc`, and make it fail
 * where those are missing. The checked-out files are outdated ciphertext, useless without the
 * objects, so the tree is unregistered, as by `git worktree remove`. Its files are elsewhere,
 * and are kept.
 */
function unlinkWorkingTrees(directory: string, sweep: FileSweep): void {
  sweep.empty(`${directory}/worktrees`)
  sweep.remove(`${directory}/index`)
}

function sweepLoose(
  disk: Disk,
  objects: string,
  { name, sweep, dead }: { name: string; sweep: FileSweep; dead: OidList },
): void {
  for (const file of disk.list(`${objects}/${name}`)) {
    const isDead = /^[0-9a-f]{38}$/.test(file) && dead.hasOid(`${name}${file}`)
    if (isDead || temporaryObject.test(file)) sweep.removeKnown(`${objects}/${name}/${file}`)
  }
}

/** Removes the files of packs that lack a part, and lacked it a moment ago. */
export function sweepBrokenPacks(
  disk: Disk,
  directory: string,
  { sweep, names }: { readonly sweep: FileSweep; readonly names: ReadonlySet<string> },
): void {
  for (const file of disk.list(directory)) {
    if (names.has(file.replace(/\.[a-z]+$/, ''))) sweep.removeKnown(`${directory}/${file}`)
  }
}

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
