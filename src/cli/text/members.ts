// Changes of members: how they reach the remotes, and the message if it is unknown whether one has.

import { StoreError } from '../../errors.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { MemberOptions, MembersChanged } from '../../store/sync/change-members.ts'
import type { Answer, Context, Input } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { exitCodeOf } from '../terminal/output.ts'

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
