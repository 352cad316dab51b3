// The refused head of a remote, kept for investigation: a bare repository that borrows the objects
// of the store and adds the packs that were refused. So stock git reads it, and nothing of the
// store reaches it. One for each remote. Must be changed only under the writer lock.

import { utf8 } from '../../bytes.ts'
import { atomicWrite } from '../../disk/disk.ts'
import type { Oid } from '../objects/object.ts'
import { PackSet } from '../pack/pack-set.ts'
import { refusedName } from '../purge/purge-intents.ts'
import { branchName } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { headText, ownDirectoryName } from '../refs/repository.ts'
import { encodeShallow, shallowName } from '../refs/shallow.ts'
import { checkRemoteName } from '../refs/tracking-ref.ts'

type Files = Pick<GitFileLockContext, 'disk' | 'directory'>

/** From its `objects` to those of the store. */
const alternates = '../../../../objects\n'

/** Its path from the store's directory; undefined if nothing is kept. Throws `invalid_input`. */
export function findRefused({ disk, directory }: Files, remote: string): string | undefined {
  const path = pathOf(remote)
  return disk.stat(`${directory}/${path}/HEAD`) === undefined ? undefined : path
}

/** Replaces the refused head of the remote. `packs`, a directory, is moved there. */
export async function keepRefused(
  files: Files,
  remote: string,
  {
    head,
    packs,
    shallow,
  }: { readonly head: Oid; readonly packs: string | undefined; readonly shallow: readonly Oid[] },
): Promise<void> {
  const { disk, directory } = files
  const repository = `${directory}/${pathOf(remote)}`
  removeRefused(files, remote)
  for (const name of ['objects/info', 'refs/heads']) disk.makeDirectory(`${repository}/${name}`)
  if (packs !== undefined) disk.rename(packs, `${repository}/objects/pack`)
  await atomicWrite(disk, `${repository}/objects/info/alternates`, utf8(alternates))
  if (shallow.length > 0) {
    await atomicWrite(disk, `${repository}/${shallowName}`, utf8(encodeShallow(shallow)))
  }
  await atomicWrite(disk, `${repository}/${branchName}`, utf8(`${head}\n`))
  // Last, because it makes the directory a repository.
  await atomicWrite(disk, `${repository}/HEAD`, utf8(headText))
}

export function removeRefused({ disk, directory }: Files, remote: string): void {
  disk.removeTree(`${directory}/${pathOf(remote)}`)
}

/** Whether there is anything to remove, even what a crash has left without a HEAD. */
export function hasRefused({ disk, directory }: Files, remote: string): boolean {
  return disk.stat(`${directory}/${pathOf(remote)}`) !== undefined
}

/** The packs that are kept, of one remote or of all. The caller closes them. */
export function openRefused({ disk, directory }: Files, remote?: string): readonly PackSet[] {
  const parent = `${directory}/${ownDirectoryName}/${refusedName}`
  const names = remote === undefined ? disk.list(parent) : [remote]
  return names.map((name) => {
    const packs = new PackSet(disk, `${parent}/${name}/objects/pack`)
    packs.rescan()
    return packs
  })
}

function pathOf(remote: string): string {
  checkRemoteName(remote)
  return `${ownDirectoryName}/${refusedName}/${remote}`
}
