// Keeps wraps and a start at a remote for the holders of this device's grants, each a blob that a
// ref names (FORMAT §12, §13). Makes them again when a holder would miss something, removes them
// with the last grant, and removes the starts of others that still describe redacted versions, and
// refs of devices without a grant or of no device.
// Runs at the end of a sync; a failure is part of the report and does not fail the sync.

import { gitHash } from '../../crypto/sha1.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { findDevice, isInForce } from '../../format/directory.ts'
import type { Start } from '../../format/start.ts'
import { packInRam } from '../../git/disk-store/outgoing-pack.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { kidOfStart, openStart } from '../../keys/start.ts'
import { MEBIBYTE, startBytesMax } from '../../limits.ts'
import { connectFetch } from '../../transport/fetch.ts'
import { connectPush, grantRefs, isBaseline } from '../../transport/push.ts'
import type { RefChange, RefusedRef, RemoteAccess } from '../../transport/remote-access.ts'
import type { GrantsFile, PublishedStart, SeenStart } from '../local/grant-notes.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { floorHeightOf, hasOlderBase, makeStartOf, makeWrapsOf } from './make-start.ts'
import { liveGrants, readNotes, refNames } from './own-grants.ts'

/** A start is made again once the head is this much higher, or after that time if it has moved. */
export const REFRESH_COMMITS = 256
export const REFRESH_MS = 60 * 60 * 1000
/** The same if it has not moved: new holders learn from its time that a remote is not behind. */
export const REFRESH_IDLE_MS = 24 * REFRESH_MS
/** At most about this much is fetched in one sync of baselines that are not verified yet. */
const UNKNOWN_BYTES_MAX = 32 * MEBIBYTE
/** At most this many refs of no granter are removed in one sync. */
const REMOVALS_MAX = 256
/** A ref ends in the name of its device. */
const NAME_DIGITS = 32

/** A remote as a sync has just left it. */
export interface GrantPlace {
  readonly session: StoreSession
  readonly remote: Remote
  readonly access: RemoteAccess
  /** The refs of grants that it has shown, by name. */
  readonly named: ReadonlyMap<string, Oid>
  /** Its head, which this store has too. */
  readonly head: Pick<Head, 'commit' | 'height'>
}

/** What a sync has done for the holders of grants. */
export interface GrantsReport {
  /** Whether a start was made, and the remote has it. */
  readonly isRefreshed: boolean
  /** Whether a start or wraps of this device were missing or replaced at the remote. */
  readonly wereLost: boolean
  /** The starts of other devices that were removed: they described redacted versions. */
  readonly removedStarts: number
  /** The refs that were removed because their device was removed from the store. */
  readonly removedRefs: number
  /** The grants of this device, `dev_…`, that it has ended since their time was over. */
  readonly ended: readonly string[]
  /** Why holders may not be able to begin, or the remote keeps what it should not. */
  readonly failure: StoreError | undefined
}

const nothingPublished: GrantsReport = {
  isRefreshed: false,
  wereLost: false,
  removedStarts: 0,
  removedRefs: 0,
  ended: [],
  failure: undefined,
}

/** Undefined if there was nothing to do. Throws `cancelled` and `store_closed` alone. */
export async function publishGrants(
  place: GrantPlace,
  ended: readonly string[],
): Promise<GrantsReport | undefined> {
  const done = await publish(place)
  if (done === undefined && ended.length === 0) return undefined
  return { ...(done ?? nothingPublished), ended }
}

async function publish(place: GrantPlace): Promise<GrantsReport | undefined> {
  try {
    const own = await describeOwn(place)
    const foreign = await findForeign(place, own)
    const plan = await planOwn(place, own)
    const removals = [...foreign.outdated, ...foreign.abandoned, ...plan.deletions]
    if (plan.made === undefined && removals.length === 0) return undefined
    const sent = await send(place, own, { ...plan, ...foreign })
    if (sent?.failure === undefined || plan.made === undefined || own.published) return sent
    // Some hosts allow branches and tags alone.
    const tagged = { ...own, isTagged: true }
    const again = await send(place, tagged, { ...plan, deletions: [], ...noForeign })
    return again?.failure === undefined ? { ...sent, ...again } : sent
  } catch (error) {
    if (!(error instanceof StoreError) || hasCode(error, 'cancelled', 'store_closed')) throw error
    return { ...nothingPublished, failure: error }
  }
}

