// Brings the history in RAM up to a head, reading only what is new: walks back, both ways at a
// merge, until all that is left is the past of one known commit. Trusts the head.

import { compareBytes } from '../bytes.ts'
import { assert } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import type { History, HistorySource } from './history.ts'
import { readKnownCommit } from './known-commit.ts'
import type { KnownCommit } from './known-commit.ts'
import { pause } from './pause.ts'
import type { Progress } from './verify.ts'

export interface CatchUpOptions {
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
}

const BATCH = 512

/**
 * What was known is kept up to the newest cut that the past of `head` shares with it; all above
 * is replaced, whether the past was rewritten or another clone's commits belong in between.
 */
export async function catchUp(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<void> {
  if (history.head?.oid === head) return
  const { missing, kept } = await findMissing(history, source, head, options)
  // At once: nobody may see the one part without the other.
  history.truncate(kept)
  for (const { commit, rows, place } of missing.toSorted(compareCommits)) {
    history.append(commit, rows, place && positionsOf(history, place.parents))
  }
  history.isSuperseded = false
}

interface MissingCommit extends Pick<KnownCommit, 'commit' | 'rows'> {
  /** Undefined if it is the only one of its height and just follows the commit before. */
  readonly place: Pick<KnownCommit, 'hash' | 'parents'> | undefined
}

interface Missing {
  readonly missing: readonly MissingCommit[]
  /** How many commits of the history stay. */
  readonly kept: number
}

async function findMissing(
  history: History,
  source: HistorySource,
  head: Oid,
  options: CatchUpOptions,
): Promise<Missing> {
  const missing: MissingCommit[] = []
  const walk = new Walk(history, source, head)
  for (;;) {
    const known = walk.findCut()
    if (known !== undefined) return { missing, kept: known + 1 }
    const next = walk.next()
    if (next === undefined) return { missing, kept: 0 }
    missing.push(next)
    if (missing.length % BATCH !== 0) continue
    options.progress?.(missing.length, missing.length + next.commit.height)
    await pause(options.signal)
  }
}

interface Step {
  readonly oid: Oid
  readonly height: number
  readonly read: KnownCommit | undefined
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
    this.#add(head)
  }

  /** The position of the known commit in whose past all that is left lies, if it is so. */
  findCut(): number | undefined {
    const [step, ...others] = this.#waiting
    if (step === undefined || others.length > 0) return undefined
    const known = this.#history.findCommit(step.oid, step.height)
    return known?.isCut === true ? known.position : undefined
  }

  next(): MissingCommit | undefined {
    const step = this.#takeHighest()
    if (step === undefined) return undefined
    const known = step.read ?? readKnownCommit(this.#source, step.oid)
    const { hash, parents, commit, rows } = known
    // All that is left is below it, and its parent is the highest of that.
    const follows = this.#waiting.length === 0 && parents.length < 2
    for (const parent of parents) this.#add(parent)
    return { commit, rows, place: follows ? undefined : { hash, parents } }
  }

  #takeHighest(): Step | undefined {
    let found = 0
    for (const [index, { height }] of this.#waiting.entries()) {
      if (height > (this.#waiting[found]?.height ?? 0)) found = index
    }
    return this.#waiting.splice(found, 1)[0]
  }

  #add(oid: Oid): void {
    if (this.#waiting.some((step) => step.oid === oid)) return
    const { head } = this.#history
    if (head?.oid === oid) {
      this.#waiting.push({ oid, height: head.height, read: undefined })
      return
    }
    const read = readKnownCommit(this.#source, oid)
    this.#waiting.push({ oid, height: read.commit.height, read })
  }
}

/** By (height, record hash). */
function compareCommits(a: MissingCommit, b: MissingCommit): number {
  const byHeight = a.commit.height - b.commit.height
  if (byHeight !== 0 || a.place === undefined || b.place === undefined) return byHeight
  return compareBytes(a.place.hash, b.place.hash)
}

/** Parents stand close before their children, but for one that a merge brings in from far below. */
function positionsOf(history: History, parents: readonly Oid[]): readonly number[] {
  return parents.map((oid) => {
    const position = history.commits.findLastIndex((commit) => commit.oid === oid)
    assert(position !== -1, 'parents stand before their children')
    return position
  })
}
