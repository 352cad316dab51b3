// sync = fetch → verify → reconcile → push (docs/ARCHITECTURE.md), or the push alone if only this
// clone has new commits. Each step leaves a complete store, so that a later failure loses nothing.
// Must not force a push: each names the commit that it replaces.

import { isDeepStrictEqual } from 'node:util'
import { SharedGate } from '../../async.ts'
import { headFingerprint } from '../../format/fingerprint.ts'
import { formatId } from '../../format/id.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { containsRecord } from '../commits/ancestors.ts'
import type { Author } from '../commits/commit-context.ts'
import { type Device, listDevices } from '../devices/devices.ts'
import type { History } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import { listBuiltOnRedacted } from '../redaction/built-on.ts'
import type { StoreSession } from '../session/session.ts'
import { chooseRemote, membershipRemote, type StoreSyncOptions } from './options.ts'
import { Sender } from './push.ts'
import { type Peer, RemoteState } from './remote-state.ts'
import { findNewDevices, type Moved, nothingTaken, type SyncReport } from './report.ts'

/** The syncs of each open store, one at a time. */
const queues: WeakMap<StoreSession, SharedGate<Asked, SyncReport>> = new WeakMap()

interface Asked {
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
function isAlike(one: Asked, other: Asked): boolean {
  const { guard, ...author } = one.author
  const { guard: otherGuard, ...otherAuthor } = other.author
  if (guard !== otherGuard || !isDeepStrictEqual(author, otherAuthor)) return false
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
  const remote = chooseRemote(session.objects.exchange.remotes(), options.remote)
  const known = new RemoteState(session, remote)
  const peer = { session, remote, known, options }
  const before = await session.reading(({ redacted, keyring }) => {
    return { redacted: redacted.size, directory: keyring.directory }
  })
  const { builtOnRedacted, ...moved } = await moveBoth(peer, author)
  if (options.repair === true && options.only !== 'pull') {
    // Imported here: few remotes are damaged.
    const { checkRepaired } = await import('../clone/clone-remote.ts')
    await checkRepaired(session, remote.url, options)
  }
  await known.forgetRefused()
  await settleMembers(session, remote, known)
  const pendingDevices = await findPendingDevices(session, before.redacted)
  const suspects = builtOnRedacted ? await listBuiltOnRedacted(session, options.signal) : []
  return session.reading(({ head, devices, keyring }) => ({
    remote: remote.name,
    ...moved,
    builtOnRedacted: suspects,
    pendingDevices,
    head: head.commit,
    headFingerprint: headFingerprint(session.storeId, head.record),
    newDevices: findNewDevices(before.directory, keyring.directory, session.identity.deviceId),
    forkedDevices: [...devices]
      .filter(([, { forked }]) => forked)
      .map(([deviceId]) => formatId('device', deviceId)),
  }))
}

/** A change of the keyring is pending until the remote for it has it, or it is left here. */
async function settleMembers(
  session: StoreSession,
  { name }: Remote,
  known: RemoteState,
): Promise<void> {
  const { objects, seenRemotes } = session
  const settle = async (): Promise<void> => {
    const pending = seenRemotes.pending()
    if (pending === undefined) return
    const remotes = objects.exchange.remotes()
    if (membershipRemote({ remotes, chosen: seenRemotes.membership() })?.name !== name) return
    const contains = (oid: Oid): Promise<boolean> => inSlices(containsRecord(session, oid, pending))
    const seen = known.seen()?.oid
    const isThere = seen !== undefined && (await contains(seen))
    if (isThere || !(await contains(session.snapshot.head.commit))) {
      await seenRemotes.notePending(undefined)
    }
  }
  if (seenRemotes.pending() !== undefined) await session.planning(() => objects.exclusive(settle))
}

async function moveBoth(peer: Peer, author: Author): Promise<Moved> {
  const sender = new Sender(peer)
  const sent = peer.options.only === 'pull' ? undefined : await sender.sendWithoutFetch()
  if (sent !== undefined) return { ...nothingTaken, sent }
  // Imported here: loading the verifier and the merge takes about as long as pushing a change.
  const { receiveAndSend } = await import('./rounds.ts')
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
