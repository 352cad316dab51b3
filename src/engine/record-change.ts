// One change of the records of a host, in a transaction that holds the row of their list: writes
// the rows, brings the digest of all rows up to date, and seals it as the new head. Which rows the
// list had before is known from its digest (row-index.ts). The database is not asked: with an
// answer of its own choice it could have the digest of other rows sealed.

import { fromHex } from '../bytes.ts'
import type { RecordsRole } from '../hosting/host-backend.ts'
import type { ReadList, RecordStepOn, RecordTables, RecordTally } from '../hosting/host-records.ts'
import {
  type ListHead,
  noRows,
  RowDigest,
  type RowState,
  sealHead,
  stateOfRow,
} from '../hosting/list-head.ts'
import { type SealedRow, sealRow } from '../hosting/sealed-row.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import type { Query, SqlResult } from './pool.ts'
import { recordStatements } from './record-statements.ts'
import { changesKept, type ChangedRow, keyOf } from './row-index.ts'

const FORGET_EVERY = 64

interface ChangeParts<T> {
  readonly query: Query
  /** The state of a row before the change; without it, the list had no rows. */
  readonly stateOf?: (kind: string, id: string) => RowState | undefined
  readonly owner: CacheOwner
  readonly role: RecordsRole
  readonly tables: RecordTables<T>
}

type StatementName = keyof typeof recordStatements
type Values = readonly (string | number | Uint8Array)[]

/** The new head of the list, and what it did to the rows. */
export interface MadeChange {
  readonly head: ListHead
  readonly rows: readonly ChangedRow[]
}

export class RecordChange<T extends object> {
  readonly #parts: ChangeParts<T>
  readonly #digest: RowDigest
  readonly #changed: Map<string, ChangedRow> = new Map()
  #head: ListHead

  /** `head` has the number of the change, and the digest before it. */
  constructor(parts: ChangeParts<T>, head: ListHead) {
    this.#parts = parts
    this.#digest = new RowDigest(parts.owner, parts.role)
    this.#head = head
  }

  /** Whether the step holds. */
  async take<K extends keyof T>(step: RecordStepOn<T, K>): Promise<boolean> {
    const kind = String(step.table)
    const { generation } = this.#head
    switch (step.kind) {
      case 'add': {
        const { id, scope, time, weight, body } = this.#seal(step.table, step.record)
        const state = stateOfRow(generation, body)
        const values = [id, scope, time, weight, generation, fromHex(state.hash), body]
        return this.#write('addRecord', kind, values, state)
      }
      case 'replace': {
        const { id, weight, body } = this.#seal(step.table, step.record)
        const state = stateOfRow(generation, body)
        const values = [id, Number(step.revision), weight, generation, fromHex(state.hash), body]
        return this.#write('replaceRecord', kind, values, state)
      }
      case 'remove':
        return this.#write('removeRecord', kind, [step.id, generation])
      case 'expect':
        return (await this.#run('expectRecord', kind, [step.id, Number(step.revision)])).count > 0
      case 'clear':
        await this.#write('clearRecords', kind, [step.scope, generation])
        return true
      case 'expire':
        await this.#write('expireRecords', kind, [boundOf(step.until), generation])
        return true
      case 'bound':
        break
    }
    const bounds = [step.scope, boundOf(-Infinity)]
    const { count, weight } = tallyOf(await this.#run('tallyRecords', kind, bounds))
    return count <= step.count && weight <= step.weight
  }

  /** Seals the new head. */
  async finish(): Promise<MadeChange> {
    const { query, owner, role } = this.#parts
    const { generation } = this.#head
    const head = sealHead(owner, role, this.#head)
    await query(recordStatements.moveList, [role, generation, head])
    if (generation % FORGET_EVERY === 0) {
      await query(recordStatements.forgetChanges, [role, generation - changesKept])
    }
    return { head: this.#head, rows: [...this.#changed.values()] }
  }

  /** Whether a row was written; `after` is left out for one that is removed. */
  async #write(
    name: StatementName,
    kind: string,
    values: Values,
    after?: RowState,
  ): Promise<boolean> {
    const { rows } = await this.#run(name, kind, values)
    let { digest } = this.#head
    for (const row of rows) {
      const id = String(row['id'])
      const key = keyOf(kind, id)
      const changed = this.#changed.get(key)
      const before = changed === undefined ? this.#parts.stateOf?.(kind, id) : changed.state
      digest = this.#digest.moved(digest, { kind, id }, before, after)
      this.#changed.set(key, { kind, id, state: after })
    }
    this.#head = { ...this.#head, digest }
    return rows.length > 0
  }

  #run(name: StatementName, kind: string, values: Values): Promise<SqlResult> {
    const { query, role } = this.#parts
    return query(recordStatements[name], [role, kind, ...values])
  }

  #seal<K extends keyof T>(table: K, record: T[K]): SealedRow {
    const { owner, role, tables } = this.#parts
    const place = { owner, role, name: String(table), table: tables[table] }
    return sealRow(place, record, this.#head.generation)
  }
}

/**
 * Seals a list anew, whatever sealed it. False, with nothing written, if it has changed since it
 * was read.
 */
export async function replaceRecords<T extends object>(
  parts: ChangeParts<T>,
  { generation: read, value }: ReadList<T>,
): Promise<boolean> {
  const { query, role, tables } = parts
  const [row] = (await query(recordStatements.holdList, [role])).rows
  if (Number(row?.['generation']) !== read) return false
  await query(recordStatements.dropRecords, [role])
  await query(recordStatements.forgetChanges, [role, read])
  const generation = read + 1
  const change = new RecordChange(parts, { generation, digest: noRows, since: generation })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tables have no other keys
  for (const table of Object.keys(tables) as (keyof T)[]) {
    for (const record of value[table]) await change.take({ kind: 'add', table, record })
  }
  await change.finish()
  return true
}

export function tallyOf({ rows: [row] }: SqlResult): RecordTally {
  return { count: Number(row?.['count']), weight: Number(row?.['weight']) }
}

/** A time, or one before or after all. */
export function boundOf(time: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(-Number.MAX_SAFE_INTEGER, Math.trunc(time)))
}
