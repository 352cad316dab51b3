// Advice that several places give, README included, in one wording. Clauses without a final
// period. Pure.

/** About the anchor: why it is not backed up with the store. */
export const keepStateApart: string =
  'never restore the state directory from a backup: its anchor reveals that a store was rolled ' +
  'back, and an older anchor does not'

/** About a store that was restored from a backup on purpose. */
export const afterBackup: string =
  'After restoring the store from a backup, accept it with `gitlocket verify ' +
  '--accept-rolled-back`, then run `gitlocket sync` before you write anything'

/** About files that are damaged or missing. */
export const mendStore: string =
  'Run `gitlocket doctor --repair`; with `--from` and a remote, a backup or another clone, it ' +
  'takes the missing objects from there'
