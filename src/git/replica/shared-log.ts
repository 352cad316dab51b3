// The port to an engine that several servers share, such as a database: for each store a log of
// entries with increasing numbers, each taken by one server only, a base from which a new server
// starts, and parts for large values. Knows no git and no SQL. Bodies are sealed before they come
// to an implementation (store/local/sealed-log.ts).

export interface LogPosition {
  /** The number of the newest entry; 0 without any. */
  readonly number: number
  /** The number of the last entry that the base holds; 0 without a base. */
  readonly base: number
}

export interface LogEntry {
  readonly number: number
  readonly body: Uint8Array
}

/** Where something large lies: its parts have the numbers from 0 on. */
export interface PartsRef {
  /** 32 random hex digits. */
  readonly id: string
  readonly count: number
}

export interface LogBase {
  readonly number: number
  readonly id: string
}

export interface BaseChange {
  /** The number of the base that it replaces, 0 for none. */
  readonly expected: number
  readonly base: LogBase
  /** Entries up to this number are removed, with their parts. */
  readonly removeTo: number
  /** Removes all parts that nothing names, those of unfinished work of other servers included. */
  readonly erases: boolean
  /**
   * The log is at this number, and continues above the base, which can be higher; else nothing is
   * changed.
   */
  readonly leapsFrom?: number
  /** Whether the store has remotes then: given with a leap, as by the entries that it replaces. */
  readonly hasRemotes?: boolean
}

/** Far above what a restored engine may have lost: no server holds entries of these numbers. */
export const leap: number = 2 ** 20

/**
 * The log of one store. All calls repeat by themselves what a lost connection has left open, and
 * throw `storage_failed` if the engine does not answer for a minute.
 */
export interface SharedLog {
  /** How old the answers of reads may be; undefined: those of any server are seen at once. */
  readonly maxStaleMs?: number | undefined
  /**
   * The newest position of any server, asked after the call. Undefined if the store is deleted.
   */
  position(): Promise<LogPosition | undefined>
  /** Entries above `after`, oldest first: about `bytesMax` of bodies, and at least one. */
  entries(after: number, bytesMax: number): Promise<readonly LogEntry[]>
  /**
   * Makes `body` the entry `number`, the next one after the newest. Resolves to true when that is
   * durable as the engine defines it, and to false if another server was faster, has claimed the
   * log, or if a part is missing. Throws `storage_failed` if the outcome remains unknown. An entry
   * that changes remotes tells whether the store has any from then on: bodies are sealed.
   */
  append(number: number, body: Uint8Array, parts?: PartsRef, hasRemotes?: boolean): Promise<boolean>
  /**
   * Refuses the appends of other servers for two seconds, or until the next append of this one or
   * `release`. False if another server has a claim. The holder extends its claim by a further call.
   */
  claim(): Promise<boolean>
  release(): Promise<void>
  /** Idempotent. */
  putPart(id: string, part: number, body: Uint8Array): Promise<void>
  /** The parts of an id in their order, as far as there are any. */
  parts(id: string): AsyncIterable<Uint8Array>
  /** Not those that an entry or the base names. */
  removeParts(id: string): Promise<void>
  base(): Promise<LogBase | undefined>
  /** Told that an entry or the base was written in the format of a later release. */
  noteLater?(): void
  /** In one transaction. False, with nothing changed, if the base is not the expected one. */
  setBase(change: BaseChange): Promise<boolean>
}