interface OwnGrants {
  readonly notes: GrantsFile
  readonly published: PublishedStart | undefined
  /** The ids and numbers of the grants that have not ended. */
  readonly ids: readonly string[]
  readonly numbers: readonly number[]
  /** The name of its start and wraps at a remote. */
  readonly name: string
  readonly isTagged: boolean
  readonly kid: string
  readonly redacted: ReadonlySet<string>
  /** The devices with active grants. */
  readonly granters: ReadonlySet<string>
  /** Whether this device removes the refs of devices without grants. */
  readonly mayRemove: boolean
  /** Whether nothing was written here since the remote has shown its head. */
  readonly isNewest: boolean
}

function describeOwn({ session, remote, head }: GrantPlace): Promise<OwnGrants> {
  return session.planning(async () => {
    const { snapshot, identity } = session
    const notes = await readNotes(session)
    const known = notes.published[remote.name]
    const ids = liveGrants(snapshot, identity.deviceId)
    const name = refNames(session)(identity.deviceId)
    return {
      notes,
      published: known?.url === remote.url ? known : undefined,
      ids,
      numbers: notes.given.flatMap(({ id, number }) => (ids.includes(id) ? [number] : [])),
      name,
      isTagged: known?.isTagged === true,
      kid: snapshot.keyring.kid,
      redacted: snapshot.redacted,
      granters: new Set(Array.from(snapshot.grants.values(), ({ granter }) => granter)),
      mayRemove: isInForce(snapshot.keyring.directory, identity.deviceId),
      isNewest: snapshot.head.commit === head.commit,
    }
  })
}

type Blob = Parameters<typeof packInRam>[0][number]

interface OwnPlan {
  readonly deletions: readonly RefChange[]
  readonly made: { readonly start: Blob; readonly wraps: Blob | undefined } | undefined
  readonly counter: number
  readonly wereLost: boolean
}

async function planOwn(place: GrantPlace, own: OwnGrants): Promise<OwnPlan> {
  const { session, named, head } = place
  const { published, notes, redacted } = own
  const refs = grantRefs(own.name, own.isTagged)
  const counter = Math.max(notes.counter + 1, session.clock.now())
  const nothing = { deletions: [], made: undefined, counter, wereLost: false }
  const there = { start: named.get(refs.start), wraps: named.get(refs.wraps) }
  if (own.ids.length === 0) {
    const deletions = [...named].flatMap(([name, expected]) => {
      return name.endsWith(own.name) ? [{ name, expected, next: undefined }] : []
    })
    return { ...nothing, deletions }
  }
  const isStartLost = published !== undefined && there.start !== published.start
  const areWrapsLost = published !== undefined && there.wraps !== published.wraps
  const hasOtherGrants = published?.grants.join() !== own.ids.join()
  // A start of the remote's head would lack a grant that was begun since: the next sync makes it.
  if (hasOtherGrants && !own.isNewest) return nothing
  const needsWraps = areWrapsLost || hasOtherGrants || published?.kid !== own.kid
  const isDue = needsWraps || isStartLost || (await isOutOfDate(place, own))
  if (!isDue) return nothing
  const bytes = await makeStartOf(session, counter, head)
  if (bytes === undefined) return nothing
  const start = blobOf(bytes)
  const wraps = needsWraps ? blobOf(await makeWrapsOf(session, own.numbers)) : undefined
  return {
    ...nothing,
    made: { start, wraps },
    wereLost: areWrapsLost || (isStartLost && published.redacted === redacted.size),
  }
}

/**
 * Whether the start is too old, describes versions that were redacted since, or something older
 * than its floor was merged since, so that no new holder could verify from it.
 */
async function isOutOfDate(
  { session, head }: GrantPlace,
  { published, redacted }: OwnGrants,
): Promise<boolean> {
  if (published === undefined || published.redacted !== redacted.size) return true
  const higher = head.height - published.height
  const age = session.clock.now() - published.at
  if (higher === 0) return age >= REFRESH_IDLE_MS
  if (age >= REFRESH_MS || Math.abs(higher) >= REFRESH_COMMITS) return true
  return hasOlderBase(session, head, published)
}

/** The object that a ref of grants names. */
export function blobOf(body: Uint8Array): Blob {
  return { oid: gitHash('blob', body), type: 'blob', body }
}

