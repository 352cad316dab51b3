// Brings the history in RAM up to a head, reading only new commits: walks back, along both parents
// of a merge, until all that is left is the past of one known commit. Known commits above that one
// get new positions without being read again. A long walk back keeps only ids and reads the commits
// on the way forward. Trusts the head.

import type { WorkOptions } from '../../async.ts'
import { compareBytes } from '../../bytes.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { hex, Table, u32 } from '../tables/table.ts'
import type { History, HistorySource } from './history.ts'
import { type KnownCommit, readKnownCommit } from './known-commit.ts'

export interface CatchUpOptions extends WorkOptions {
  /** Up to this many commits are appended in one step, more in time slices. Default: 256. */
  readonly atOnce?: number | undefined
}

/** Progress is reported at least every this many commits. */
const BATCH = 512
/** Up to this many commits are read during the walk back and appended in one step. */
const AT_ONCE = 256
/** The same for versions: the commit of an import has thousands. */
const ROWS_AT_ONCE = 1024

/**
 * Keeps the history up to the newest cut that it shares with the past of `head` and replaces all
 * above, whether the past was rewritten or another clone's commits belong in between. If it
 * throws, the history is unchanged.
 */
export async function catchUp(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<void> {
  if (history.head?.oid === head) return
  const { missing, kept } = await findMissing(history, source, head, options)
  // No other work may run between truncating and appending.
  if (missing.length <= (options.atOnce ?? AT_ONCE) && missing.rows <= ROWS_AT_ONCE) {
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

/** A commit as the history stores it. The hash is left out where it was not read. */
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
    const cut = walk.findCut()
    if (cut !== undefined) return { missing, kept: cut + 1 }
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
  /** Undefined if the only parent is the commit before. */
  readonly parents: readonly Oid[] | undefined
}

/** The missing commits by descending height, each as id and height. */
class Missing {
  readonly #names = new Table({ oid: hex(20), height: u32 })
  readonly #known: Map<number, Known> = new Map()
  readonly #parents: Map<number, readonly Oid[]> = new Map()
  #rows = 0

  /** The number of versions in the commits that were read whole. */
  get rows(): number {
    return this.#rows
  }

  get length(): number {
    return this.#names.length
  }

  add({ oid, height, known, parents }: MissingCommit): void {
    const index = this.#names.add()
    this.#names.columns.oid.set(index, oid)
    this.#names.columns.height.set(index, height)
    if (known !== undefined) this.#known.set(index, known)
    this.#rows += known?.rows.length ?? 0
    if (parents !== undefined) this.#parents.set(index, parents)
  }

  /** By (height, record hash). `history` is the one before catching up. */
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
    return this.#names.columns.height.get(index)
  }

  #read(history: History, source: HistorySource, index: number): FoundCommit {
    const known = this.#known.get(index)
    this.#known.delete(index)
    const parents = this.#parents.get(index)
    const oid = this.#names.columns.oid.get(index)
    return { known: known ?? readCommit(history, source, oid, this.#heightAt(index)), parents }
  }
}

/** A commit from the history, or from git if the history does not have it. */
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

interface Link {
  readonly oid: Oid
  readonly height: number
}

interface ReadCommit extends Link {
  readonly parents: readonly (Oid | Link)[]
  /** Undefined where only the commit's links were read. */
  readonly known: Known | undefined
}

/** Visits commits by descending height, so that children come before their parents. */
class Walk {
  readonly #history: History
  readonly #source: HistorySource
  /** The commits that were reached and not yet visited: a handful. */
  readonly #waiting: ReadCommit[] = []

  constructor(history: History, source: HistorySource, head: Oid) {
    this.#history = history
    this.#source = source
    this.#add(head, true)
  }

  /** The position of the known cut that all commits left to visit are in the past of, if any. */
  findCut(): number | undefined {
    const [only, ...others] = this.#waiting
    if (only === undefined || others.length > 0) return undefined
    const known = this.#history.findCommit(only.oid, only.height)
    return known?.isCut === true ? known.position : undefined
  }

  /** The next commit. With `isWhole` it is read whole now, otherwise on the way forward. */
  next(isWhole: boolean): MissingCommit | undefined {
    const read = this.#takeHighest()
    if (read === undefined) return undefined
    const { oid, height, parents } = read
    const known = isWhole ? (read.known ?? this.#known(read)) : read.known
    // All commits left to visit are below it, and its parent is the highest of them.
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

  /** For a commit in the history, parents and heights are there too and need no reading. */
  #add(parent: Oid | Link, isWhole: boolean): void {
    const oid = oidOf(parent)
    if (this.#waiting.some((waiting) => waiting.oid === oid)) return
    this.#waiting.push(this.#findKnown(parent) ?? this.#read(oid, isWhole))
  }

  #findKnown(parent: Oid | Link): ReadCommit | undefined {
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

  #known({ oid, height }: Link): Known {
    return readCommit(this.#history, this.#source, oid, height)
  }
}

function oidOf(commit: Oid | Link): Oid {
  return typeof commit === 'string' ? commit : commit.oid
}

/** Searches backwards: parents are close before their children, except for some of merges. */
function positionsOf(history: History, parents: readonly Oid[]): readonly number[] {
  return parents.map((oid) => {
    for (const commit of history.commits.reversed()) if (commit.oid === oid) return commit.position
    throw new Error('Parents come before their children')
  })
}
