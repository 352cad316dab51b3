// The port for the lists of a host: workspaces and stores, or keys and sessions, as records in
// tables. A data directory keeps a list in one sealed file; a database keeps a row per record, and
// may know its id, scope and time. Either way a record is read only if this identity wrote it, and
// an older state is refused. Several processes change the records: a change is made as a whole or
// not at all, and only if the records that it was planned on are still the same.

import { StoreError } from '../errors.ts'

/** How the records of a table are found. A record never changes its id, scope or time. */
export interface RecordTable<R> {
  readonly idOf: (record: R) => string
  /** Shared by some records: the workspace of stores, the key of sessions. */
  readonly scopeOf: (record: R) => string
  /** ms since 1970. */
  readonly timeOf: (record: R) => number
  /** A limit may bound its sum; 0 by default. */
  readonly weightOf?: (record: R) => number
  /** Newest first, and of one time the greatest id first; or as the records were added. */
  readonly order: 'newest' | 'added'
}

/** The tables of a list, by their names. `T` has the type of each table's records. */
export type RecordTables<T> = { readonly [K in keyof T]: RecordTable<T[K]> }

/** All records of a list, by table, in the order of each. */
export type Lists<T> = { readonly [K in keyof T]: readonly T[K][] }

export interface StoredRecord<R> {
  readonly record: R
  /** Another one for any other contents of the record. */
  readonly revision: string
}

/** The place of a record in a table whose newest is first. */
export interface RecordPosition {
  readonly time: number
  readonly id: string
}

export function placeIn<R>({ timeOf, idOf }: RecordTable<R>, record: R): RecordPosition {
  return { time: timeOf(record), id: idOf(record) }
}

/** Newest first; of one time, the greatest id first. */
export function comparePlaces(a: RecordPosition, b: RecordPosition): number {
  return b.time - a.time || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

export interface RecordQuery<R> {
  readonly scope: string
  /** The ids of the only records that are looked at, a few of perhaps ten thousand. */
  readonly among: readonly string[] | undefined
  /** Inclusive. */
  readonly since: number
  readonly until: number
  /** Only records that come later in the table. */
  readonly after: RecordPosition | undefined
  /** Judges the whole record. Others do not count towards the limit. */
  readonly isWanted: (record: R) => boolean
  readonly limit: number
}

/** How many records a scope has, and their weight. */
export interface RecordTally {
  readonly count: number
  readonly weight: number
}

/** One step of a change, on the table `K`. */
export type RecordStepOn<T, K extends keyof T> =
  /** Holds if the table has no record with this id. */
  | { readonly kind: 'add'; readonly table: K; readonly record: T[K] }
  | {
      readonly kind: 'replace'
      readonly table: K
      readonly record: T[K]
      /** The present record has this one, or the step does not hold. */
      readonly revision: string
    }
  /** Holds if the record exists. */
  | { readonly kind: 'remove'; readonly table: K; readonly id: string }
  /** Changes nothing, and holds if the record is still this one. */
  | { readonly kind: 'expect'; readonly table: K; readonly id: string; readonly revision: string }
  /** Removes all records of a scope. */
  | { readonly kind: 'clear'; readonly table: K; readonly scope: string }
  /** Removes the records of all scopes up to a time, inclusive. */
  | { readonly kind: 'expire'; readonly table: K; readonly until: number }
  /** Changes nothing, and holds if the steps before leave the scope no more than this. */
  | ({ readonly kind: 'bound'; readonly table: K; readonly scope: string } & RecordTally)

export type RecordStep<T> = { [K in keyof T]: RecordStepOn<T, K> }[keyof T]

export interface HostRecords<T> {
  /** Whether an older state was accepted when this was opened. */
  readonly wasRolledBack: boolean
  /** Throws `store_full` if an addition has no room, before anything else is made. */
  checkRoom(): Promise<void>
  /** As the newest change left it that was acknowledged before the call, by any process. */
  find<K extends keyof T>(table: K, id: string): Promise<StoredRecord<T[K]> | undefined>
  /** All records, in the order of the table. As new as those that `find` returns. */
  list<K extends keyof T>(table: K): Promise<readonly T[K][]>
  count(table: keyof T): Promise<number>
  /** For a table whose newest is first. */
  page<K extends keyof T>(table: K, query: RecordQuery<T[K]>): Promise<readonly T[K][]>
  /** Counts the records of a scope that are newer than `after`. */
  tally(table: keyof T, scope: string, after: number): Promise<RecordTally>
  /**
   * Takes all steps in their order, durably, or none of them. Resolves to false, and changes
   * nothing, if a step does not hold for the present records.
   */
  change(steps: readonly RecordStep<T>[]): Promise<boolean>
  /** All records at once, for a copy. Throws `rolled_back` while an older state is refused. */
  snapshot(): Promise<RecordsSnapshot<T>>
}

/** All records of a list, as of one change of it. */
export interface ReadList<T> {
  readonly generation: number
  readonly value: Lists<T>
}

export interface RecordsSnapshot<T> {
  readonly lists: Lists<T>
  /** The file that holds them in a data directory. */
  readonly bytes: Uint8Array
}

/** More than processes that change one record at once: each loss is the success of another. */
const ATTEMPTS_MAX = 1000

/** Plans and tries a change until it is made: `attempt` returns undefined if it was not. */
export async function untilChanged<R>(attempt: () => Promise<R | undefined>): Promise<R> {
  for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
    const result = await attempt()
    if (result !== undefined) return result
  }
  throw new StoreError('locked', 'Other processes change the same record: try again later')
}
