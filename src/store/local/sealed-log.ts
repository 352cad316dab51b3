// The shared log with every body sealed under the identity's local secret (FORMAT §14.1), so that
// the engine learns sizes and times alone. An entry is bound to its number, a part to its id and
// number: one that was changed, moved or taken from another store does not open. The cleartext has
// its length in front, since a sealed one is padded.
//
//   entry = u32 length ‖ bytes
//   part  = id 16 ‖ u32 length ‖ bytes

import { concatBytes, equalBytes, fromHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type {
  BaseChange,
  LogBase,
  LogEntry,
  LogPosition,
  PartsRef,
  SharedLog,
} from '../../git/replica/shared-log.ts'
import {
  type CacheRole,
  lengthAt,
  lengthOf,
  openCache,
  sealCache,
  type SealOwner,
} from './sealed-cache.ts'

const ID_BYTES = 16
const LENGTH_BYTES = 4

export class SealedLog implements SharedLog {
  readonly #log: SharedLog
  readonly #owner: SealOwner

  /** `log` has the sealed bodies. */
  constructor(log: SharedLog, owner: SealOwner) {
    this.#log = log
    this.#owner = owner
  }

  get maxStaleMs(): number | undefined {
    return this.#log.maxStaleMs
  }

  position(): Promise<LogPosition | undefined> {
    return this.#log.position()
  }

  async entries(after: number, bytesMax: number): Promise<readonly LogEntry[]> {
    const entries = await this.#log.entries(after, bytesMax)
    return entries.map(({ number, body }) => {
      return { number, body: withoutPadding(this.#open('entry', number, body)) }
    })
  }

  append(
    number: number,
    body: Uint8Array,
    parts?: PartsRef,
    hasRemotes?: boolean,
  ): Promise<boolean> {
    const sealed = this.#seal('entry', number, concatBytes(lengthOf(body), body))
    return this.#log.append(number, sealed, parts, hasRemotes)
  }

  claim(): Promise<boolean> {
    return this.#log.claim()
  }

  release(): Promise<void> {
    return this.#log.release()
  }

  putPart(id: string, part: number, body: Uint8Array): Promise<void> {
    const plain = concatBytes(fromHex(id), lengthOf(body), body)
    return this.#log.putPart(id, part, this.#seal('part', part, plain))
  }

  async *parts(id: string): AsyncGenerator<Uint8Array> {
    const expected = fromHex(id)
    let part = 0
    for await (const body of this.#log.parts(id)) {
      const plain = this.#open('part', part, body)
      if (!equalBytes(plain.subarray(0, ID_BYTES), expected)) throw foreign()
      yield withoutPadding(plain.subarray(ID_BYTES))
      part += 1
    }
  }

  removeParts(id: string): Promise<void> {
    return this.#log.removeParts(id)
  }

  base(): Promise<LogBase | undefined> {
    return this.#log.base()
  }

  noteLater(): void {
    this.#log.noteLater?.()
  }

  setBase(change: BaseChange): Promise<boolean> {
    return this.#log.setBase(change)
  }

  #seal(role: CacheRole, generation: number, plain: Uint8Array): Uint8Array {
    return sealCache(this.#owner, { role, generation }, plain)
  }

  /** Throws an envelope code. */
  #open(role: CacheRole, generation: number, body: Uint8Array): Uint8Array {
    return openCache(this.#owner, { role, generation }, body)
  }
}

function withoutPadding(plain: Uint8Array): Uint8Array {
  const length = lengthAt(plain, 0)
  if (LENGTH_BYTES + length > plain.length) throw foreign()
  return plain.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
}

function foreign(): StoreError {
  return new StoreError('envelope_truncated', 'A row of the engine is not the one it stands for')
}
