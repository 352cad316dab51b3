// The turns in which regular expressions are matched, of all stores of a process: a thread may take
// some 270 megabytes, so few run at a time. A server takes the turn before it opens the store:
// another store may need the place until then.

import { FairTurns, type TurnOwner } from '../../fair-queue.ts'

/** A caller who shares the threads for regular expressions with others, as those of a server do. */
export interface Searcher extends TurnOwner {
  /** The search waits for a turn from now on. What this throws ends the search. */
  readonly waits: () => void
  /** The search has its turn. What this throws ends the search. */
  readonly begins: () => void
  /** The thread has matched for that long. */
  readonly matched: (ms: number) => void
}

const THREADS_MAX = 2
const turns = new FairTurns(THREADS_MAX)

/** Waits for a turn, and works in it. */
export async function inRegexTurn<T>(searcher: Searcher, work: () => Promise<T>): Promise<T> {
  searcher.waits()
  return turns.run(searcher, async () => {
    searcher.begins()
    return work()
  })
}

/** Searches of this process itself, which share with no one. */
export const ownSearcher: Searcher = {
  key: '',
  session: '',
  waits: () => undefined,
  begins: () => undefined,
  matched: () => undefined,
}
