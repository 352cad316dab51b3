// Finds the newest ancestors of a refused head that verify, which a repair keeps, so that honest
// commits below a bad one are not taken off the branch with it. The sender of the head may have any
// key or none, so the number of attempts is bounded. Only such an ancestor and its past reach the
// store, and only once it is verified.

import { sealedFraming } from '../../crypto/aead.ts'
import type { StoreError } from '../../errors.ts'
import type { Incoming } from '../../git/exchange.ts'
import {
  findLinks,
  type GitObject,
  newObject,
  type NewObject,
  type Oid,
} from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { type Epochs, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import { findOutgoing, objectsOf } from '../commits/outgoing.ts'
import type { StoreSession } from '../session/session.ts'
import { isVerdict } from '../verify/verdict.ts'
import { verifyRemoteHead } from './remote-head.ts'
import type { RemoteHead } from './remote-history.ts'
import { noteFetches } from './remote-state.ts'
import { type RefusedCommit, type ReplacedHead, type SyncOptions } from './report.ts'

/** At most this many heads are verified, each from our history on. */
const ATTEMPTS = 16
/** At most this many keyrings are opened: each costs a trial of all its slots. */
const KEYRINGS = 8
/** A head with more commits that are not ours is replaced as a whole. */
const COMMITS_MAX = 100_000
/** Objects of about this size are written at a time. */
const STAGED_BYTES = 8 * MEBIBYTE

interface ForeignCommit {
  readonly parents: readonly Oid[]
  readonly children: Oid[]
}

interface RefusedFetch {
  readonly session: StoreSession
  readonly head: Oid
  readonly incoming: Incoming
  readonly options: Pick<SyncOptions, 'signal' | 'progress'>
}

export class GoodAncestors {
  readonly #fetch: RefusedFetch
  readonly #commits: Map<Oid, ForeignCommit>
  readonly #bad: Set<Oid> = new Set()
  readonly #kept: Set<Oid> = new Set()
  readonly #refused: RefusedCommit[] = []
  #epochs: Epochs
  #keyrings = KEYRINGS
  #attempts = ATTEMPTS

  private constructor(fetch: RefusedFetch, commits: Map<Oid, ForeignCommit>) {
    this.#fetch = fetch
    this.#commits = commits
    this.#epochs = fetch.session.epochs
  }

  static async of(fetch: RefusedFetch): Promise<GoodAncestors> {
    const found = new GoodAncestors(fetch, await listForeign(fetch))
    await found.#checkEach()
    return found
  }

  /** The next ancestor that verifies, and of which no descendant does; undefined at the end. */
  async next(): Promise<RemoteHead | undefined> {
    const { session, incoming, options } = this.#fetch
    for (; this.#attempts > 0; this.#attempts -= 1) {
      const candidate = this.#candidate()
      if (candidate === undefined) return undefined
      let failed: Oid | undefined
      const onRefused = (oid: Oid): void => {
        failed = oid
      }
      const how = { ...options, wasShown: true, onRefused }
      try {
        const history = await session.loadHistory(options)
        const from = { session, objects: incoming }
        const theirs = await verifyRemoteHead(from, history, candidate, how)
        this.#keep(candidate)
        return theirs
      } catch (error) {
        if (!isVerdict(error)) throw error
        const isAncestor = failed !== undefined && this.#commits.has(failed)
        this.#refuse(isAncestor && failed !== undefined ? failed : candidate, error)
      }
    }
    return undefined
  }

  /** What became of the head. */
  report(head: Oid, { code }: StoreError): ReplacedHead {
    const { size } = this.#commits
    const refused = this.#refused.slice(0, ATTEMPTS)
    return { commit: head, code, kept: this.#kept.size, dropped: size - this.#kept.size, refused }
  }

  /** Checks each commit by itself, so that a chain of junk costs no attempt for each. */
  async #checkEach(): Promise<void> {
    const slice = new TimeSlice(this.#fetch.options.signal)
    // Parents first, mostly, so that the oldest bad commit of a line is the one that is named.
    for (const oid of [...this.#commits.keys()].toReversed()) {
      if (slice.isOver()) await slice.next()
      if (this.#bad.has(oid)) continue
      try {
        await this.#check(oid)
      } catch (error) {
        if (!isVerdict(error)) throw error
        this.#refuse(oid, error)
      }
    }
  }

  async #check(oid: Oid): Promise<void> {
    const { session, incoming, options } = this.#fetch
    const { storeId, unlock } = session
    const bytes = readCommitBytes(incoming, oid)
    try {
      verifyDecodedCommit(storeId, this.#epochs, oid, bytes)
    } catch (error) {
      if (!isVerdict(error) || error.code !== 'envelope_epoch' || this.#keyrings === 0) throw error
      this.#keyrings -= 1
      const { epochs } = await openHeadKeyring(incoming, storeId, unlock, oid, options.signal)
      this.#epochs = new Map([...this.#epochs, ...epochs])
      verifyDecodedCommit(storeId, this.#epochs, oid, bytes)
    }
  }

  #refuse(oid: Oid, { code }: StoreError): void {
    this.#refused.push({ commit: oid, code })
    const reached = new Set([oid])
    for (const bad of reached) {
      this.#bad.add(bad)
      for (const child of this.#commits.get(bad)?.children ?? []) {
        if (!this.#bad.has(child)) reached.add(child)
      }
    }
  }

  #keep(oid: Oid): void {
    const reached = new Set([oid])
    for (const kept of reached) {
      this.#kept.add(kept)
      for (const parent of this.#commits.get(kept)?.parents ?? []) {
        if (this.#commits.has(parent) && !this.#kept.has(parent)) reached.add(parent)
      }
    }
  }

  #candidate(): Oid | undefined {
    for (const [oid, { children }] of this.#commits) {
      if (this.#bad.has(oid) || this.#kept.has(oid)) continue
      if (children.every((child) => this.#bad.has(child))) return oid
    }
    return undefined
  }
}

/** The commits of a head that are not ours, as git reads them, from the head on. */
async function listForeign({
  session,
  head,
  incoming,
  options,
}: RefusedFetch): Promise<Map<Oid, ForeignCommit>> {
  const ours = (await session.loadHistory(options)).oids()
  const slice = new TimeSlice(options.signal)
  const children = new Map<Oid, Oid[]>([[head, []]])
  const commits = new Map<Oid, ForeignCommit>()
  for (const [oid, known] of children) {
    if (slice.isOver()) await slice.next()
    if (ours.has(oid)) continue
    if (commits.size === COMMITS_MAX) return new Map()
    const object = readOrNothing(incoming, oid)
    const parents = object?.type === 'commit' ? (findLinks(object.body)?.parents ?? []) : []
    commits.set(oid, { parents, children: known })
    for (const parent of new Set(parents)) {
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [oid])
      else siblings.push(oid)
    }
  }
  return commits
}

function readOrNothing(incoming: Incoming, oid: Oid): ReturnType<Incoming['read']> {
  try {
    return incoming.read(oid)
  } catch (error) {
    if (isVerdict(error)) return undefined
    throw error
  }
}

/** An object of a verified head: each of its blobs is sealed, or one of the public files. */
function asNew({ type, body }: GitObject): NewObject {
  return type === 'blob' ? newObject('blob', sealedFraming(body)) : newObject(type, body)
}

/** Makes a verified ancestor part of the store, and nothing else that came with the head. */
export async function acceptAncestor(
  { session, incoming }: Pick<RefusedFetch, 'session' | 'incoming'>,
  { snapshot }: RemoteHead,
): Promise<void> {
  const { commit } = snapshot.head
  const { objects } = session
  await noteFetches(session, [commit])
  await session.writing(async () => {
    const commits = await findOutgoing(incoming, commit, [session.snapshot.head.commit])
    const slice = new TimeSlice()
    let batch: NewObject[] = []
    let bytes = 0
    for (const oid of objectsOf(incoming, commits)) {
      if (slice.isOver()) await slice.next()
      const object =
        oid === undefined || objects.read(oid) !== undefined ? undefined : incoming.read(oid)
      if (oid === undefined || object === undefined) continue
      batch.push(asNew(object))
      bytes += object.body.length
      if (bytes < STAGED_BYTES) continue
      await objects.stage(batch)
      batch = []
      bytes = 0
    }
    if (batch.length > 0) await objects.stage(batch)
    return { built: { snapshot: session.snapshot, objects: [] }, result: undefined }
  }, true)
}