async function send(
  place: GrantPlace,
  own: OwnGrants,
  plan: OwnPlan & ForeignRefs,
): Promise<GrantsReport | undefined> {
  const { made, counter, wereLost, outdated, abandoned } = plan
  const objects = made === undefined ? [] : [made.start, ...(made.wraps ? [made.wraps] : [])]
  const refs = grantRefs(own.name, own.isTagged)
  const connection = await connectPush(place.access)
  try {
    // The newest ones: a lease names the object that is replaced.
    const { named } = connection.refs
    const updates = [
      ...(made ? [{ name: refs.start, next: made.start.oid }] : []),
      ...(made?.wraps ? [{ name: refs.wraps, next: made.wraps.oid }] : []),
    ].map(({ name, next }) => ({ name, next, expected: named.get(name) }))
    const deletions = [...outdated, ...abandoned, ...plan.deletions]
    const others = [
      ...updates,
      ...deletions.filter(({ name, expected }) => named.get(name) === expected),
    ]
    if (others.length === 0) return undefined
    const pack = objects.length === 0 ? undefined : await packInRam(objects, none, undefined)
    const refused = await connection.push({ others, pack })
    const isRefused = new Set(refused.map(({ name }) => name))
    if (!updates.some(({ name }) => isRefused.has(name))) await note(place, own, made, counter)
    for (const { name, expected } of abandoned) {
      if (!isRefused.has(name) || expected === undefined) continue
      // Said once, and not tried again.
      const seen = { oid: expected, counter: 0, redacted: 0, isRefused: true }
      await noteSeen(place.session, `${place.remote.name} ${name}`, seen)
    }
    const [first] = refused
    return {
      ...nothingPublished,
      isRefreshed: made !== undefined && first === undefined,
      wereLost,
      removedStarts: outdated.filter(({ name }) => !isRefused.has(name)).length,
      removedRefs: abandoned.filter(({ name }) => !isRefused.has(name)).length,
      failure: first && refusedRef(first),
    }
  } finally {
    await connection.close()
  }
}

const none = (): undefined => undefined

function refusedRef({ name, reason }: RefusedRef): StoreError {
  const text = `The remote refuses the ref ${name}, which holders of grants need: ${reason}`
  return new StoreError('push_rejected', text)
}

async function note(
  { session, remote, head }: GrantPlace,
  { ids, kid, redacted, published: before, isTagged }: OwnGrants,
  made: OwnPlan['made'],
  counter: number,
): Promise<void> {
  const wraps = made?.wraps?.oid ?? before?.wraps
  const floor = made && (await floorHeightOf(session, head))
  const state = { height: head.height, floor, kid, redacted: redacted.size, grants: ids, isTagged }
  const published =
    made === undefined || wraps === undefined
      ? undefined
      : { url: remote.url, start: made.start.oid, wraps, ...state, at: session.clock.now() }
  await changeNotes(session, (file) => {
    const { [remote.name]: _, ...others } = file.published
    return {
      ...file,
      counter: Math.max(file.counter, counter),
      published: published === undefined ? others : { ...others, [remote.name]: published },
    }
  })
}

function changeNotes(
  { objects, grantNotes }: StoreSession,
  change: (file: GrantsFile) => GrantsFile,
): Promise<unknown> {
  return objects.exclusive(() => grantNotes.change(change))
}

/** The refs of other devices, and of none, that are removed. */
interface ForeignRefs {
  /** Baselines that lack a redaction of ours, or are older than one seen before. */
  readonly outdated: readonly RefChange[]
  /** Refs of devices without an active grant, and refs with a name that no device has. */
  readonly abandoned: readonly RefChange[]
}

const noForeign: ForeignRefs = { outdated: [], abandoned: [] }

/** One of a device's refs at a remote. */
interface DeviceRef extends RefChange {
  readonly expected: Oid
  /** The device whose name it has; undefined for a name that no device has. */
  readonly deviceId: string | undefined
}

/**
 * Looks at the refs of other devices, whose names members compute, so that others hide nothing and
 * cost one comparison each. Only a baseline that was replaced, or that is older than a redaction
 * here, is fetched: a bounded amount in a sync, and one that is refused only once.
 */
