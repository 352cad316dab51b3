// Directories of the store's own directory whose files may hold anything that the store has held or
// that a remote has sent: a purge empties them.

import { incomingName } from '../pack/incoming-pack.ts'

/** Files that repairs have replaced, in numbered directories. */
export const asideName: string = 'damaged'
/** What a remote has sent to a running repair. */
export const fetchedName: string = 'repair'
/** For each remote a repository with the head that was refused last. */
export const refusedName: string = 'refused'
export const emptiedNames: readonly string[] = [asideName, fetchedName, incomingName, refusedName]
