// The exit codes of the command line, stable from release to release. `error-surface.ts` gives one
// to each error code; docs/ERRORS.md lists both.

/** The meaning of each exit code, in ascending order. */
const meanings = [
  [0, 'Done, or nothing had to change'],
  [1, 'Unexpected: a bug in the program'],
  [2, 'Usage: an argument, a parameter, a path or a text is not valid'],
  [3, 'Not found'],
  [4, 'Conflict: the path is taken, an expectation no longer holds, or part was skipped'],
  [5, 'A limit: too large, too many, full'],
  [6, 'Refused: read-only, no permission, archived, redacted, sensitive'],
  [7, 'Not a store, or one that this release cannot open'],
  [8, 'Wrong key, passphrase or identity'],
  [9, 'Storage: the disk is full, denies access or fails'],
  [10, 'Busy: another process holds the store, or another device pushed first; try again'],
  [11, 'Damaged or tampered with: verification refused what it found'],
  [12, 'Rolled back: older than what this device has verified before'],
  [13, 'Offline: the remote does not answer, or a change was written here and not sent'],
  [14, 'Remote: it refused access or a push, is not trusted, or has no repository'],
  [15, 'With `--exit-code`, nothing to do: `sync`, `pull` or `push` found both sides equal'],
  [16, 'With `--exit-code`, a merge combined what both sides had changed; `conflicts` lists it'],
  [17, 'Journal damaged: the intact part was kept, nothing was overwritten; `doctor` names it'],
  [130, 'Cancelled'],
] as const

export type ExitCode = (typeof meanings)[number][0]

export const exitCodes: ReadonlyMap<ExitCode, string> = new Map(meanings)

/** The exit codes of `--exit-code` for a sync that did not fail; no error has these. */
export const syncExitCodes: Readonly<Record<'upToDate' | 'conflictsKept', ExitCode>> = {
  upToDate: 15,
  conflictsKept: 16,
}
