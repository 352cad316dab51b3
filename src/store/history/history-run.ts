// Runs of consecutive commits as bytes of the tables that hold them in RAM, to be kept elsewhere
// and appended to an equal history, without a step for each commit. Must not know how they are
// kept.

import type { Author } from './history-rows.ts'

/**
 * Consecutive commits as bytes of their records. Rows, positions and memories have the same numbers
 * in each process, since they follow from the history; texts are numbered by first appearance.
 */
export interface TableRun {
  readonly commits: Uint8Array
  readonly rows: Uint8Array
  readonly redacted: Uint8Array
  /** How many texts the commits before have. */
  readonly textsBefore: TextCounts
  /** The texts that no commit before has, in the order of their numbers. */
  readonly paths: readonly string[]
  readonly authors: readonly Author[]
  /** UTF-8, by the index of the commit in the run. */
  readonly notes: ReadonlyMap<number, Uint8Array>
}

interface TextCounts {
  readonly paths: number
  readonly authors: number
}

/** Numbers texts by first appearance, from 1. The keys are their numbers in a table. */
export class Appearances {
  readonly #numbers: Map<number, number> = new Map()
  readonly #keys: number[] = []

  get size(): number {
    return this.#keys.length
  }

  numberOf(key: number): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#keys.push(key)
    this.#numbers.set(key, number)
    return number
  }

  /** The keys after the first `count`. */
  after(count: number): readonly number[] {
    return this.#keys.slice(count)
  }
}

/** Consecutive commits, to be kept elsewhere and appended to an equal history. */
export interface HistoryRun extends TableRun {
  /** 16 bytes each: of the rows, and of the memories that appear first in them. */
  readonly versionIds: Uint8Array
  readonly memoryIds: Uint8Array
  /** Positions, by index in the run; left out where the only parent is the commit before. */
  readonly parents: ReadonlyMap<number, readonly number[]>
}