async function findForeign(place: GrantPlace, own: OwnGrants): Promise<ForeignRefs> {
  const { notes, redacted } = own
  const { remote, named, session } = place
  const refs = await session.planning(async () => foreignRefs(session, named, own.name))
  if (refs.length === 0) return noForeign
  const outdated: RefChange[] = []
  const abandoned: RefChange[] = []
  const budget = { bytes: UNKNOWN_BYTES_MAX }
  for (const { deviceId, ...ref } of refs) {
    const key = `${remote.name} ${ref.name}`
    const seen = notes.seen[key]
    const isKept = deviceId !== undefined && own.granters.has(deviceId)
    if (!isKept) {
      const isRefused = seen?.oid === ref.expected && seen.isRefused === true
      if (own.mayRemove && !isRefused && abandoned.length < REMOVALS_MAX) abandoned.push(ref)
      continue
    }
    // Without redactions an old baseline gives nothing away.
    const isJudged =
      seen?.oid === ref.expected && (seen.isRefused === true || seen.redacted === redacted.size)
    if (!isBaseline(ref.name) || redacted.size === 0 || isJudged || budget.bytes <= 0) continue
    const start = await openForeign(place, ref.expected, deviceId, budget)
    if (start === 'gone') continue
    const now = { oid: ref.expected, counter: seen?.counter ?? 0, redacted: redacted.size }
    if (start === undefined) {
      await noteSeen(place.session, key, { ...now, isRefused: true })
      continue
    }
    const knows = new Set(start.redacted)
    const isComplete = [...redacted].every((id) => knows.has(id))
    if (!isComplete || start.counter < now.counter) outdated.push(ref)
    else await noteSeen(place.session, key, { ...now, counter: start.counter })
  }
  return { outdated, abandoned }
}

/** The refs of grants that are not this device's. Call in a turn. */
function foreignRefs(
  session: StoreSession,
  named: GrantPlace['named'],
  ownName: string,
): readonly DeviceRef[] {
  const others = [...named].filter(([name]) => !name.endsWith(ownName))
  if (others.length === 0) return []
  const { devices, removed } = session.snapshot.keyring.directory
  const nameOf = refNames(session)
  const owners = new Map(
    [...devices, ...removed].map(({ deviceId }) => [nameOf(deviceId), deviceId]),
  )
  return others.map(([name, expected]) => {
    return { name, expected, next: undefined, deviceId: owners.get(name.slice(-NAME_DIGITS)) }
  })
}

function noteSeen(session: StoreSession, key: string, seen: SeenStart): Promise<unknown> {
  return changeNotes(session, (file) => ({ ...file, seen: { ...file.seen, [key]: seen } }))
}

/**
 * Undefined unless the device has signed it: no holder believes another one either. `gone` if the
 * remote has replaced it.
 */
async function openForeign(
  { session, access }: GrantPlace,
  oid: Oid,
  deviceId: string,
  budget: { bytes: number },
): Promise<Start | 'gone' | undefined> {
  const { directory, epochs } = await session.reading(({ keyring }) => {
    return { directory: keyring.directory, epochs: session.epochs }
  })
  const granter = findDevice(directory, deviceId)
  if (granter === undefined) return undefined
  try {
    const bytes = await fetchBlob(session, access, oid)
    if (bytes === undefined) return undefined
    budget.bytes -= bytes.length
    const epoch = epochs.get(kidOfStart(bytes))
    if (epoch === undefined) return undefined
    return openStart(bytes, epoch, granter.signingKey, session.storeId)
  } catch (error) {
    if (!(error instanceof StoreError) || hasCode(error, 'cancelled')) throw error
    if (isUnopened(error)) return undefined
    budget.bytes -= startBytesMax
    return 'gone'
  }
}

/** Whether the bytes are refused, and not only unavailable now. */
function isUnopened(error: StoreError): boolean {
  return (
    error.code.startsWith('envelope_') ||
    hasCode(
      error,
      'baseline_malformed',
      'device_signature_invalid',
      'store_id_mismatch',
      'upgrade_required',
      'pack_refused',
    )
  )
}

async function fetchBlob(
  session: StoreSession,
  access: RemoteAccess,
  oid: Oid,
): Promise<Uint8Array | undefined> {
  const incoming = session.objects.exchange.incoming()
  const connection = await connectFetch(access)
  try {
    const { head } = connection.refs
    if (head === undefined) return undefined
    const limits = { bytes: startBytesMax + MEBIBYTE }
    await connection.fetch({ want: head, wants: [oid], haves: [head], into: incoming, limits })
    const object = incoming.read(oid)
    return object?.type === 'blob' ? object.body : undefined
  } finally {
    await connection.close()
    incoming.drop()
  }
}
