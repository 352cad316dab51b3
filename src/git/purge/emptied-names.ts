// Directories of the store's own directory whose files may hold anything that the store has held or
// that a remote has sent: a purge empties them, and so does a transition that brings redactions of
// what the store itself does not hold. Must be emptied only under the writer lock.

import { FileSweep } from '../../disk/file-sweep.ts'
import { incomingName } from '../pack/incoming-pack.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { checkHasNoLinks } from '../refs/repository.ts'

/** Files that repairs have replaced, in numbered directories. */
export const asideName: string = 'damaged'
/** What a remote has sent to a running repair. */
export const fetchedName: string = 'repair'
/** For each remote a repository with the head that was refused last. */
export const refusedName: string = 'refused'
const emptiedNames: readonly string[] = [asideName, fetchedName, incomingName, refusedName]

/** Durable once the sweep is synced. */
export function sweepAside(ownDirectory: string, sweep: FileSweep): void {
  for (const name of emptiedNames) sweep.empty(`${ownDirectory}/${name}`)
}

/** Durable when it resolves. Throws `unsupported_repository` if a link was planted. */
export async function emptyAside({
  disk,
  directory,
  ownDirectory,
}: Pick<GitFileLockContext, 'disk' | 'directory' | 'ownDirectory'>): Promise<void> {
  checkHasNoLinks(disk, directory)
  const sweep = new FileSweep(disk)
  sweepAside(ownDirectory, sweep)
  await sweep.sync()
}
