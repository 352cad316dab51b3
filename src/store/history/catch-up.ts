// Brings the history in RAM up to a head, reading only what is new: walks back, both ways at a
// merge, until all that is left is the past of one known commit. What stands above that one and is
// known finds its new place without being read again. Of a long way back it keeps names, and reads
// the commits on the way forward. Trusts the head.

import type { WorkOptions } from '../../async.ts'
import { compareBytes } from '../../bytes.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { Records } from '../tables/records.ts'
import type { History, HistorySource } from './history.ts'
import { type KnownCommit, readKnownCommit } from './known-commit.ts'

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
    const found = [...missing.inOrder(history, source)]
    history.truncate(kept)
    for (const commit of found) append(history, commit)
  } else {
    const filled = history.prefix(kept)
    const slice = new TimeSlice(options.signal, BATCH)
    for (const commit of missing.inOrder(history, source)) {
      append(filled, commit)
      if (!slice.isOver()) continue
      options.progress?.(filled.commits.length, kept + missing.length)
      await slice.next()
    }
    history.become(filled)
  }
  history.isSuperseded = false
}

function append(history: History, { known, parents }: FoundCommit): void {
  history.append(known.commit, known.rows, parents && positionsOf(history, parents))
}

/** What the history takes of a commit. Its hash may have to be read. */
type Known = Pick<KnownCommit, 'commit' | 'rows'> & { readonly hash?: Uint8Array }

interface FoundCommit {
  readonly known: Known
  readonly parents: readonly Oid[] | undefined
}

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
  readonly known: Known | undefined
  /** Unless it just follows the one before. */
  readonly parents: readonly Oid[] | undefined
}

const OID_BYTES = 20
const HEIGHT = OID_BYTES

/** Commits by descending height. */
class Missing {
  readonly #names: Records = new Records(OID_BYTES + 4)
  readonly #known: Map<number, Known> = new Map()
  readonly #parents: Map<number, readonly Oid[]> = new Map()

  get length(): number {
    return this.#names.length
  }

  add({ oid, height, known, parents }: MissingCommit): void {
    const index = this.#names.add()
    this.#names.setHex(index, 0, oid)
    this.#names.setU32(index, HEIGHT, height)
    if (known !== undefined) this.#known.set(index, known)
    if (parents !== undefined) this.#parents.set(index, parents)
  }

  /** By (height, record hash). `history` is the one of before. */
  *inOrder(history: History, source: HistorySource): Generator<FoundCommit> {
    for (let end = this.length; end > 0;) {
      let start = end - 1
      while (start > 0 && this.#heightAt(start - 1) === this.#heightAt(end - 1)) start -= 1
      const found: FoundCommit[] = []
      for (let index = start; index < end; index += 1)
        found.push(this.#read(history, source, index))
      if (found.length === 1) yield* found
      else yield* found.map((one) => withHash(source, one)).toSorted(byHash)
      end = start
    }
  }

  #heightAt(index: number): number {
    return this.#names.u32(index, HEIGHT)
  }

  #read(history: History, source: HistorySource, index: number): FoundCommit {
    const known = this.#known.get(index)
    this.#known.delete(index)
    const parents = this.#parents.get(index)
    const oid = this.#names.hex(index, 0, OID_BYTES)
    return { known: known ?? readCommit(history, source, oid, this.#heightAt(index)), parents }
  }
}

/** As the history has it, else from git. */
function readCommit(history: History, source: HistorySource, oid: Oid, height: number): Known {
  const commit = history.findCommit(oid, height)
  if (commit === undefined) return readKnownCommit(source, oid)
  return { commit, rows: history.rowsAt(commit.position) }
}

type Hashed = FoundCommit & { readonly hash: Uint8Array }

function withHash(source: HistorySource, found: FoundCommit): Hashed {
  const { hash, commit } = found.known
  return { ...found, hash: hash ?? readKnownCommit(source, commit.oid).hash }
}

function byHash(a: Hashed, b: Hashed): number {
  return compareBytes(a.hash, b.hash)
}

interface Step {
  readonly oid: Oid
  readonly height: number
}

interface ReadCommit extends Step {
  readonly parents: readonly (Oid | Step)[]
  /** Undefined where only its links were read. */
  readonly known: Known | undefined
}

/** Commits by descending height, so that children come before their parents. */
class Walk {
  readonly #history: History
  readonly #source: HistorySource
  /** The commits whose children have all been passed, and others below them: a handful. */
  readonly #waiting: ReadCommit[] = []

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
    const read = this.#takeHighest()
    if (read === undefined) return undefined
    const { oid, height, parents } = read
    const known = isWhole ? (read.known ?? this.#known(read)) : read.known
    // All that is left is below it, and its parent is the highest of that.
    const follows = this.#waiting.length === 0 && parents.length < 2
    for (const parent of parents) this.#add(parent, isWhole)
    return { oid, height, known, parents: follows ? undefined : parents.map(oidOf) }
  }

  #takeHighest(): ReadCommit | undefined {
    let found = 0
    for (const [index, { height }] of this.#waiting.entries()) {
      if (height > (this.#waiting[found]?.height ?? 0)) found = index
    }
    return this.#waiting.splice(found, 1)[0]
  }

  /** What the history has, it has with all that is below it: the heights of its parents, too. */
  #add(parent: Oid | Step, isWhole: boolean): void {
    const oid = oidOf(parent)
    if (this.#waiting.some((step) => step.oid === oid)) return
    this.#waiting.push(this.#findKnown(parent) ?? this.#read(oid, isWhole))
  }

  #findKnown(parent: Oid | Step): ReadCommit | undefined {
    const { head } = this.#history
    if (typeof parent !== 'string') return this.#asKnown(parent.oid, parent.height)
    return head?.oid === parent ? this.#asKnown(parent, head.height) : undefined
  }

  #asKnown(oid: Oid, height: number): ReadCommit | undefined {
    const commit = this.#history.findCommit(oid, height)
    if (commit === undefined) return undefined
    return { oid, height, parents: this.#history.parentsOf(commit), known: undefined }
  }

  #read(oid: Oid, isWhole: boolean): ReadCommit {
    const bytes = readCommitBytes(this.#source.objects, oid)
    const { height, parents } = parseLinks(bytes)
    const known = this.#asKnown(oid, height)
    if (known !== undefined) return known
    return {
      oid,
      height,
      parents,
      known: isWhole ? readKnownCommit(this.#source, oid, bytes) : undefined,
    }
  }

  #known({ oid, height }: Step): Known {
    return readCommit(this.#history, this.#source, oid, height)
  }
}

function oidOf(commit: Oid | Step): Oid {
  return typeof commit === 'string' ? commit : commit.oid
}

/** Parents stand close before their children, but for one that a merge brings in from far below. */
function positionsOf(history: History, parents: readonly Oid[]): readonly number[] {
  return parents.map((oid) => {
    for (const commit of history.commits.reversed()) if (commit.oid === oid) return commit.position
    throw new Error('Parents stand before their children')
  })
}
