// The shared log in memory, for several servers in one process: the port's contract, without
// durability. Bodies are copied, as by a database.

import { StoreError } from '../../src/errors.ts'
import type {
  BaseChange,
  LogBase,
  LogEntry,
  LogPosition,
  PartsRef,
  SharedLog,
} from '../../src/git/replica/shared-log.ts'

const claimMs = 2000

interface Row {
  readonly body: Uint8Array
  readonly parts: string | undefined
}

/** What the engine keeps of one store. */
export class VolatileLog {
  number = 0
  base: LogBase | undefined
  isDeleted = false
  readonly rows: Map<number, Row> = new Map()
  readonly parts: Map<string, Map<number, Uint8Array>> = new Map()
  holder: object | undefined
  until = 0
  /** Called before each operation of any server: may wait, or throw as a lost connection does. */
  before: (operation: keyof SharedLog) => Promise<void> = async () => undefined

  /** The log as one server has it. */
  server(): SharedLog {
    return new VolatileServer(this)
  }

  isNamed(id: string): boolean {
    return this.base?.id === id || [...this.rows.values()].some(({ parts }) => parts === id)
  }
}

class VolatileServer implements SharedLog {
  readonly #log: VolatileLog

  constructor(log: VolatileLog) {
    this.#log = log
  }

  async position(): Promise<LogPosition | undefined> {
    await this.#log.before('position')
    if (this.#log.isDeleted) return undefined
    return { number: this.#log.number, base: this.#log.base?.number ?? 0 }
  }

  async entries(after: number, bytesMax: number): Promise<readonly LogEntry[]> {
    await this.#log.before('entries')
    const found: LogEntry[] = []
    let bytes = 0
    for (const number of [...this.#log.rows.keys()].toSorted((a, b) => a - b)) {
      if (number <= after) continue
      if (bytes >= bytesMax) break
      const body = this.#log.rows.get(number)?.body.slice() ?? new Uint8Array()
      found.push({ number, body })
      bytes += body.length
    }
    return found
  }

  async append(number: number, body: Uint8Array, parts?: PartsRef): Promise<boolean> {
    await this.#log.before('append')
    const log = this.#log
    const isTaken = log.holder !== undefined && log.holder !== this && Date.now() < log.until
    const sent = parts === undefined ? 0 : (log.parts.get(parts.id)?.size ?? 0)
    if (log.isDeleted || isTaken || number !== log.number + 1) return false
    if (sent !== (parts?.count ?? 0)) return false
    log.number = number
    log.rows.set(number, { body: body.slice(), parts: parts?.id })
    if (log.holder === this) log.holder = undefined
    return true
  }

  async claim(): Promise<boolean> {
    await this.#log.before('claim')
    const log = this.#log
    if (log.holder !== undefined && log.holder !== this && Date.now() < log.until) return false
    log.holder = this
    log.until = Date.now() + claimMs
    return true
  }

  async release(): Promise<void> {
    await this.#log.before('release')
    if (this.#log.holder === this) this.#log.holder = undefined
  }

  async putPart(id: string, part: number, body: Uint8Array): Promise<void> {
    await this.#log.before('putPart')
    const parts = this.#log.parts.get(id) ?? new Map<number, Uint8Array>()
    parts.set(part, body.slice())
    this.#log.parts.set(id, parts)
  }

  async *parts(id: string): AsyncGenerator<Uint8Array> {
    for (let part = 0; ; part += 1) {
      await this.#log.before('parts')
      const body = this.#log.parts.get(id)?.get(part)
      if (body === undefined) return
      yield body.slice()
    }
  }

  async removeParts(id: string): Promise<void> {
    await this.#log.before('removeParts')
    if (!this.#log.isNamed(id)) this.#log.parts.delete(id)
  }

  async base(): Promise<LogBase | undefined> {
    await this.#log.before('base')
    return this.#log.base
  }

  async setBase({ expected, base, removeTo, erases, leapsFrom }: BaseChange): Promise<boolean> {
    await this.#log.before('setBase')
    const log = this.#log
    if (log.isDeleted || (log.base?.number ?? 0) !== expected) return false
    if (!log.parts.has(base.id)) throw new StoreError('storage_failed', 'The base has no parts')
    if (leapsFrom !== undefined && log.number !== leapsFrom) return false
    log.number = Math.max(log.number, base.number)
    const freed = new Set([log.base?.id])
    log.base = base
    for (const [number, { parts }] of log.rows) {
      if (number > removeTo) continue
      log.rows.delete(number)
      freed.add(parts)
    }
    for (const id of log.parts.keys()) {
      if (!log.isNamed(id) && (erases || freed.has(id))) log.parts.delete(id)
    }
    return true
  }
}
