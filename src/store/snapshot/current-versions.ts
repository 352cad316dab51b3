// The current version of every memory that ever existed, by memory id (cur of FORMAT §6.4). In an
// old store most of them are deletions, which are kept as compact records.

import { operations } from '../../format/record.ts'
import { IdIndex } from '../tables/id-index.ts'
import { Records } from '../tables/records.ts'
import type { CurrentVersion, LiveMemory } from './live-memory.ts'

// Fields of a version without content.
const VERSION_ID = 0
const CREATED = 16
/** The index in `operations` plus one; 0 if the memory has a live version now. */
const OPERATION = 24
const BYTES = 25

const ID_BYTES = 16

type LiveVersion = CurrentVersion & { readonly live: LiveMemory }

export class CurrentVersions implements Iterable<readonly [memoryId: string, CurrentVersion]> {
  readonly #live: Map<string, LiveVersion> = new Map()
  #ids: IdIndex = new IdIndex()
  #others: Records = new Records(BYTES)

  /** An independent copy. */
  copy(): CurrentVersions {
    const copy = new CurrentVersions()
    for (const [memoryId, version] of this.#live) copy.#live.set(memoryId, version)
    copy.#ids = this.#ids.prefix(this.#ids.size)
    copy.#others = this.#others.copy(this.#others.length)
    return copy
  }

  get(memoryId: string): CurrentVersion | undefined {
    const version = this.#live.get(memoryId)
    if (version !== undefined) return version
    const number = this.#ids.find(memoryId)
    return number === undefined ? undefined : this.#otherAt(number)
  }

  set(memoryId: string, version: CurrentVersion): void {
    if (isLive(version)) {
      this.#forgetOther(memoryId)
      this.#live.set(memoryId, version)
      return
    }
    this.#live.delete(memoryId)
    const number = this.#ids.add(memoryId)
    if (number === this.#others.length) this.#others.add()
    this.#others.setHex(number, VERSION_ID, version.versionId)
    this.#others.setF64(number, CREATED, version.created)
    this.#others.setU8(number, OPERATION, operations.indexOf(version.operation) + 1)
  }

  delete(memoryId: string): void {
    this.#live.delete(memoryId)
    this.#forgetOther(memoryId)
  }

  /** The live versions first. */
  *[Symbol.iterator](): Generator<readonly [memoryId: string, CurrentVersion]> {
    yield* this.#live
    for (let number = 0; number < this.#ids.size; number += 1) {
      const version = this.#otherAt(number)
      if (version !== undefined) yield [this.#ids.idAt(number), version]
    }
  }

  /** The versions of the live memories. */
  live(): Iterable<LiveVersion> {
    return this.#live.values()
  }

  #otherAt(number: number): CurrentVersion | undefined {
    const operation = operations[this.#others.u8(number, OPERATION) - 1]
    if (operation === undefined) return undefined
    const versionId = this.#others.hex(number, VERSION_ID, ID_BYTES)
    const created = this.#others.f64(number, CREATED)
    return { versionId, operation, created, live: undefined }
  }

  #forgetOther(memoryId: string): void {
    if (this.#ids.size === 0) return
    const number = this.#ids.find(memoryId)
    if (number !== undefined) this.#others.setU8(number, OPERATION, 0)
  }
}

function isLive(version: CurrentVersion): version is LiveVersion {
  return version.live !== undefined
}
