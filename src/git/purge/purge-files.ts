// Purges files other than packs, refs and the journal that may hold or name erased objects: loose
// objects, temporary files of any git, files that git derives from objects, and its records of
// working trees. Must be called under the writer lock and the checkpoint lock: no gitlocket process
// then writes these.

import type { Disk } from '../../disk/disk.ts'
import type { FileSweep } from '../../disk/file-sweep.ts'
import type { OidList } from '../objects/oid-list.ts'
import { removeMultiPackIndex } from '../pack/pack-removal.ts'

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
 * objects, so the tree is unregistered, as by `git worktree remove`. Its files are elsewhere, and
 * stay.
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
