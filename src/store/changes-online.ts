// Changes of members, keys and rights, as `store.as(author)` makes them: between a sync and a push.

import type { Applied } from './changes/apply.ts'
import type { Author } from './commits/commit-context.ts'
import { checkOptions } from './request-check.ts'
import type { StoreSession } from './session/session.ts'
import type { MemberOptions, MembersChanged } from './sync/sync.ts'

type ChangeOnline = <T extends Applied>(
  options: MemberOptions,
  change: () => Promise<T>,
) => Promise<T & MembersChanged>

/** Makes changes of members or keys between a sync and a push, if the store has a remote. */
export function changesOnline(session: StoreSession, author: Author): ChangeOnline {
  return async (options, change) => {
    const { access, only, signal, alone } = checkOptions(options)
    if (alone === true || session.objects.exchange.remotes().length === 0) {
      return { ...(await change()), pending: undefined }
    }
    const { changeMembers } = await import('./sync/sync.ts')
    return changeMembers(session, author, { access, only, signal }, change)
  }
}
