// Finds the commits of a head that are not verified yet, and the order to verify them in: parents
// first, and one branch to its end before the next, so that the moving snapshot rarely goes back.
// The group signature of the head comes first: who has no key cannot have a store walk through
// commits that no one made. Nothing else is trusted: verification checks it all again.

import { StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import {
  type CommitSource,
  decodeCommit,
  readCommitBytes,
  verifyDecodedCommit,
} from '../commits/decoded-commit.ts'
import { HeightQueue } from '../commits/frontier.ts'

export interface NewCommits {
  /** In the order to verify them in. */
  readonly oids: readonly Oid[]
  /** The number of children of each commit, the base included, that does not have exactly one. */
  readonly children: ReadonlyMap<Oid, number>
  /** The versions that their redact records name. */
  readonly redacted: ReadonlySet<string>
  /** The known commit that all of them descend from; undefined without one. */
  readonly base: Oid | undefined
}

export interface WalkOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with the commits above the newest merge during the walk, newest first. */
  readonly onPassed?: ((oid: Oid) => void) | undefined
}

/** A commit that was reached from its children. */
interface Reached {
  readonly oid: Oid
  readonly height: number
  readonly parents: readonly Oid[]
  /** Kept only if it may be a redaction: a change always has a detail, a redaction never. */
  readonly bytes: Uint8Array | undefined
  /** The children's indexes in the order of the walk. */
  readonly children: number[]
}

/** At most this many commits pass before other work may run. */
const BATCH = 256

/**
 * Walks back from `head` to the base: a known commit that is the only one left to visit, so that
 * all other commits left are in its past. Returns undefined if the walk reaches another commit
 * that is not above `floor`. Throws what reading, opening and verifying commits throws, or
 * `record_height`.
 */
export async function findNewCommits(
  source: CommitSource,
  head: Oid,
  isKnown: (oid: Oid, height: number) => boolean,
  floor: number,
  options: WalkOptions = {},
): Promise<NewCommits | undefined> {
  const { objects, storeId, epochs } = source
  verifyDecodedCommit(storeId, epochs, head, readCommitBytes(objects, head))
  const walk = new Walk(source, head)
  const redacted = new Set<string>()
  const slice = new TimeSlice(options.signal, BATCH)
  for (;;) {
    const next = walk.take()
    if (next === undefined) return { ...walk.order(undefined), redacted }
    if (walk.isAlone && isKnown(next.oid, next.height)) return { ...walk.order(next), redacted }
    if (next.height <= floor) return undefined
    if (next.bytes !== undefined) collectRedacted(source, next.oid, next.bytes, redacted)
    walk.pass(next)
    // Below a merge the order of verification differs from that of the walk.
    if (!walk.hasMerge) options.onPassed?.(next.oid)
    if (slice.isOver()) await slice.next()
  }
}

function collectRedacted(
  { storeId, epochs }: CommitSource,
  oid: Oid,
  bytes: Uint8Array,
  redacted: Set<string>,
): void {
  const { record } = decodeCommit(storeId, epochs, oid, bytes)
  if (record.kind !== 'redact') return
  for (const { versionId } of record.rows) redacted.add(versionId)
}

/** Visits commits by descending height. In a linear history it keeps only their ids. */
class Walk {
  readonly #source: CommitSource
  readonly #oids: Oid[] = []
  /** By index; left out where the only child is the commit visited before. */
  readonly #children: Map<number, readonly number[]> = new Map()
  readonly #reached: Map<Oid, Reached> = new Map()
  readonly #queue: HeightQueue<Reached> = new HeightQueue()
  hasMerge = false

  constructor(source: CommitSource, head: Oid) {
    this.#source = source
    this.#reach(head, undefined)
  }

  get count(): number {
    return this.#oids.length
  }

  /** Whether no other commit was reached that is not yet visited. */
  get isAlone(): boolean {
    return this.#reached.size === 0
  }

  /** Removes and returns the highest commit that was reached. */
  take(): Reached | undefined {
    const highest = this.#queue.take()
    if (highest !== undefined) this.#reached.delete(highest.oid)
    return highest
  }

  pass(commit: Reached): void {
    const { oid, parents, children } = commit
    const index = this.#oids.push(oid) - 1
    if (children.length !== 1 || children[0] !== index - 1) this.#children.set(index, children)
    if (parents.length > 1) this.hasMerge = true
    for (const parent of parents) this.#reach(parent, { index, height: commit.height })
  }

  #reach(oid: Oid, child: { readonly index: number; readonly height: number } | undefined): void {
    let reached = this.#reached.get(oid)
    if (reached === undefined) {
      const bytes = readCommitBytes(this.#source.objects, oid)
      const { parents, height, hasDetail } = parseLinks(bytes)
      reached = { oid, height, parents, bytes: hasDetail ? undefined : bytes, children: [] }
      this.#reached.set(oid, reached)
      this.#queue.add(reached, height)
    }
    if (child === undefined) return
    reached.children.push(child.index)
    // Otherwise a commit could be visited before one of its children. A linear history is safe.
    if (this.hasMerge && reached.height >= child.height) {
      const details = { commit: oid }
      throw new StoreError('record_height', 'The height does not follow', { details })
    }
  }

  /** `base` is the known commit where the walk ended. */
  order(base: Reached | undefined): Pick<NewCommits, 'oids' | 'children' | 'base'> {
    const children = new Map<Oid, number>()
    for (const [index, { length }] of this.#children) {
      const oid = this.#oids[index]
      if (oid !== undefined && length !== 1) children.set(oid, length)
    }
    if (base !== undefined) children.set(base.oid, base.children.length)
    const oids = this.hasMerge ? this.#inChains() : this.#oids.toReversed()
    return { oids, children, base: base?.oid }
  }

  /** The commit that became ready last comes next: a branch is followed to its end. */
  #inChains(): readonly Oid[] {
    const waiting = new Uint8Array(this.#oids.length)
    for (const index of this.#oids.keys()) {
      for (const child of this.#childrenOf(index)) waiting[child] = (waiting[child] ?? 0) + 1
    }
    const ready = [...this.#oids.keys()].filter((index) => waiting[index] === 0)
    const order: Oid[] = []
    for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
      order.push(this.#oids[index] ?? '')
      for (const child of this.#childrenOf(index)) {
        waiting[child] = (waiting[child] ?? 0) - 1
        if (waiting[child] === 0) ready.push(child)
      }
    }
    return order
  }

  #childrenOf(index: number): readonly number[] {
    return this.#children.get(index) ?? [index - 1]
  }
}
