// What a device keeps for itself (store/local/own-files.ts) in PostgreSQL: a row for each name,
// with the revision that its writer has compared. A removed file leaves its row, so that no
// revision is given twice.

import type { OwnFiles, OwnName } from '../store/local/own-files.ts'
import { type EnginePool, type SqlResult, sqlStatements } from './pool.ts'

const statements = sqlStatements({
  readOwn: 'select revision, body from gl_own where store = $1 and name = $2',
  revisionOwn: `select revision, extract(epoch from at) * 1000 as at from gl_own
    where store = $1 and name = $2`,
  makeOwn: `insert into gl_own (store, name, revision, body, at) values ($1, $2, 1, $3, now())
    on conflict do nothing`,
  writeOwn: `update gl_own set revision = $4::bigint + 1, body = $3, at = now()
    where store = $1 and name = $2 and revision = $4`,
  isOwn: 'select revision from gl_own where store = $1 and name = $2 and body = $3',
  removeOwn: `insert into gl_own as own (store, name, revision, body, at)
    values ($1, $2, 1, null, now())
    on conflict (store, name) do update set revision = own.revision + 1, body = null, at = now()
    returning revision`,
})

/** As one handle of a store has them. */
export class SqlOwnFiles implements OwnFiles {
  readonly isShared = true
  readonly #pool: EnginePool
  readonly #store: string
  readonly #seen: Map<OwnName, number> = new Map()

  /** `store` is `memstore_…`. */
  constructor(pool: EnginePool, store: string) {
    this.#pool = pool
    this.#store = store
  }

  async read(name: OwnName): Promise<Uint8Array | undefined> {
    const [row] = (await this.#ask('readOwn', name)).rows
    this.#seen.set(name, revisionOf(row))
    const body = row?.['body']
    // A copy: the driver returns a view of the bytes that the socket received.
    return body instanceof Uint8Array ? new Uint8Array(body) : undefined
  }

  async hasChanged(name: OwnName): Promise<boolean> {
    const [row] = (await this.#ask('revisionOwn', name)).rows
    return revisionOf(row) !== this.#revision(name)
  }

  async write(name: OwnName, bytes: Uint8Array): Promise<boolean> {
    const seen = this.#revision(name)
    const done =
      seen === 0
        ? await this.#ask('makeOwn', name, bytes)
        : await this.#ask('writeOwn', name, bytes, seen)
    // The connection may have been lost after the write. No two sealed bodies are the same.
    const isOurs = done.count === 1 || (await this.#isOurs(name, bytes, seen + 1))
    if (isOurs) this.#seen.set(name, seen + 1)
    return isOurs
  }

  async remove(name: OwnName): Promise<void> {
    const [row] = (await this.#ask('removeOwn', name)).rows
    this.#seen.set(name, revisionOf(row))
  }

  async writtenAt(name: OwnName): Promise<number | undefined> {
    const [row] = (await this.#ask('revisionOwn', name)).rows
    return row && Number(row['at'])
  }

  async #isOurs(name: OwnName, bytes: Uint8Array, revision: number): Promise<boolean> {
    const [row] = (await this.#ask('isOwn', name, bytes)).rows
    return revisionOf(row) === revision
  }

  #revision(name: OwnName): number {
    return this.#seen.get(name) ?? 0
  }

  #ask(
    statement: keyof typeof statements,
    name: OwnName,
    ...values: readonly (Uint8Array | number)[]
  ): Promise<SqlResult> {
    return this.#pool.repeat(statements[statement], [this.#store, name, ...values])
  }
}

function revisionOf(row: SqlResult['rows'][number] | undefined): number {
  return Number(row?.['revision'] ?? 0)
}
