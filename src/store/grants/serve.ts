// What stock git serves of a store (docs/SERVER.md, "Fetching by git"): the newest head, packed,
// and the start and the wraps of the grants of this device (FORMAT §12, §13), made here for holders
// as a sync makes them for a remote. Serves nothing that a redaction has erased.

import { Gate } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { ServedRef } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { branchName } from '../../git/refs/branch.ts'
import { grantRefs } from '../../transport/push.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { floorHeightOf, hasOlderBase, makeStartOf, makeWrapsOf } from './make-start.ts'
import { liveGrants, readNotes, refNames } from './own-grants.ts'
import { blobOf, REFRESH_COMMITS, REFRESH_IDLE_MS, REFRESH_MS } from './publish.ts'

/** How often this is repeated while others rewrite the history. */
const ATTEMPTS = 4

/** What the start and wraps were made of. */
interface Made {
  readonly start: Oid
  readonly wraps: Oid
  /** The grants, their keys, and the redactions: with others, both are made again. */
  readonly basis: string
  readonly height: number
  readonly floor: number
  readonly at: number
}

interface Serving {
  readonly gate: Gate
  made: Made | undefined
}

const servings = new WeakMap<StoreSession, Serving>()

/** What a fetch is answered from. */
export interface ServedStore {
  /** A bare repository for `git upload-pack`, as long as `stillServes`. */
  readonly directory: string
  /**
   * The wanted objects that no ref shows, except commits: git itself checks whether a ref reaches
   * a commit, and does not for others.
   */
  readonly strays: readonly Oid[]
}

/**
 * Brings the served repository up to all that was acknowledged before the call. Throws `locked`
 * while another process packs for long, or a storage code.
 */
export async function serveForFetch(
  session: StoreSession,
  wants: readonly Oid[],
): Promise<ServedStore> {
  if (!Array.isArray(wants) || !wants.every((oid) => /^[0-9a-f]{40}$/.test(oid))) {
    throw new StoreError('invalid_input', 'The wanted objects must be a list of ids')
  }
  const serving = servings.get(session) ?? { gate: new Gate(), made: undefined }
  servings.set(session, serving)
  return serving.gate.run(async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const served = await serveOnce(session, serving, wants)
      if (served !== undefined) return served
    }
    throw new StoreError('locked', 'The history is being rewritten: try again later')
  })
}

/**
 * Whether a fetch that began from `directory` may go on: nothing was erased since, here or by
 * another process or server.
 */
export function stillServes(session: StoreSession, directory: string): Promise<boolean> {
  return session.reading(() => {
    const { objects } = session
    return objects.status().purgePending === 0 && objects.serves?.(directory) === true
  })
}

interface ServedState {
  readonly head: Head
  readonly rewrites: number
  readonly numbers: readonly number[]
  readonly name: string
  readonly basis: string
}

/** Undefined if the history was rewritten in the meantime, or blobs have to be made again. */
async function serveOnce(
  session: StoreSession,
  serving: Serving,
  wants: readonly Oid[],
): Promise<ServedStore | undefined> {
  const state = await describe(session)
  const { journalFrames, purgePending } = session.objects.status()
  if (journalFrames + purgePending > 0) await session.checkpoint()
  const grants = await grantRefsFor(session, serving, state)
  return session.reading(() => {
    if (session.rewrites !== state.rewrites) return undefined
    const { objects } = session
    const refs = [{ name: branchName, oid: state.head.commit, isOwn: false }, ...grants]
    const directory = objects.serve?.(refs)
    if (directory === undefined) serving.made = undefined
    const shown = new Set(refs.map(({ oid }) => oid))
    const strays = wants.filter((oid) => !shown.has(oid) && objects.read(oid)?.type !== 'commit')
    return directory === undefined ? undefined : { directory, strays }
  })
}

function describe(session: StoreSession): Promise<ServedState> {
  return session.planning(async () => {
    const { snapshot, identity, rewrites } = session
    const ids = liveGrants(snapshot, identity.deviceId)
    const given = ids.length === 0 ? [] : (await readNotes(session)).given
    const name = refNames(session)(identity.deviceId)
    return {
      head: snapshot.head,
      rewrites,
      numbers: given.flatMap(({ id, number }) => (ids.includes(id) ? [number] : [])),
      name,
      basis: [snapshot.keyring.kid, snapshot.redacted.size, rewrites, ...ids].join(),
    }
  })
}

async function grantRefsFor(
  session: StoreSession,
  serving: Serving,
  { head, numbers, name, basis }: ServedState,
): Promise<readonly ServedRef[]> {
  if (numbers.length === 0) return []
  const { made } = serving
  const refs = grantRefs(name, false)
  const now = session.clock.now()
  const isCurrent =
    made?.basis === basis &&
    head.height - made.height < REFRESH_COMMITS &&
    now - made.at < (head.height === made.height ? REFRESH_IDLE_MS : REFRESH_MS) &&
    !(await hasOlderBase(session, head, made))
  if (made !== undefined && isCurrent) {
    return [
      { name: refs.start, oid: made.start, isOwn: true },
      { name: refs.wraps, oid: made.wraps, isOwn: true },
    ]
  }
  const blobs = await makeBlobs(session, numbers, head)
  const floor = await floorHeightOf(session, head)
  if (blobs === undefined || floor === undefined) return []
  const { start, wraps } = blobs
  serving.made = { start: start.oid, wraps: wraps.oid, basis, height: head.height, floor, at: now }
  return [
    { name: refs.start, oid: start.oid, isOwn: true, blob: start.body },
    { name: refs.wraps, oid: wraps.oid, isOwn: true, blob: wraps.body },
  ]
}

/** Undefined if no start can be made of this store; others fetch it all the same. */
async function makeBlobs(
  session: StoreSession,
  numbers: readonly number[],
  head: Head,
): Promise<{ start: ReturnType<typeof blobOf>; wraps: ReturnType<typeof blobOf> } | undefined> {
  const counter = session.clock.now()
  try {
    const start = await makeStartOf(session, counter, head)
    if (start === undefined) return undefined
    const wraps = await makeWrapsOf(session, numbers)
    return { start: blobOf(start), wraps: blobOf(wraps) }
  } catch (error) {
    if (hasCode(error, 'change_too_large')) return undefined
    throw error
  }
}
