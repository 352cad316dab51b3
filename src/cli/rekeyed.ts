// What a new epoch of keys means to people, in the same words wherever one begins: what it guards,
// and what it cannot take back.

import type { KeysChanged } from '../store/devices/device-changes.ts'
import type { ResidualAccess } from '../store/devices/residual-access.ts'
import { countText } from './sizes.ts'

/** What somebody without the keys of a new epoch cannot do. */
const withoutKeys = 'cannot read what is written from now on'
/** The same of a device that becomes an auditor. */
export const withoutContents = 'reads no contents or paths of what is written from now on'

/** Lines, empty if nothing changed. `who` loses the keys: `The old passphrase`, `It`. */
export function rekeyedLines(
  { commit, residualAccess }: KeysChanged,
  who: string,
  loses: string = withoutKeys,
): string[] {
  if (commit === undefined) return []
  if (residualAccess === undefined) return ['', 'A new epoch of keys began.']
  return [
    '',
    `A new epoch of keys began. ${who} ${loses}.`,
    'What was written until now stays readable to whoever has a copy of the store:',
    ...residualAccessLines(residualAccess),
  ]
}

export function rekeyedJson({
  commit,
  residualAccess,
}: KeysChanged): Readonly<Record<string, unknown>> {
  return { commit: commit ?? null, residual_access: residualAccessJson(residualAccess) }
}

export function residualAccessLines(still: ResidualAccess): string[] {
  const { commits, commitsWithContents: full, memories } = still
  const all = countText(commits, 'commit', 'commits')
  if (full === 0) return [`  who did what when in ${all}, and no contents or paths`]
  return [
    full === commits
      ? `  the history so far: ${all}`
      : `  who did what when in ${all}, and the contents and paths of ${full} of them`,
    `  ${countText(memories, 'memory', 'memories')} as they are, each until it is written again`,
  ]
}

export function residualAccessJson(
  still: ResidualAccess | undefined,
): Readonly<Record<string, number>> | null {
  if (still === undefined) return null
  const { commits, commitsWithContents, memories } = still
  return { commits, commits_with_contents: commitsWithContents, memories }
}
