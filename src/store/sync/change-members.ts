// Changes of the keyring, online (FORMAT §7.2): two machines that change it without knowing of each
// other end in a conflict that people have to resolve. So a change first syncs with
// the remotes, is then made here, and pushed at once, with a lease. Without a remote, a store
// changes alone. Must not know what changes: the callers do.

import { hasCode, StoreError } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteOptions } from '../../transport/remote-access.ts'
import type { Applied } from '../changes/apply.ts'
import type { Author } from '../commits/commit-context.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import { membershipRemote, type StoreSyncOptions } from './options.ts'
import { isFailureOfRemote } from './report.ts'
import { syncStore } from './sync.ts'

/** How many times a change is made again because another one was faster. */
const ATTEMPTS = 5

export interface MemberOptions {
  /** How this machine may talk to the remotes. */
  readonly access?: RemoteOptions | undefined
  /** Whether remotes other than the one that the change is pushed to may be out of reach. */
  readonly only?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** @internal Asks and tells no remote, so that two keyrings change apart; tests set it. */
  readonly alone?: boolean | undefined
}

/** The outcome of a change of the keyring. */
export interface MembersChanged {
  /**
   * Set if the change is made here, and it is not known whether the remote has it: why. The next
   * sync settles it.
   */
  readonly pending: StoreError | undefined
}

/**
 * Runs `change` between a fetch and a push. Throws what the change or the remotes throw, with
 * nothing changed; `keyring_conflict`, `merge_held` and `membership_pending` if there is something
 * to settle first.
 */
export async function changeMembers<T extends Applied>(
  session: StoreSession,
  author: Author,
  options: MemberOptions,
  change: () => Promise<T>,
): Promise<T & MembersChanged> {
  const remotes = session.objects.exchange.remotes()
  const remote = membershipRemote({ remotes, chosen: session.seenRemotes.membership() })
  if (remote === undefined) return { ...(await change()), pending: undefined }
  await catchUpWith(session, author, [remote, ...remotes.filter((one) => one !== remote)], options)
  for (let attempt = 1; ; attempt += 1) {
    const changed = await change()
    if (changed.commit === undefined) return { ...changed, pending: undefined }
    try {
      const pending = await push(session, author, changed.commit, {
        ...options,
        remote: remote.name,
      })
      return { ...changed, pending }
    } catch (error) {
      if (!hasCode(error, 'keyring_conflict') || attempt === ATTEMPTS) throw error
      // Another change was faster: ours is left, and made again on top of it.
      const { access, signal } = options
      await syncStore(session, author, { access, signal, remote: remote.name, takeTheirs: true })
    }
  }
}

/** Syncs with every remote; only the first one must be reachable with `only`. */
async function catchUpWith(
  session: StoreSession,
  author: Author,
  [first, ...others]: readonly [Remote, ...Remote[]],
  { access, only, signal }: MemberOptions,
): Promise<void> {
  await syncStore(session, author, { access, signal, remote: first.name })
  for (const { name } of others) {
    try {
      await syncStore(session, author, { access, signal, remote: name })
    } catch (error) {
      if (!isFailureOfRemote(error) || !(error instanceof StoreError)) throw error
      if (only === true) continue
      throw new StoreError(
        error.code,
        `${name} cannot be asked whether its members have changed: ${error.message}. Nothing was ` +
          'changed',
        { cause: error, details: error.details },
      )
    }
  }
  if (session.seenRemotes.pending() === undefined) return
  throw new StoreError(
    'membership_pending',
    'An earlier change of the members has not reached the remote yet: sync first',
  )
}

/** Undefined once the remote has it. Takes the change back if nothing of it was sent. */
async function push(
  session: StoreSession,
  author: Author,
  commit: Oid,
  { access, signal, remote }: MemberOptions & Pick<StoreSyncOptions, 'remote'>,
): Promise<StoreError | undefined> {
  let isSent = false
  const willSend = (): void => {
    isSent = true
  }
  try {
    await syncStore(session, author, { access, signal, remote, willSend })
    return undefined
  } catch (error) {
    if (!(error instanceof StoreError) || hasCode(error, 'keyring_conflict')) throw error
    if (!isSent && (await takeBack(session, commit))) throw error
    return error
  }
}

/** False, with nothing done, if something was written on top of it. */
async function takeBack(session: StoreSession, commit: Oid): Promise<boolean> {
  const write: Build<boolean> = async () => {
    const { head } = session.snapshot
    if (head.commit !== commit) return { built: undefined, result: false }
    const { contents } = session
    const history = await session.historyNow()
    const { record } = head
    const known = history.findCommit(commit, head.height)
    const [parent] = known === undefined ? [] : history.parentsOf(known)
    if (parent === undefined) return { built: undefined, result: false }
    const before = await inSlices(snapshotAt(contents, history, parent.position))
    const { commit: oid, height } = before.head
    const common = { oid, height, record: before.head.record }
    await session.noteLeft({ records: [record], common, head: before.head })
    await session.seenRemotes.notePending(undefined)
    return { built: { snapshot: before, objects: [] }, result: true }
  }
  return session.writing(write, true)
}
