// What a new epoch of keys means to people, in the same words wherever one begins: what it guards,
// and what it cannot take back.

import type { KeysChanged } from '../store/device-changes.ts'
import type { StillReadable } from '../store/devices.ts'
import { countText } from './sizes.ts'

/** Lines, empty if nothing changed. `who` loses the keys: `The old passphrase`, `It`. */
export function rekeyedLines({ commit, stillReadable }: KeysChanged, who: string): string[] {
  if (commit === undefined) return []
  if (stillReadable === undefined) return ['', 'A new epoch of keys began.']
  return [
    '',
    `A new epoch of keys began. ${who} cannot read what is written from now on. What was`,
    'written until now stays readable to whoever has a copy of the store:',
    ...stillReadableLines(stillReadable),
  ]
}

export function rekeyedJson({
  commit,
  stillReadable,
}: KeysChanged): Readonly<Record<string, unknown>> {
  return { commit: commit ?? null, still_readable: stillReadableJson(stillReadable) }
}

export function stillReadableLines({ commits, memories }: StillReadable): string[] {
  return [
    `  the history so far: ${countText(commits, 'commit', 'commits')}`,
    `  ${countText(memories, 'memory', 'memories')} as they are, each until it is written again`,
  ]
}

export function stillReadableJson(
  still: StillReadable | undefined,
): Readonly<Record<string, number>> | null {
  return still === undefined ? null : { commits: still.commits, memories: still.memories }
}
