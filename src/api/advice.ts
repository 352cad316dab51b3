// What is advised in more than one place, README included: in one wording. Clauses without a final
// period. Pure.

/** About the anchor: why it is not backed up with the store. */
export const keepStateApart: string =
  'never put the state directory back from a backup: its anchor tells that a store was put back, ' +
  'and an older one does not'

/** About a backup of the store that was put back on purpose. */
export const afterBackup: string =
  'After putting a backup of the store back, accept it with `gitlocket verify ' +
  '--accept-rolled-back`, then run `gitlocket sync` before you write anything'

/** About files that are damaged or missing. */
export const mendStore: string =
  'Run `gitlocket doctor --repair`; with `--from` and a remote, a backup or another clone, it ' +
  'takes what is missing from there'
