// Changes of members and keys: how they reach the remotes, and the effect of new keys.

import { StoreError } from '../../errors.ts'
import type { Wire } from '../../operations/wire.ts'
import type { KeysChanged } from '../../store/devices/device-changes.ts'
import type { ResidualAccess } from '../../store/devices/residual-access.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { MemberOptions, MembersChanged } from '../../store/sync/sync.ts'
import type { Answer, Context, Input } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { exitCodeOf } from '../terminal/output.ts'
import { wire } from './wire.ts'
import { countText } from './words.ts'

export function onlineOptions(context: Context, input: Input): MemberOptions {
  const access = remoteAccess(context)
  return { access, only: input.flag('only'), signal: context.interrupts.signal }
}

/** What another machine joins with: an address that names the store and its newest state. */
export function joinAddress({
  address,
  remotes,
  membershipRemote,
}: Pick<StoreStatus, 'address' | 'remotes' | 'membershipRemote'>): string {
  const url = remotes.find(({ name }) => name === membershipRemote)?.url ?? '<remote>'
  return `${url}#${address}`
}

/** What to add to the answer: an error, if the change is pending. */
export function pendingPart({ pending }: MembersChanged): Partial<Answer> {
  if (pending === undefined) return {}
  const failure = new StoreError(
    'membership_pending',
    'The change is made here, and it is not known whether the remote has it: the next sync ' +
      `settles that. ${pending.message}`,
    { cause: pending },
  )
  return { failures: [failure], exitCode: exitCodeOf(failure) }
}

/** What a holder of none but older keys cannot do. */
const withoutKeys = 'cannot read anything written from now on'
/** What a device that becomes an auditor can no longer do. */
export const withoutContents = 'reads no contents or paths of anything written from now on'

/** Lines, empty if nothing changed. `who` loses the keys: `The old passphrase`. */
export function rekeyedLines(
  { commit, residualAccess }: KeysChanged,
  who: string,
  loses: string = withoutKeys,
): string[] {
  if (commit === undefined) return []
  if (residualAccess === undefined) return ['', 'New keys.']
  return [
    '',
    `New keys. ${who} ${loses}.`,
    'Earlier content is still readable to anyone who has a copy of the store:',
    ...residualAccessLines(residualAccess),
  ]
}

export function rekeyedJson({ commit, residualAccess }: KeysChanged): Wire {
  return wire({ commit, residualAccess: residualAccessJson(residualAccess) })
}

function residualAccessLines(access: ResidualAccess): string[] {
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
