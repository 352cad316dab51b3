// Finds the sound ancestors of a refused head. A repair takes them over before it replaces the head
// with ours; otherwise it would discard what others have pushed. Must not act: take-over.ts does.

import { pause, type WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { findLinks, type Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { findKeyring } from '../access/authority.ts'
import { type Epochs, readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import type { History } from '../history/history.ts'
import { getBlob, type ObjectSource } from '../snapshot/git-reads.ts'
import { isVerdict } from './rejected-head.ts'
import { epochsOf, type RemoteHead, type RemoteSource, verifyRemoteHead } from './remote-head.ts'

/** At most this many commits by members are tried: each may need all below it verified. */
const TRIED_MAX = 64
/** At most this many commits are looked at: as many as are followed to keep a refused head. */
const FOREIGN_MAX = 20_000
/** At most this many keyrings are opened in which no commit by a member was found yet. */
const KEYRINGS_MAX = 4

const manyRefused = `more than ${TRIED_MAX} commits below it are refused as well`
const manyForeign = `more than ${FOREIGN_MAX} commits below it are unknown here`
const manyKeyrings = `more than ${KEYRINGS_MAX} keyrings below it were made by nobody known here`

/**
 * The newest ancestors of a refused head that verify and are not in our history; none is an
 * ancestor of another. Throws the verdict on the head if that takes too much work: who has no key
 * may have made all that is below it.
 */
export async function findSound(
  from: RemoteSource,
  history: History,
  { head, verdict }: { readonly head: Oid; readonly verdict: StoreError },
  options: WorkOptions,
): Promise<readonly RemoteHead[]> {
  const { signal } = options
  const foreign = await inSlices(ForeignCommits.below(from.objects, history, head), signal)
  if (foreign === undefined) throw tooMuchError(verdict, manyForeign)
  const members = new Members(from, signal)
  const [sound, skipped] = [new Map<Oid, RemoteHead>(), new Set([head])]
  let tried = 0
  for (const oid of foreign.commits) {
    await pause(signal)
    if (skipped.has(oid)) continue
    const isByMember = await members.hasMade(oid)
    if (members.unproven > KEYRINGS_MAX) throw tooMuchError(verdict, manyKeyrings)
    if (!isByMember) continue
    tried += 1
    if (tried > TRIED_MAX) throw tooMuchError(verdict, manyRefused)
    try {
      sound.set(oid, await verifyRemoteHead(from, history, oid, options))
      for (const below of foreign.pastOf(oid)) skipped.add(below)
    } catch (error) {
      if (!isVerdict(error)) throw error
      for (const above of foreign.spoiledBy(error)) skipped.add(above)
    }
  }
  const below = new Set([...sound.keys()].flatMap((oid) => foreign.pastOf(oid)))
  return [...sound].filter(([oid]) => !below.has(oid)).map(([, theirs]) => theirs)
}

/** Decides which commits a member may have made: making one takes a key of the store. */
class Members {
  readonly #from: RemoteSource
  readonly #signal: AbortSignal | undefined
  /** Those of this device, and those that a commit by a member was found in. */
  #known: Epochs
  readonly #byKeyring: Map<Oid, Promise<Epochs>> = new Map()
  readonly #unproven: Set<Oid> = new Set()

  constructor(from: RemoteSource, signal: AbortSignal | undefined) {
    this.#from = from
    this.#signal = signal
    this.#known = from.session.epochs
  }

  /**
   * How many keyrings were opened without finding a commit by a member. Each costs up to a second,
   * even if it opens: anyone can put slots before ours.
   */
  get unproven(): number {
    return this.#unproven.size
  }

  async hasMade(oid: Oid): Promise<boolean> {
    const { session, objects } = this.#from
    try {
      const keyring = findKeyring(objects, oid)
      const opened = this.#byKeyring.get(keyring) ?? this.#open(keyring, oid)
      this.#byKeyring.set(keyring, opened)
      const epochs = await opened
      verifyDecodedCommit(session.storeId, epochs, oid, readCommitBytes(objects, oid))
      if (this.#unproven.delete(keyring)) this.#known = new Map([...this.#known, ...epochs])
      return true
    } catch (error) {
      if (!isVerdict(error)) throw error
      return false
    }
  }

  async #open(keyring: Oid, commit: Oid): Promise<Epochs> {
    const bytes = getBlob(this.#from.objects, keyring, 'keyring_mismatch')
    if (this.#known.has(decodeKeyring(bytes).kid)) return this.#known
    this.#unproven.add(keyring)
    return epochsOf(this.#from, commit, this.#signal)
  }
}

/** The commits that a head leads to and that are not in our history, by their links alone. */
class ForeignCommits {
  readonly #parents: Map<Oid, readonly Oid[]> = new Map()
  readonly #children: Map<Oid, Oid[]> = new Map();

  /** In steps, one for each commit: none of them is verified. Undefined if there are too many. */
  static *below(
    objects: ObjectSource,
    history: History,
    head: Oid,
  ): Generator<undefined, ForeignCommits | undefined> {
    const foreign = new ForeignCommits()
    const ours = history.oids()
    const reached = new Set([head])
    for (const oid of reached) {
      yield
      const parents = parentsOf(objects, oid).filter((parent) => !ours.has(parent))
      for (const parent of parents) reached.add(parent)
      if (reached.size > FOREIGN_MAX) return undefined
      foreign.#add(oid, parents)
    }
    return foreign
  }

  #add(oid: Oid, parents: readonly Oid[]): void {
    this.#parents.set(oid, parents)
    for (const parent of parents) {
      const children = this.#children.get(parent) ?? []
      children.push(oid)
      this.#children.set(parent, children)
    }
  }

  /** In breadth-first order from the head. */
  get commits(): Iterable<Oid> {
    return this.#parents.keys()
  }

  /** The ancestors of a commit, without the commit itself. */
  pastOf(oid: Oid): readonly Oid[] {
    return [...reachedBy(this.#parents, oid)].slice(1)
  }

  /** The commits that cannot verify because they contain the refused one. */
  spoiledBy({ code, details }: StoreError): Iterable<Oid> {
    const { commit } = details
    const mayBeRedacted = code === 'detail_missing' || code === 'redaction_undone'
    if (typeof commit !== 'string' || mayBeRedacted) return []
    return this.#parents.has(commit) ? reachedBy(this.#children, commit) : []
  }
}

function reachedBy(links: ReadonlyMap<Oid, readonly Oid[]>, from: Oid): ReadonlySet<Oid> {
  const reached = new Set([from])
  for (const oid of reached) for (const next of links.get(oid) ?? []) reached.add(next)
  return reached
}

function parentsOf(objects: ObjectSource, oid: Oid): readonly Oid[] {
  const object = objects.read(oid)
  return object?.type === 'commit' ? (findLinks(object.body)?.parents ?? []) : []
}

function tooMuchError(verdict: StoreError, problem: string): StoreError {
  return new StoreError(
    verdict.code,
    `${verdict.message}; ${problem}, and a repair might discard sound commits of others below ` +
      'them: nothing was replaced. To replace it anyway, force-push with git',
    { cause: verdict, details: verdict.details },
  )
}
