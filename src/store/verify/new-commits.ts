// The commits of a head that are not verified yet, and the order to judge them in: parents first,
// and one branch to its end before the next, so that a snapshot that moves along turns back rarely.
// Nothing that is read here is trusted: who judges the commits compares what was assumed.

import { StoreError } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { HeightQueue } from '../commits/height-queue.ts'

export interface NewCommits {
  /** In the order to judge them in. */
  readonly oids: readonly Oid[]
  /** How many of them are children of a commit (the base too), where that is not one. */
  readonly children: ReadonlyMap<Oid, number>
  /** What their redact records name. */
  readonly redacted: ReadonlySet<string>
  /** The known commit that all others descend from; undefined if there is none. */
  readonly base: Oid | undefined
}

export interface WalkOptions {
  readonly signal?: AbortSignal | undefined
  /** Told about the newest commits while the walk is still under way, newest first. */
  readonly meet?: ((oid: Oid) => void) | undefined
}

/** A commit that was reached from its children. */
interface Reached {
  readonly oid: Oid
  readonly height: number
  readonly parents: readonly Oid[]
  /** Of a commit that may be a redaction: a change always has a detail, a redaction never. */
  readonly bytes: Uint8Array | undefined
  /** In the order in which commits were gone through. */
  readonly children: number[]
}

/** Commits between two chances for other work to run, at most. */
const BATCH = 256

/**
 * Walks back from `head` to the one commit that is left when all else was gone through and that
 * `isKnown`; from there on, everything is in its past. Undefined if a commit is not above `floor`
 * and is not that one. Throws what reading and opening commits throws, or `record_height`.
 */
export async function findNewCommits(
  source: CommitSource,
  head: Oid,
  isKnown: (oid: Oid, height: number) => boolean,
  floor: number,
  options: WalkOptions = {},
): Promise<NewCommits | undefined> {
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
    // Below a merge the order to judge in is another one than that of the walk.
    if (!walk.hasMerge) options.meet?.(next.oid)
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

/** Goes through commits by descending height. In a line it keeps their names and nothing else. */
class Walk {
  readonly #source: CommitSource
  readonly #oids: Oid[] = []
  /** Where the children are not just the commit that was gone through before. */
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

  /** Whether nothing else was reached. */
  get isAlone(): boolean {
    return this.#reached.size === 0
  }

  /** The highest commit that was reached. */
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
    // Or a commit could be gone through before all of its children. In a line that cannot happen.
    if (this.hasMerge && reached.height >= child.height) {
      const details = { commit: oid }
      throw new StoreError('record_height', 'The height does not follow', { details })
    }
  }

  /** `base` is what was left. */
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

  /** The newest commit that is ready comes first: a branch is followed to its end. */
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
