// A store that was put back to an older state, or replaced: the head that this device last verified
// and the present one, for an error and for `status`.

import { hasCode, type HeadState } from '../../errors.ts'
import type { TimeFormat } from './times.ts'

/** The two heads of such an error. */
export interface RolledBack {
  readonly verified: HeadState
  readonly present: HeadState
}

/** Undefined for any other error, and for one about a remote. */
export function findRolledBack(error: unknown): RolledBack | undefined {
  if (!hasCode(error, 'rolled_back')) return undefined
  const { verified, present } = error.details
  return verified === undefined || present === undefined ? undefined : { verified, present }
}

/** Two lines for each head. */
export function rolledBackLines(
  { verified, present }: RolledBack,
  format: TimeFormat,
): readonly string[] {
  return [
    `Verified   ${headText(verified, format, 'last on')}`,
    `           ${verified.words.join(' ')}`,
    `Ends now   ${headText(present, format, 'written on')}`,
    `           ${present.words.join(' ')}`,
  ]
}

function headText({ commit, height, time }: HeadState, format: TimeFormat, when: string): string {
  const name = commit === undefined ? 'a commit' : `commit ${commit.slice(0, 12)}`
  return `${name} at height ${height}${time === undefined ? '' : `, ${when} ${format(time)}`}`
}
