// The current version of every memory that ever existed, by memory id (cur of FORMAT §6.4). In an
// old store most of them are deletions, which are kept as compact records.

import { operations } from '../../format/record.ts'
import { IdIndex } from '../tables/id-index.ts'
import { code, f64, hex, Table } from '../tables/table.ts'
import type { CurrentVersion, LiveMemory } from './live-memory.ts'

/** A version without content; it has no operation if its memory has a live version now. */
const otherFields = { versionId: hex(16), created: f64, operation: code(operations) }

type LiveVersion = CurrentVersion & { readonly live: LiveMemory }

export class CurrentVersions implements Iterable<readonly [memoryId: string, CurrentVersion]> {
  readonly #live: Map<string, LiveVersion> = new Map()
  #ids: IdIndex = new IdIndex()
  #others = new Table(otherFields)

  /** An independent copy. */
  copy(): CurrentVersions {
    const copy = new CurrentVersions()
    for (const [memoryId, version] of this.#live) copy.#live.set(memoryId, version)
    copy.#ids = this.#ids.prefix(this.#ids.size)
    copy.#others = this.#others.copy()
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
    const { columns } = this.#others
    columns.versionId.set(number, version.versionId)
    columns.created.set(number, version.created)
    columns.operation.set(number, version.operation)
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
    const { columns } = this.#others
    const operation = columns.operation.get(number)
    if (operation === undefined) return undefined
    const versionId = columns.versionId.get(number)
    return { versionId, operation, created: columns.created.get(number), live: undefined }
  }

  #forgetOther(memoryId: string): void {
    if (this.#ids.size === 0) return
    const number = this.#ids.find(memoryId)
    if (number !== undefined) this.#others.columns.operation.set(number, undefined)
  }
}

function isLive(version: CurrentVersion): version is LiveVersion {
  return version.live !== undefined
}
