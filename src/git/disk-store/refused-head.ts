// The refused head of a remote, kept for investigation: a bare repository that borrows the objects
// of the store and adds the packs that were refused. So stock git reads it, and nothing of the
// store leads to it. One for each remote. Must be changed only under the writer lock.

import { utf8 } from '../../bytes.ts'
import { atomicWrite } from '../../disk/disk.ts'
import type { Oid } from '../objects/object.ts'
import { refusedName } from '../purge/emptied-names.ts'
import { branchName } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { headText, ownDirectoryName } from '../refs/repository.ts'
import { checkRemoteName } from '../refs/tracking-ref.ts'

type Files = Pick<GitFileLockContext, 'disk' | 'directory'>

/** From its `objects` to those of the store. */
const alternates = '../../../../objects\n'

/** Its path from the store's directory; undefined if nothing is kept. Throws `invalid_input`. */
export function findRefused({ disk, directory }: Files, remote: string): string | undefined {
  const path = pathOf(remote)
  return disk.stat(`${directory}/${path}/HEAD`) === undefined ? undefined : path
}

/** Replaces what is kept of the remote. `packs`, a directory, is moved there. */
export async function keepRefused(
  files: Files,
  remote: string,
  { head, packs }: { readonly head: Oid; readonly packs: string | undefined },
): Promise<void> {
  const { disk, directory } = files
  const repository = `${directory}/${pathOf(remote)}`
  removeRefused(files, remote)
  for (const name of ['objects/info', 'refs/heads']) disk.makeDirectory(`${repository}/${name}`)
  if (packs !== undefined) disk.rename(packs, `${repository}/objects/pack`)
  await atomicWrite(disk, `${repository}/objects/info/alternates`, utf8(alternates))
  await atomicWrite(disk, `${repository}/${branchName}`, utf8(`${head}\n`))
  // Last, because it makes the directory a repository.
  await atomicWrite(disk, `${repository}/HEAD`, utf8(headText))
}

export function removeRefused({ disk, directory }: Files, remote: string): void {
  const repository = `${directory}/${pathOf(remote)}`
  if (disk.stat(repository) !== undefined) disk.removeTree(repository)
}

function pathOf(remote: string): string {
  checkRemoteName(remote)
  return `${ownDirectoryName}/${refusedName}/${remote}`
}
