// sync = fetch → verify → reconcile → push (docs/ARCHITECTURE.md), or the push alone if only this
// clone has new commits. Each step leaves a complete store, so that a later failure loses nothing.
// A change of the keyring (FORMAT §7.2) is made between two syncs: two machines that change it
// without knowing of each other end in a conflict that people have to resolve. Must not force a
// push: each names the commit that it replaces.

import { SharedGate } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { headFingerprint } from '../../format/fingerprint.ts'
import { formatId } from '../../format/id.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteOptions } from '../../transport/remote-access.ts'
import type { Applied } from '../changes/apply.ts'
import { findUnmet } from '../clone/bound-address.ts'
import { containsRecord } from '../commits/ancestors.ts'
import type { Author } from '../commits/commit-context.ts'
import { type Device, listDevices } from '../devices/devices.ts'
import type { GrantsReport } from '../grants/publish.ts'
import { beforeBeginning } from '../history/beginning-entry.ts'
import type { History } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import { listBuiltOnRedacted } from '../redaction/built-on.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import { isFailureOfRemote } from '../verify/verdict.ts'
import { isOld } from './current.ts'
import { Sender } from './push.ts'
import { accessOf, findGrantNames, type Peer, RemoteState } from './remote-state.ts'
import {
  chooseRemote,
  membershipRemote,
  type StoreSyncOptions,
  findNewDevices,
  type Moved,
  nothingTaken,
  type SyncReport,
} from './report.ts'

/** The syncs of each open store, one at a time. */
const queues: WeakMap<StoreSession, SharedGate<SyncRequest, SyncReport>> = new WeakMap()

interface SyncRequest {
  readonly author: Author
  readonly options: StoreSyncOptions
}

/**
 * Each sends all that was acknowledged before it was requested. One serves all that are requested
 * in the same way before it begins: if they are asked for faster than the remote answers, the wait
 * does not grow.
 *
 * Throws `not_found` or `invalid_input` if the remote is absent or ambiguous, a remote code,
 * `rolled_back`, `store_id_mismatch`, `wrong_key`, `keyring_conflict`, or the code of verification;
 * local changes are untouched then.
 */
export function syncStore(
  session: StoreSession,
  author: Author,
  options: StoreSyncOptions,
): Promise<SyncReport> {
  const queue = queues.get(session) ?? new SharedGate(isAlike)
  queues.set(session, queue)
  return queue.run({ author, options }, () => syncAlone(session, author, options))
}

/** Whether one report answers both. What watches or cancels one must do so with the other. */
function isAlike(one: SyncRequest, other: SyncRequest): boolean {
  const { guard, ...author } = one.author
  const { guard: otherGuard, ...otherAuthor } = other.author
  if (guard !== otherGuard || JSON.stringify(author) !== JSON.stringify(otherAuthor)) return false
  return sharedBy.every((option) => one.options[option] === other.options[option])
}

const sharedBy = [
  'remote',
  'only',
  'repair',
  'redo',
  'takeTheirs',
  'mergeHeld',
  'willSend',
  'patient',
  'isRead',
  'staysPartial',
  'rowsMax',
  'stepBytes',
  'access',
  'signal',
  'progress',
  'transfer',
] as const satisfies readonly (keyof StoreSyncOptions)[]

async function syncAlone(
  session: StoreSession,
  author: Author,
  options: StoreSyncOptions,
): Promise<SyncReport> {
  if (session.identity.grant !== undefined) await finishBeginning(session)
  const remotes = await session.reading(() => session.objects.exchange.remotes())
  const remote = chooseRemote(remotes, options.remote)
  const known = new RemoteState(session, remote)
  known.grantNames = await findGrantNames(session)
  const peer = { session, remote, known, options }
  const before = await session.reading(({ redacted, keyring }) => {
    return { redacted: redacted.size, directory: keyring.directory }
  })
  const ended = options.only === 'pull' ? [] : await endDue(session, author)
  const moving = moveBoth(peer, author).catch((error: unknown) => refuseFrom(session, error))
  const { builtOnRedacted, ...moved } = await moving
  if (options.repair === true && options.only !== 'pull') {
    // Imported here: few remotes are damaged.
    const { checkRepaired } = await import('../clone/fetch-into.ts')
    await checkRepaired(session, remote.url, options)
  }
  await known.forgetRefused()
  await settleMembers(session, remote, known)
  const grants = options.only === 'pull' ? undefined : await publishHere(peer, ended)
  const pendingDevices = await findPendingDevices(session, before.redacted)
  const ignoredRefs = await known.countIgnored(options.isRead === true)
  const suspects = builtOnRedacted ? await listBuiltOnRedacted(session, options.signal) : []
  return session.reading(({ head, devices, keyring }) => ({
    remote: remote.name,
    ...moved,
    builtOnRedacted: suspects,
    pendingDevices,
    grants,
    ignoredRefs,
    head: head.commit,
    headFingerprint: headFingerprint(session.storeId, head.record),
    newDevices: findNewDevices(before.directory, keyring.directory, session.identity.deviceId),
    forkedDevices: [...devices]
      .filter(([, { forked }]) => forked)
      .map(([deviceId]) => formatId('device', deviceId)),
  }))
}

/** An earlier sync, in which this clone began anew, may have failed before it was done. */
async function finishBeginning(session: StoreSession): Promise<void> {
  const { finishAnew } = await import('../session/finish-anew.ts')
  await finishAnew(session)
  // This sync may fetch objects of the earlier line again, which must not be erased then.
  await session.erase()
}

