// Which rows a list of a host has, and the change that wrote each: an administrator of the
// database can put an old row back, which opens as it did when it was the newest. The head of the
// list has a digest of all rows, sealed, which each change brings up to date; a server knows every
// row's generation from a reading of all that has this digest, and from the changes since then,
// which must have the next ones. So each row that is read is compared with one number in memory.
// Nothing here opens a row.

import { Gate } from '../async.ts'
import { equalBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { RecordsRole } from '../hosting/host-backend.ts'
import { type ListHead, noRows, RowDigest } from '../hosting/list-head.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import { TimeSlice } from '../time-slice.ts'
import type { EnginePool, SqlResult } from './pool.ts'
import { recordStatements } from './record-statements.ts'

/** A server that is half as far behind reads the whole list: these are removed while it reads. */
export const changesKept: number = 4096
/** Rows that do not fit their list are read anew after this time, not for each question. */
const REFUSED_MS = 5000

export interface RowIndexParts {
  readonly pool: EnginePool
  readonly owner: CacheOwner
  readonly role: RecordsRole
  /** Throws unless a row is the newest head of the list. */
  readonly headOf: (row: SqlResult['rows'][number]) => ListHead
}

export class RowIndex {
  readonly #parts: RowIndexParts
  readonly #digest: RowDigest
  readonly #gate = new Gate()
  #head: ListHead | undefined
  #generations: Map<string, number> = new Map()
  #refused: { readonly error: unknown; readonly until: number } | undefined

  constructor(parts: RowIndexParts) {
    this.#parts = parts
    this.#digest = new RowDigest(parts.owner, parts.role)
  }

  /** The generation of a row; undefined if the list has no such row. */
  generationOf(kind: string, id: string): number | undefined {
    return this.#generations.get(keyOf(kind, id))
  }

  countOf(kind: string): number {
    let count = 0
    for (const key of this.#generations.keys()) if (key.startsWith(`${kind} `)) count += 1
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

  #knows({ generation, digest }: ListHead): boolean {
    const known = this.#head
    if (known === undefined || known.generation < generation) return false
    return known.generation > generation || equalBytes(known.digest, digest)
  }

  async #follow(head: ListHead): Promise<void> {
    const known = this.#head
    if (this.#knows(head)) return
    const from = Math.max(head.since, head.generation - changesKept / 2)
    if (known !== undefined && known.generation >= from) return this.#takeChanges(known, head)
    const read = await this.#read()
    this.#generations = read.generations
    this.#head = read.head
  }

  /** An administrator can change them, too: they are right if they give the digest of the head. */
  async #takeChanges(known: ListHead, head: ListHead): Promise<void> {
    const { pool, role } = this.#parts
    const values = [role, known.generation, head.generation]
    const { rows } = await pool.repeat(recordStatements.changedRows, values)
    const changed = new Map<string, number | undefined>()
    let { digest } = known
    for (const row of rows) {
      const [kind, id] = [String(row['kind']), String(row['id'])]
      const key = keyOf(kind, id)
      const before = changed.has(key) ? changed.get(key) : this.#generations.get(key)
      const after = row['removed'] === true ? undefined : Number(row['generation'])
      digest = this.#digest.moved(digest, { kind, id }, before, after)
      changed.set(key, after)
    }
    if (!equalBytes(digest, head.digest)) throw mixedRows(role)
    for (const [key, generation] of changed) {
      if (generation === undefined) this.#generations.delete(key)
      else this.#generations.set(key, generation)
    }
    this.#head = head
  }

  async #read(): Promise<ReadRows> {
    const refused = this.#refused
    if (refused !== undefined && performance.now() < refused.until) throw refused.error
    const { pool, role } = this.#parts
    const { rows } = await pool.repeat(recordStatements.allRows, [role])
    const list = rows.find(({ head }) => head !== null)
    const generations = new Map<string, number>()
    let digest = noRows
    const slice = new TimeSlice()
    for (const row of rows) {
      if (row === list) continue
      const [kind, id, after] = [String(row['kind']), String(row['id']), Number(row['generation'])]
      const key = keyOf(kind, id)
      digest = this.#digest.moved(digest, { kind, id }, generations.get(key), after)
      generations.set(key, after)
      if (slice.isOver()) await slice.next()
    }
    const head = list && this.#parts.headOf(list)
    if (head !== undefined && equalBytes(digest, head.digest)) return { head, generations }
    const error = mixedRows(role)
    this.#refused = { error, until: performance.now() + REFUSED_MS }
    throw error
  }
}

interface ReadRows {
  readonly head: ListHead
  readonly generations: Map<string, number>
}

export function mixedRows(role: RecordsRole): StoreError {
  return new StoreError(
    'rolled_back',
    `One of the ${role} in the engine is older than their list, or missing; put the newest ` +
      'database back, or accept this one with `gitlocket serve accept-restored`',
  )
}

function keyOf(kind: string, id: string): string {
  return `${kind} ${id}`
}
