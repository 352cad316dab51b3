// Directories below the store's own one in which a repair puts files: they may hold, unreadable or
// not, whatever the store has held, so that a purge empties them.

/** Files that repairs have replaced, in numbered directories. */
export const asideName: string = 'damaged'
/** What a remote has sent to a repair that is under way. */
export const fetchedName: string = 'repair'
export const repairNames: readonly string[] = [asideName, fetchedName]