async function refuseFrom(session: StoreSession, error: unknown): Promise<never> {
  const { identity, beginning, objects, seenRemotes } = session
  // Later processes make no more changes either, which no one would take.
  if (identity.grant?.isOver === true) await objects.exclusive(() => seenRemotes.noteGrantOver())
  // A remote that was rolled back below the state lacks what would tell how both belong together.
  if (beginning !== undefined && hasCode(error, 'object_missing')) throw beforeBeginning(error)
  throw error
}

/** Ends grants whose time is over: before the fetch, so that late work of their holders is seen. */
async function endDue(session: StoreSession, author: Author): Promise<readonly string[]> {
  if (await session.reading(({ grants }) => grants.size === 0)) return []
  // Imported here, as below: few devices give grants.
  const { endDueGrants } = await import('../grants/grants.ts')
  return endDueGrants(session, author)
}

async function publishHere(
  peer: Peer,
  ended: readonly string[],
): Promise<GrantsReport | undefined> {
  const { session, remote, known } = peer
  // The holder of a grant keeps nothing for others.
  if (session.identity.grant !== undefined) return undefined
  const head = await known.seen()
  const isIdle = await session.reading(({ grants }) => grants.size === 0)
  if (head === undefined || (isIdle && known.named.size === 0)) return undefined
  const { publishGrants } = await import('../grants/publish.ts')
  const access = accessOf(peer)
  const { oid: commit, height } = head
  return publishGrants(
    { session, remote, access, named: known.named, head: { commit, height } },
    ended,
  )
}

/** A change of the keyring is pending until the remote for it has it, or it is left here. */
async function settleMembers(
  session: StoreSession,
  { name }: Remote,
  known: RemoteState,
): Promise<void> {
  const { objects, seenRemotes } = session
  const settle = async (): Promise<void> => {
    const pending = await seenRemotes.pending()
    if (pending === undefined) return
    const remotes = objects.exchange.remotes()
    const chosen = await seenRemotes.membership()
    if (membershipRemote({ remotes, chosen })?.name !== name) return
    const contains = (oid: Oid): Promise<boolean> => inSlices(containsRecord(session, oid, pending))
    const seen = (await known.seen())?.oid
    const isThere = seen !== undefined && (await contains(seen))
    if (isThere || !(await contains(session.snapshot.head.commit))) {
      await seenRemotes.notePending(undefined)
    }
  }
  if ((await seenRemotes.pending()) === undefined) return
  await session.planning(() => objects.exclusive(settle))
}

async function moveBoth(peer: Peer, author: Author): Promise<Moved> {
  const { session, remote, options } = peer
  const sender = new Sender(peer)
  const unmet = await findUnmet(session, remote, options)
  // An old state may not be the newest one: the remote is asked first.
  const mustAsk = options.only === 'pull' || unmet !== undefined || (await isOld(session))
  const sent = mustAsk ? undefined : await sender.sendWithoutFetch()
  if (sent !== undefined) return { ...nothingTaken, sent }
  // Imported here: loading the verifier and the merge takes about as long as pushing a change.
  const { receiveAndSend } = await import('./rounds.ts')
  if (session.beginning !== undefined) {
    const { mendStartOf } = await import('../clone/mend-start.ts')
    await mendStartOf(session, accessOf(peer))
  }
  return receiveAndSend(peer, sender, author)
}

/** `before` is the number of versions that were redacted here before the sync. */
async function findPendingDevices(
  session: StoreSession,
  before: number,
): Promise<readonly PendingDevice[]> {
  if ((await session.reading(({ redacted }) => redacted.size)) === before) return []
  const list = (history: History): Promise<readonly Device[]> =>
    session.reading((snapshot) => listDevices(session, snapshot, history))
  const devices = await readConsistently(session, list)
  return devices
    .filter(({ unacknowledged }) => unacknowledged.length > 0)
    .map(({ deviceId, name, role, lastRecord, canAcknowledge }) => {
      return { deviceId, name, role, lastRecord, canAcknowledge }
    })
}

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
  const remote = membershipRemote({ remotes, chosen: await session.seenRemotes.membership() })
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

/** How often a change is made again because others push. */
const ATTEMPTS_NEWEST = 16

/**
 * Runs `change` on top of what a remote shows, so that nothing is there that was written apart from
 * it. Without the remote it is made here alone. Throws what the change throws.
 */
export async function changeOnNewest<T extends { readonly commit: Oid | undefined }>(
  session: StoreSession,
  author: Author,
  options: StoreSyncOptions,
  change: () => Promise<T>,
): Promise<T & MembersChanged> {
  const { BackOff } = await import('./back-off.ts')
  const backOff = new BackOff(session, { ...options, patient: true })
  for (let attempt = 1; ; attempt += 1) {
    const unreachable = await failureOf(syncStore(session, author, { ...options, only: 'pull' }))
    const changed = await change()
    if (unreachable !== undefined || changed.commit === undefined) {
      return { ...changed, pending: unreachable }
    }
    const refused = await failureOf(syncStore(session, author, { ...options, only: 'push' }))
    if (refused === undefined) return { ...changed, pending: undefined }
    const isLost = hasCode(refused, 'remote_moved') && attempt < ATTEMPTS_NEWEST
    if (!isLost || !(await takeBack(session, changed.commit))) {
      return { ...changed, pending: await failureOf(syncStore(session, author, options)) }
    }
    backOff.mayGoOn(refused)
    await backOff.pause(refused)
  }
}

async function failureOf(syncing: Promise<SyncReport>): Promise<StoreError | undefined> {
  try {
    const { grants } = await syncing
    return grants?.failure
  } catch (error) {
    if (error instanceof StoreError && !hasCode(error, 'cancelled')) return error
    throw error
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
  if ((await session.seenRemotes.pending()) === undefined) return
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
