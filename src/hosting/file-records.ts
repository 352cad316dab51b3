// The records of a list in one sealed file (host-records.ts), which is read and written as a whole.
// A file has no revisions: that of a record is its contents.

import {
  comparePlaces,
  type HostRecords,
  type Lists,
  placeIn,
  type RecordPosition,
  type RecordQuery,
  type RecordsSnapshot,
  type RecordTable,
  type RecordTables,
  type RecordStep,
  type RecordStepOn,
  type StoredRecord,
  type RecordTally,
} from './host-records.ts'
import { SealedFile, type SealedFileParts } from './sealed-file.ts'

interface Indexed<R> {
  readonly list: readonly R[]
  readonly byId: ReadonlyMap<string, R>
}

type Indexes<T> = { [K in keyof T]?: Indexed<T[K]> }

export class FileRecords<T extends object> implements HostRecords<T> {
  readonly #file: SealedFile<Lists<T>>
  readonly #tables: RecordTables<T>
  readonly #indexes: Indexes<T> = {}

  private constructor(file: SealedFile<Lists<T>>, tables: RecordTables<T>) {
    this.#file = file
    this.#tables = tables
  }

  static async open<T extends object>(
    parts: SealedFileParts<Lists<T>>,
    tables: RecordTables<T>,
    acceptRolledBack: boolean,
  ): Promise<FileRecords<T>> {
    return new FileRecords(await SealedFile.open(parts, acceptRolledBack), tables)
  }

  get wasRolledBack(): boolean {
    return this.#file.wasRolledBack
  }

  async checkRoom(): Promise<void> {
    this.#file.checkRoom()
  }

  async find<K extends keyof T>(table: K, id: string): Promise<StoredRecord<T[K]> | undefined> {
    const record = this.#index(table).get(id)
    return record && new FileRecord(record)
  }

  async list<K extends keyof T>(table: K): Promise<readonly T[K][]> {
    return this.#file.read()[table]
  }

  async count(table: keyof T): Promise<number> {
    return this.#file.read()[table].length
  }

  async page<K extends keyof T>(table: K, query: RecordQuery<T[K]>): Promise<readonly T[K][]> {
    const { scope, among, since, isWanted, limit } = query
    const { scopeOf, timeOf } = this.#tables[table]
    const list = among === undefined ? this.#file.read()[table] : this.#among(table, among)
    const found: T[K][] = []
    const isBounded = since > -Infinity
    const start = startOf(list, query, this.#tables[table])
    for (let at = start; at < list.length && found.length < limit; at += 1) {
      const record = list[at]
      if (record === undefined || (isBounded && timeOf(record) < since)) break
      if (isWanted(record) && scopeOf(record) === scope) found.push(record)
    }
    return found
  }

  async tally(table: keyof T, scope: string, after: number): Promise<RecordTally> {
    const { timeOf } = this.#tables[table]
    const list = this.#file.read()[table].filter((record) => timeOf(record) > after)
    return tallyOf(list, scope, this.#tables[table])
  }

  async change(steps: readonly RecordStep<T>[]): Promise<boolean> {
    let isMade = false
    await this.#file.update((now) => {
      const next = this.#take(now, steps)
      isMade = next !== undefined
      return next ?? now
    })
    return isMade
  }

  async snapshot(): Promise<RecordsSnapshot<T>> {
    const { value, bytes } = await this.#file.snapshot()
    return { lists: value, bytes }
  }

  #among<K extends keyof T>(table: K, ids: readonly string[]): readonly T[K][] {
    const index = this.#index(table)
    const found = ids.map((id) => index.get(id)).filter((record) => record !== undefined)
    const place = (record: T[K]): RecordPosition => placeIn(this.#tables[table], record)
    return found.toSorted((a, b) => comparePlaces(place(a), place(b)))
  }

