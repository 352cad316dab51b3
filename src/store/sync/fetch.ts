// The fetch of a sync: asks the remote for its head, and fetches its objects into a place of their
// own unless they are here. Nothing of it is part of the store yet. Must not send anything.

import { StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { FetchConnection } from '../../transport/remote-access.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { rolledBackError } from './remote-head.ts'
import { accessOf, type Peer } from './remote-state.ts'

/** How many commits are walked back without a history in RAM. */
const WALK_MAX = 256

/** What the remote shows. */
export type Fetched =
  | { readonly kind: 'empty' }
  /** The remote has shown this head before, and our history contains it. */
  | { readonly kind: 'seen'; readonly head: Oid }
  /** Our own head, as after a join. */
  | { readonly kind: 'ours'; readonly head: SeenHead }
  | FetchedHead

/** A head that is not verified, and the objects that came with it. */
export interface FetchedHead {
  readonly kind: 'fetched'
  readonly head: Oid
  /** The head that the remote has shown before. */
  readonly seen: SeenHead | undefined
  readonly incoming: Incoming
  /** The number of bytes received. */
  readonly bytes: number
}

/** Throws a remote code, `rolled_back`, or `remote_moved` for a push alone. */
export async function fetchHead(peer: Peer, incoming: Incoming): Promise<Fetched> {
  const { known, options } = peer
  const connection = await connectFetch(accessOf(peer))
  try {
    const { head } = connection.refs
    const seen = known.seen()
    if (head === undefined) {
      if (seen !== undefined && options.repair !== true) throw rolledBackError()
      return { kind: 'empty' }
    }
    const isSeenHere = async (): Promise<boolean> => (await known.seenHere()) !== undefined
    if (seen?.oid === head && (await isSeenHere())) return { kind: 'seen', head }
    if (options.only === 'push') throw movedError()
    const { commit: oid, height, record } = await peer.session.reading((now) => now.head)
    if (oid === head && (seen === undefined || (await isSeenHere()))) {
      return { kind: 'ours', head: { oid, height, record } }
    }
    const bytes = await fetchMissing(peer, connection, head, incoming)
    return { kind: 'fetched', head, seen, incoming, bytes }
  } finally {
    await connection.close()
  }
}

/** Returns the number of bytes received. */
async function fetchMissing(
  { session, known, options }: Peer,
  connection: FetchConnection,
  head: Oid,
  into: Incoming,
): Promise<number> {
  const { objects, knownCommits } = session
  if (objects.read(head) !== undefined) return 0
  const seen = known.seen()?.oid
  const haves = await session.reading((ours) => {
    return chooseHaves(objects, ours.head.commit, seen, knownCommits)
  })
  const { bytes } = await connection.fetch({ want: head, haves, into, progress: options.transfer })
  return bytes
}

/** Fetches every object of the head, even those that are here. */
export async function fetchAll(peer: Peer, { head, incoming: into }: FetchedHead): Promise<void> {
  const connection = await connectFetch(accessOf(peer))
  try {
    if (connection.refs.head !== head) throw movedError()
    const progress = peer.options.transfer
    await connection.fetch({ want: head, haves: [], into, progress })
  } finally {
    await connection.close()
  }
}

function movedError(): StoreError {
  return new StoreError(
    'remote_moved',
    'The remote has moved since this store last saw it: pull first, or sync',
  )
}

/**
 * Chooses the commits that a fetch offers as `have`, newest first: few, and closer together near
 * the head, so that the remote finds a common one whatever was added or rewritten since. `known`
 * lists the commits of the history by position; it may be empty if the history is not in RAM.
 */
function chooseHaves(
  objects: ObjectSource,
  head: Oid,
  tracked: Oid | undefined,
  known: { readonly length: number; at(index: number): { readonly oid: Oid } | undefined },
): readonly Oid[] {
  const haves = new Set<Oid>([head])
  if (tracked !== undefined && objects.read(tracked) !== undefined) haves.add(tracked)
  for (const oid of walkBack(objects, head)) haves.add(oid)
  for (let back = WALK_MAX; back <= known.length; back *= 2) {
    const entry = known.at(-back)
    // Another process may have redacted since, which gives the commit another id.
    if (entry !== undefined && objects.read(entry.oid) !== undefined) haves.add(entry.oid)
  }
  return [...haves]
}

function* walkBack(objects: ObjectSource, head: Oid): Generator<Oid> {
  let next: Oid | undefined = head
  for (let back = 0, wanted = 1; back < WALK_MAX && next !== undefined; back += 1) {
    if (back === wanted) {
      yield next
      wanted *= 2
    }
    next = parseLinks(readCommitBytes(objects, next)).parents[0]
  }
}
