// Brings the history in RAM up to a head, reading only what is new: walks back, both ways at a
// merge, until all that is left is the past of one known commit. Of a long way back it keeps names,
// and reads the commits on the way forward. Trusts the head.

import type { WorkOptions } from '../../async.ts'
import { compareBytes } from '../../bytes.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from './history.ts'
import { readKnownCommit } from './known-commit.ts'
import type { KnownCommit } from './known-commit.ts'
import { Records } from '../tables/records.ts'

export interface CatchUpOptions extends WorkOptions {
  /** So many commits may be read and appended at once: 256 if left out. More are in slices. */
  readonly atOnce?: number | undefined
}

/** After so many the progress is reported, however fast it goes. */
const BATCH = 512
/** So many are read on the way back already, and appended at once. */
const AT_ONCE = 256

/**
 * What was known is kept up to the newest cut that the past of `head` shares with it; all above
 * is replaced, whether the past was rewritten or another clone's commits belong in between. Leaves
 * the history as it was if it throws.
 */
export async function catchUp(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<void> {
  if (history.head?.oid === head) return
  const { missing, kept } = await findMissing(history, source, head, options)
  // Nobody may see the one part without the other.
  if (missing.length <= (options.atOnce ?? AT_ONCE)) {
    history.truncate(kept)
    for (const commit of missing.inOrder(source)) append(history, commit)
  } else {
    const filled = history.prefix(kept)
    const slice = new TimeSlice(options.signal, BATCH)
    for (const commit of missing.inOrder(source)) {
      append(filled, commit)
      if (!slice.isOver()) continue
      options.progress?.(filled.commits.length, kept + missing.length)
      await slice.next()
    }
    history.become(filled)
  }
  history.isSuperseded = false
}

function append(history: History, { known, place }: FoundCommit): void {
  history.append(known.commit, known.rows, place && positionsOf(history, place.parents))
}

interface FoundCommit {
  readonly known: KnownCommit
  readonly place: Place | undefined
}

/** Of a commit that is not the only one of its height, or does not just follow the one before. */
type Place = Pick<KnownCommit, 'hash' | 'parents'>

async function findMissing(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<{ readonly missing: Missing; readonly kept: number }> {
  const missing = new Missing()
  const walk = new Walk(history, source, head)
  const slice = new TimeSlice(options.signal, BATCH)
  for (;;) {
    const known = walk.findCut()
    if (known !== undefined) return { missing, kept: known + 1 }
    const next = walk.next(missing.length < (options.atOnce ?? AT_ONCE))
    if (next === undefined) return { missing, kept: 0 }
    missing.add(next)
    if (!slice.isOver()) continue
    options.progress?.(0, missing.length + next.height)
    await slice.next()
  }
}

interface MissingCommit {
  readonly oid: Oid
  readonly height: number
  readonly known: KnownCommit | undefined
  readonly place: Place | undefined
}

const OID_BYTES = 20
const HEIGHT = OID_BYTES

/** Commits by descending height. */
class Missing {
  readonly #names: Records = new Records(OID_BYTES + 4)
  readonly #known: Map<number, KnownCommit> = new Map()
  readonly #places: Map<number, Place> = new Map()

  get length(): number {
    return this.#names.length
  }

  add({ oid, height, known, place }: MissingCommit): void {
    const index = this.#names.add()
    this.#names.setHex(index, 0, oid)
    this.#names.setU32(index, HEIGHT, height)
    if (known !== undefined) this.#known.set(index, known)
    if (place !== undefined) this.#places.set(index, place)
  }

  /** By (height, record hash). */
  *inOrder(source: HistorySource): Generator<FoundCommit> {
    for (let end = this.length; end > 0;) {
      let start = end - 1
      while (start > 0 && this.#heightAt(start - 1) === this.#heightAt(end - 1)) start -= 1
      const found: FoundCommit[] = []
      for (let index = start; index < end; index += 1) found.push(this.#read(source, index))
      yield* found.length === 1 ? found : found.toSorted(byHash)
      end = start
    }
  }

  #heightAt(index: number): number {
    return this.#names.u32(index, HEIGHT)
  }

  #read(source: HistorySource, index: number): FoundCommit {
    const known = this.#known.get(index)
    this.#known.delete(index)
    const place = this.#places.get(index)
    return {
      known: known ?? readKnownCommit(source, this.#names.hex(index, 0, OID_BYTES)),
      place,
    }
  }
}

function byHash(a: FoundCommit, b: FoundCommit): number {
  return compareBytes(a.known.hash, b.known.hash)
}

interface ReadCommit {
  readonly height: number
  readonly parents: readonly Oid[]
  /** Undefined where only its links were read. */
  readonly known: KnownCommit | undefined
}

interface Step {
  readonly oid: Oid
  readonly height: number
  readonly read: ReadCommit | undefined
}

/** Commits by descending height, so that children come before their parents. */
class Walk {
  readonly #history: History
  readonly #source: HistorySource
  /** The commits whose children have all been passed, and others below them: a handful. */
  readonly #waiting: Step[] = []

  constructor(history: History, source: HistorySource, head: Oid) {
    this.#history = history
    this.#source = source
    this.#add(head, true)
  }

  /** The position of the known commit in whose past all that is left lies, if it is so. */
  findCut(): number | undefined {
    const [step, ...others] = this.#waiting
    if (step === undefined || others.length > 0) return undefined
    const known = this.#history.findCommit(step.oid, step.height)
    return known?.isCut === true ? known.position : undefined
  }

  /** `isWhole`: it is read whole now, and not when its turn comes. */
  next(isWhole: boolean): MissingCommit | undefined {
    const step = this.#takeHighest()
    if (step === undefined) return undefined
    const { oid, height } = step
    const { parents, known } = step.read ?? this.#read(oid, isWhole)
    // All that is left is below it, and its parent is the highest of that.
    const follows = this.#waiting.length === 0 && parents.length < 2
    for (const parent of parents) this.#add(parent, isWhole)
    if (follows) return { oid, height, known, place: undefined }
    const { hash } = known ?? readKnownCommit(this.#source, oid)
    return { oid, height, known, place: { hash, parents } }
  }

  #takeHighest(): Step | undefined {
    let found = 0
    for (const [index, { height }] of this.#waiting.entries()) {
      if (height > (this.#waiting[found]?.height ?? 0)) found = index
    }
    return this.#waiting.splice(found, 1)[0]
  }

  #add(oid: Oid, isWhole: boolean): void {
    if (this.#waiting.some((step) => step.oid === oid)) return
    const { head } = this.#history
    if (head?.oid === oid) {
      this.#waiting.push({ oid, height: head.height, read: undefined })
      return
    }
    const read = this.#read(oid, isWhole)
    this.#waiting.push({ oid, height: read.height, read })
  }

  #read(oid: Oid, isWhole: boolean): ReadCommit {
    if (!isWhole) {
      const { height, parents } = parseLinks(readCommitBytes(this.#source.objects, oid))
      return { height, parents, known: undefined }
    }
    const known = readKnownCommit(this.#source, oid)
    return { height: known.commit.height, parents: known.parents, known }
  }
}

/** Parents stand close before their children, but for one that a merge brings in from far below. */
function positionsOf(history: History, parents: readonly Oid[]): readonly number[] {
  return parents.map((oid) => {
    for (const commit of history.commits.reversed()) if (commit.oid === oid) return commit.position
    throw new Error('Parents stand before their children')
  })
}