  #index<K extends keyof T>(table: K): ReadonlyMap<string, T[K]> {
    const list = this.#file.read()[table]
    const known = this.#indexes[table]
    if (known?.list === list) return known.byId
    const { idOf } = this.#tables[table]
    const byId = new Map(list.map((record) => [idOf(record), record]))
    this.#indexes[table] = { list, byId }
    return byId
  }

  /** The lists after all steps; undefined if one of them does not hold. */
  #take(now: Lists<T>, steps: readonly RecordStep<T>[]): Lists<T> | undefined {
    let lists = now
    for (const step of steps) {
      const next = this.#takeOne(lists, step)
      if (next === undefined) return undefined
      lists = next
    }
    return lists
  }

  #takeOne<K extends keyof T>(now: Lists<T>, step: RecordStepOn<T, K>): Lists<T> | undefined {
    const { table } = step
    const list = taken<T, K>(now[table], step, this.#tables[table])
    if (list === undefined || list === now[table]) return list && now
    return { ...now, [table]: list }
  }
}

class FileRecord<R> implements StoredRecord<R> {
  readonly record: R

  constructor(record: R) {
    this.record = record
  }

  /** Needed for changes alone. */
  get revision(): string {
    return revisionOf(this.record)
  }
}

function revisionOf(record: unknown): string {
  return JSON.stringify(record)
}

/** The list after one step, the same one if it changes nothing; undefined if it does not hold. */
function taken<T, K extends keyof T>(
  list: readonly T[K][],
  step: RecordStepOn<T, K>,
  table: RecordTable<T[K]>,
): readonly T[K][] | undefined {
  const { idOf, scopeOf, timeOf } = table
  const at = (id: string): number => list.findIndex((one) => idOf(one) === id)
  switch (step.kind) {
    case 'add':
      return at(idOf(step.record)) === -1 ? added(list, step.record, table) : undefined
    case 'replace': {
      const index = at(idOf(step.record))
      const isSame = index !== -1 && revisionOf(list[index]) === step.revision
      return isSame ? list.with(index, step.record) : undefined
    }
    case 'remove': {
      const index = at(step.id)
      return index === -1 ? undefined : list.toSpliced(index, 1)
    }
    case 'expect': {
      const index = at(step.id)
      return index !== -1 && revisionOf(list[index]) === step.revision ? list : undefined
    }
    case 'clear':
      return without(list, (one) => scopeOf(one) === step.scope)
    case 'expire':
      return without(list, (one) => timeOf(one) <= step.until)
    case 'bound':
      break
  }
  const { count, weight } = tallyOf(list, step.scope, table)
  return count <= step.count && weight <= step.weight ? list : undefined
}

function added<R>(list: readonly R[], record: R, table: RecordTable<R>): readonly R[] {
  if (table.order === 'added') return [...list, record]
  const after = placeIn(table, record)
  return list.toSpliced(startOf(list, { after, until: Infinity }, table), 0, record)
}

function without<R>(list: readonly R[], isLeftOut: (record: R) => boolean): readonly R[] {
  const rest = list.filter((record) => !isLeftOut(record))
  return rest.length < list.length ? rest : list
}

function tallyOf<R>(
  list: readonly R[],
  scope: string,
  { scopeOf, weightOf = () => 0 }: RecordTable<R>,
): RecordTally {
  const found = list.filter((record) => scopeOf(record) === scope)
  return { count: found.length, weight: found.reduce((sum, one) => sum + weightOf(one), 0) }
}

/** Where the records that `query` wants begin in a list whose newest is first. */
function startOf<R>(
  list: readonly R[],
  { after, until }: Pick<RecordQuery<R>, 'after' | 'until'>,
  table: RecordTable<R>,
): number {
  const isBefore = (record: R | undefined): boolean => {
    if (record === undefined) return false
    if (table.timeOf(record) > until) return true
    return after !== undefined && comparePlaces(placeIn(table, record), after) <= 0
  }
  if (!isBefore(list[0])) return 0
  let [from, to] = [0, list.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (isBefore(list[middle])) from = middle + 1
    else to = middle
  }
  return from
}
