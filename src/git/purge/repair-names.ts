// Directories of the store's own directory where a repair puts files: these may hold anything that
// the store has held, so a purge empties them.

/** Files that repairs have replaced, in numbered directories. */
export const asideName: string = 'damaged'
/** What a remote has sent to a running repair. */
export const fetchedName: string = 'repair'
export const repairNames: readonly string[] = [asideName, fetchedName]
