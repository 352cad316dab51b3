// Brings the history in RAM up to a head, reading only new commits: walks back, along both parents
// of a merge, until all commits left are in the past of one known cut, and reads the commits on the
// way forward. Known commits above that cut get new positions without being read again. Trusts the
// head.

import type { WorkOptions } from '../../async.ts'
import { compareBytes } from '../../bytes.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { hex, Table, u32 } from '../tables/table.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History, HistorySource } from './history.ts'
import { type KnownCommit, readKnownCommit, readRecordHash } from './known-commit.ts'

export interface CatchUpOptions extends WorkOptions {
  /** Up to this many commits are appended in one step, more in time slices. Default: 256. */
  readonly atOnce?: number | undefined
}

/** Progress is reported at least every this many commits. */
const BATCH = 512
/** Up to this many commits are appended in one step. */
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
  const commits = inOrder(missing, history, source)
  const taken: FoundCommit[] = []
  const isShort = missing.length <= (options.atOnce ?? AT_ONCE)
  // No other work may run between truncating and appending.
  if (isShort && takeAll(commits, taken)) {
    history.truncate(kept)
    for (const commit of taken) append(history, commit)
  } else {
    const filled = history.prefix(kept)
    const slice = new TimeSlice(options.signal, BATCH)
    for (const commit of chained(taken, commits)) {
      append(filled, commit)
      if (!slice.isOver()) continue
      options.progress?.(filled.commits.length, kept + missing.length)
      await slice.next()
    }
    history.become(filled)
  }
  history.isSuperseded = false
}

/** Takes the commits; false if they have more rows than are appended in one step. */
function takeAll(commits: Iterator<FoundCommit>, taken: FoundCommit[]): boolean {
  let rows = 0
  for (let next = commits.next(); next.done !== true; next = commits.next()) {
    taken.push(next.value)
    rows += next.value.known.rows.length
    if (rows > ROWS_AT_ONCE) return false
  }
  return true
}

function* chained(
  first: readonly FoundCommit[],
  rest: Iterable<FoundCommit>,
): Generator<FoundCommit> {
  yield* first
  yield* rest
}

function append(history: History, { known, parents }: FoundCommit): void {
  history.append(known.commit, known.rows, parents && positionsOf(history, parents))
}

interface FoundCommit {
  /** The hash is left out if the commit was in the history already. */
  readonly known: Pick<KnownCommit, 'commit' | 'rows'> & { readonly hash?: Uint8Array }
  readonly parents: readonly Oid[] | undefined
}

/** The missing commits by descending height. */
class Missing {
  readonly names = new Table({ oid: hex(20), height: u32 })
  /** By index, left out where the only parent is the commit before. */
  readonly parents: Map<number, readonly Oid[]> = new Map()
  /** Of the first commits that were reached, so that a short walk reads each only once. */
  readonly bytes: Map<Oid, Uint8Array> = new Map()

  get length(): number {
    return this.names.length
  }

  add(oid: Oid, height: number, parents: readonly Oid[] | undefined): void {
    const index = this.names.add()
    this.names.columns.oid.set(index, oid)
    this.names.columns.height.set(index, height)
    if (parents !== undefined) this.parents.set(index, parents)
  }
}

