// Describes new keys, an epoch of the format, in the same text wherever they come into use: what
// they protect, and what they cannot take back.

import type { Wire } from '../../api/wire.ts'
import type { KeysChanged } from '../../store/devices/device-changes.ts'
import type { ResidualAccess } from '../../store/devices/residual-access.ts'
import { countText } from './sizes.ts'
import { wire } from './wire.ts'

/** What a holder of none but older keys cannot do. */
const withoutKeys = 'cannot read anything written from now on'
/** What a device that becomes an auditor can no longer do. */
export const withoutContents = 'reads no contents or paths of anything written from now on'

/** Lines, empty if nothing changed. `who` loses the keys: `The old passphrase`, `It`. */
export function rekeyedLines(
  { commit, residualAccess }: KeysChanged,
  who: string,
  loses: string = withoutKeys,
): string[] {
  if (commit === undefined) return []
  if (residualAccess === undefined) return ['', 'The store has new keys.']
  return [
    '',
    `The store has new keys. ${who} ${loses}.`,
    'Earlier content is still readable to anyone who has a copy of the store:',
    ...residualAccessLines(residualAccess),
  ]
}

export function rekeyedJson({ commit, residualAccess }: KeysChanged): Wire {
  return wire({ commit, residualAccess: residualAccessJson(residualAccess) })
}

export function residualAccessLines(access: ResidualAccess): string[] {
  const { commits, commitsWithContents: full, memories } = access
  const all = countText(commits, 'commit', 'commits')
  if (full === 0) return [`  who did what when in ${all}, without contents or paths`]
  return [
    full === commits
      ? `  the history so far: ${all}`
      : `  who did what when in ${all}, and the contents and paths of ${full} of them`,
    `  ${countText(memories, 'memory', 'memories')} as they are, each until it is written again`,
  ]
}

export function residualAccessJson(access: ResidualAccess | undefined): Wire | null {
  if (access === undefined) return null
  const { commits, commitsWithContents, memories } = access
  return wire({ commits, commitsWithContents, memories })
}
