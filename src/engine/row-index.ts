// Which rows a list of a host has, the change that wrote each and the hash of its body: an
// administrator of the database can put an old row back, which opens as it did when it was the
// newest, or one of a change that failed. The head of the list has a digest of all rows, sealed,
// which each change brings up to date; a server knows every row's state from a reading of all that
// has this digest, and from the changes since then, which must have the next ones. So each row that
// is read is compared with one state in memory. Nothing here opens a row.

import { Gate } from '../async.ts'
import { equalBytes, toHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { RecordsRole } from '../hosting/host-backend.ts'
import {
  type ListHead,
  noRows,
  RowDigest,
  type RowState,
  stateOfRow,
} from '../hosting/list-head.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import { TimeSlice } from '../time-slice.ts'
import type { EnginePool, Query, SqlRow } from './pool.ts'
import { recordStatements } from './record-statements.ts'

/** A server that is half as far behind reads the whole list: these are removed while it reads. */
export const changesKept: number = 4096
/** Rows that do not fit their list are read anew after this time, not for each question. */
const REFUSED_MS = 5000

/** A row that was written, or removed if it has no state. */
export interface ChangedRow {
  readonly kind: string
  readonly id: string
  readonly state: RowState | undefined
}

export interface RowIndexParts {
  readonly pool: EnginePool
  readonly owner: CacheOwner
  readonly role: RecordsRole
  /** Throws unless a row is the newest head of the list. */
  readonly headOf: (row: SqlRow) => ListHead
}

export class RowIndex {
  readonly #parts: RowIndexParts
  readonly #digest: RowDigest
  readonly #gate = new Gate()
  #head: ListHead | undefined
  #states: Map<string, RowState> = new Map()
  #refused: { readonly error: unknown; readonly until: number } | undefined

  constructor(parts: RowIndexParts) {
    this.#parts = parts
    this.#digest = new RowDigest(parts.owner, parts.role)
  }

  /** Undefined if the list has no such row. */
  stateOf(kind: string, id: string): RowState | undefined {
    return this.#states.get(keyOf(kind, id))
  }

  /** Whether a row that was read, or its absence, is what the list has. */
  hasRow(kind: string, id: string, row: SqlRow | undefined): boolean {
    const state = this.stateOf(kind, id)
    if (state === undefined || row === undefined) return state === row
    const { generation, body } = row
    if (state.generation !== Number(generation) || !(body instanceof Uint8Array)) return false
    return state.hash === stateOfRow(state.generation, body).hash
  }

  countOf(kind: string): number {
    let count = 0
    for (const key of this.#states.keys()) if (key.startsWith(`${kind} `)) count += 1
    return count
  }

  /**
   * Brings it to the state of `head` or a newer one. Throws `rolled_back` if rows do not fit it, or
   * if it does not follow from the state that is known here.
   */
  async follow(head: ListHead): Promise<void> {
    if (this.#knows(head)) return
    await this.#gate.run(() => this.#follow(head))
  }

  /** Compares all rows with the list, also those that no one asks for. Throws `rolled_back`. */
  async check(): Promise<void> {
    await this.#gate.run(async () => this.#follow((await this.#read()).head))
  }

  /** The list was accepted as it is. */
  forget(): void {
    this.#head = undefined
    this.#refused = undefined
  }

  /**
   * The same for a change that holds the list, in its transaction: the rows are then exactly those
   * of `head`. False if it is too far behind for that, so that all rows must be read. Asks nothing
   * of the database unless another server has made the newest change.
   */
  async followWithin(query: Query, head: ListHead): Promise<boolean> {
    const known = this.#head
    if (known === undefined || !this.#isNear(known, head)) return false
    if (this.#knows(head)) return true
    const values = [this.#parts.role, known.generation, head.generation]
    this.#take((await query(recordStatements.changedRows, values)).rows, head)
    return this.#knows(head)
  }

  /** Takes what a change of this server has made of `before`, unless it is known already. */
  note(before: ListHead, head: ListHead, rows: readonly ChangedRow[]): void {
    const known = this.#head
    if (known?.generation !== before.generation || !this.#knows(before)) return
    this.#change(rows)
    this.#head = head
  }

  #isNear(known: ListHead, head: ListHead): boolean {
    return known.generation >= Math.max(head.since, head.generation - changesKept / 2)
  }

  #knows({ generation, digest }: ListHead): boolean {
    const known = this.#head
    if (known === undefined || known.generation < generation) return false
    return known.generation > generation || equalBytes(known.digest, digest)
  }

  async #follow(head: ListHead): Promise<void> {
    const known = this.#head
    if (this.#knows(head)) return
    if (known !== undefined && this.#isNear(known, head)) {
      const { pool, role } = this.#parts
      const values = [role, known.generation, head.generation]
      this.#take((await pool.repeat(recordStatements.changedRows, values)).rows, head)
      return
    }
    const read = await this.#read()
    // A change of this server may have been noted in the meantime.
    if (this.#head !== known && this.#knows(read.head)) return
    this.#states = read.states
    this.#head = read.head
  }

  /**
   * An administrator can change these rows, too: they are right if they give the digest of the
   * head. Changes that were taken while these were read are left out.
   */
  #take(rows: readonly SqlRow[], head: ListHead): void {
    const known = this.#head
    if (known === undefined || this.#knows(head)) return
    const changed = new Map<string, ChangedRow>()
    let { digest } = known
    for (const row of rows) {
      const [kind, id] = [String(row['kind']), String(row['id'])]
      if (Number(row['generation']) <= known.generation) continue
      const key = keyOf(kind, id)
      const taken = changed.get(key)
      const before = taken === undefined ? this.#states.get(key) : taken.state
      const state = row['hash'] === null ? undefined : stateIn(row)
      digest = this.#digest.moved(digest, { kind, id }, before, state)
      changed.set(key, { kind, id, state })
    }
    if (!equalBytes(digest, head.digest)) throw mixedRows(this.#parts.role)
    this.#change(changed.values())
    this.#head = head
  }

  #change(rows: Iterable<ChangedRow>): void {
    for (const { kind, id, state } of rows) {
      if (state === undefined) this.#states.delete(keyOf(kind, id))
      else this.#states.set(keyOf(kind, id), state)
    }
  }

  async #read(): Promise<ReadRows> {
    const refused = this.#refused
    if (refused !== undefined && performance.now() < refused.until) throw refused.error
    const { pool, role } = this.#parts
    const { rows } = await pool.repeat(recordStatements.allRows, [role])
    const list = rows.find(({ head }) => head !== null)
    const states = new Map<string, RowState>()
    let digest = noRows
    const slice = new TimeSlice()
    for (const row of rows) {
      if (row === list) continue
      const [kind, id, after] = [String(row['kind']), String(row['id']), stateIn(row)]
      const key = keyOf(kind, id)
      digest = this.#digest.moved(digest, { kind, id }, states.get(key), after)
      states.set(key, after)
      if (slice.isOver()) await slice.next()
    }
    const head = list && this.#parts.headOf(list)
    if (head !== undefined && equalBytes(digest, head.digest)) return { head, states }
    const error = mixedRows(role)
    this.#refused = { error, until: performance.now() + REFUSED_MS }
    throw error
  }
}

interface ReadRows {
  readonly head: ListHead
  readonly states: Map<string, RowState>
}

export function mixedRows(role: RecordsRole): StoreError {
  return new StoreError(
    'rolled_back',
    `One of the ${role} in the engine is older than their list, or missing; put the newest ` +
      'database back, or accept this one with `gitlocket serve accept-restored`',
  )
}

export function keyOf(kind: string, id: string): string {
  return `${kind} ${id}`
}

/** As the database tells it. */
function stateIn({ generation, hash }: SqlRow): RowState {
  return {
    generation: Number(generation),
    hash: hash instanceof Uint8Array ? toHex(hash) : '',
  }
}