async function findMissing(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<{ readonly missing: Missing; readonly kept: number }> {
  const missing = new Missing()
  const walk = new Walk(history, source, head, missing.bytes)
  const slice = new TimeSlice(options.signal, BATCH)
  for (;;) {
    const cut = walk.findCut()
    if (cut !== undefined) return { missing, kept: cut + 1 }
    const next = walk.next()
    if (next === undefined) return { missing, kept: 0 }
    missing.add(next.oid, next.height, next.follows ? undefined : next.parents.map(oidOf))
    if (!slice.isOver()) continue
    options.progress?.(0, missing.length + next.height)
    await slice.next()
  }
}

/** By (height, record hash). `history` is the one before catching up. */
function* inOrder(
  missing: Missing,
  history: History,
  source: HistorySource,
): Generator<FoundCommit, undefined> {
  const { oid, height } = missing.names.columns
  for (let end = missing.length; end > 0;) {
    let start = end - 1
    while (start > 0 && height.get(start - 1) === height.get(end - 1)) start -= 1
    const found: FoundCommit[] = []
    for (let index = start; index < end; index += 1) {
      const named = { oid: oid.get(index), height: height.get(index) }
      const known = readCommit(history, source, named, missing.bytes)
      found.push({ known, parents: missing.parents.get(index) })
    }
    if (found.length === 1) yield* found
    else yield* found.map((one) => withHash(source, one)).toSorted(byHash)
    end = start
  }
}

/** A commit from the history, or from git if the history does not have it. */
function readCommit(
  history: History,
  source: HistorySource,
  { oid, height }: NamedCommit,
  read: ReadonlyMap<Oid, Uint8Array>,
): FoundCommit['known'] {
  const commit = findWhole(history, { oid, height })
  if (commit === undefined) return readKnownCommit(source, oid, read.get(oid))
  return { commit, rows: history.rowsAt(commit.position) }
}

/** A known commit, unless it stands for all earlier ones: its parents and rows are not its own. */
function findWhole(history: History, { oid, height }: NamedCommit): CommitEntry | undefined {
  const commit = history.findCommit(oid, height)
  return commit === undefined || history.isBeginning(commit.position) ? undefined : commit
}

type Hashed = FoundCommit & { readonly hash: Uint8Array }

function withHash(source: HistorySource, found: FoundCommit): Hashed {
  const { hash, commit } = found.known
  return { ...found, hash: hash ?? readRecordHash(source, commit.oid) }
}

function byHash(a: Hashed, b: Hashed): number {
  return compareBytes(a.hash, b.hash)
}

interface NamedCommit {
  readonly oid: Oid
  readonly height: number
}

interface LinkedCommit extends NamedCommit {
  readonly parents: readonly (Oid | NamedCommit)[]
}

/** Visits commits by descending height, so that children come before their parents. */
class Walk {
  readonly #history: History
  readonly #source: HistorySource
  /** The commits that were reached and not yet visited: a handful. */
  readonly #waiting: LinkedCommit[] = []
  readonly #bytes: Map<Oid, Uint8Array>

  constructor(history: History, source: HistorySource, head: Oid, bytes: Map<Oid, Uint8Array>) {
    this.#history = history
    this.#source = source
    this.#bytes = bytes
    this.#add(head)
  }

  /** The position of the known cut that all commits left to visit are in the past of, if any. */
  findCut(): number | undefined {
    const [only, ...others] = this.#waiting
    if (only === undefined || others.length > 0) return undefined
    const known = this.#history.findCommit(only.oid, only.height)
    return known?.isCut === true ? known.position : undefined
  }

  /** The highest commit that was not visited, and whether its only parent comes right before it. */
  next(): (LinkedCommit & { readonly follows: boolean }) | undefined {
    let found = 0
    for (const [index, { height }] of this.#waiting.entries()) {
      if (height > (this.#waiting[found]?.height ?? 0)) found = index
    }
    const [next] = this.#waiting.splice(found, 1)
    if (next === undefined) return undefined
    // All commits left to visit are below it, and its parent is the highest of them.
    const follows = this.#waiting.length === 0 && next.parents.length < 2
    for (const parent of next.parents) this.#add(parent)
    return { ...next, follows }
  }

  /** For a commit in the history, parents and heights are there too and need no reading. */
  #add(parent: Oid | NamedCommit): void {
    const oid = oidOf(parent)
    if (this.#waiting.some((waiting) => waiting.oid === oid)) return
    const { head } = this.#history
    const named = typeof parent === 'string' && head?.oid === parent ? head : parent
    this.#waiting.push(
      (typeof named === 'string' ? undefined : this.#findKnown(named)) ?? this.#read(oid),
    )
  }

  #findKnown({ oid, height }: NamedCommit): LinkedCommit | undefined {
    const commit = findWhole(this.#history, { oid, height })
    return commit && { oid, height, parents: this.#history.parentsOf(commit) }
  }

  #read(oid: Oid): LinkedCommit {
    const bytes = readCommitBytes(this.#source.objects, oid)
    if (this.#bytes.size < AT_ONCE) this.#bytes.set(oid, bytes)
    const { height, parents } = parseLinks(bytes)
    return this.#findKnown({ oid, height }) ?? { oid, height, parents }
  }
}

function oidOf(commit: Oid | NamedCommit): Oid {
  return typeof commit === 'string' ? commit : commit.oid
}

/** Searches backwards: parents are close before their children, except for some of merges. */
function positionsOf(history: History, parents: readonly Oid[]): readonly number[] {
  return parents.map((oid) => {
    for (const commit of history.commits.reversed()) if (commit.oid === oid) return commit.position
    throw new Error('Parents come before their children')
  })
}
