// Records when each memory was last read on this device, for retention: in RAM while the store is
// open, and in a sealed cache file with the precision of a day. Never synced, and may be lost at
// any time. Every doubt is treated as a read: recording restarts without a file, and a day counts
// to its end.

import type { Clock } from '../../clock.ts'
import { type CacheOwner, type CachePlace, findCache, writeCache } from './sealed-cache.ts'

const DAY = 24 * 60 * 60 * 1000

interface ReadsFile {
  readonly version: 1
  /** The day on which recording began; days are counted from 1970, in UTC. */
  readonly since: number
  /** The day of the last read of each memory, by memory id in hex. */
  readonly days: readonly (readonly [memoryId: string, day: number])[]
}

export class Reads {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  readonly #clock: Clock
  readonly #days: Map<string, number> = new Map()
  /** Undefined until the file was read. */
  #since: number | undefined
  #dirty = false

  /** `directory` is this device's folder of caches. */
  constructor(owner: CacheOwner, directory: string, clock: Clock) {
    this.#owner = owner
    this.#place = { path: `${directory}/reads`, role: 'reads', generation: 0 }
    this.#clock = clock
  }

  /** Whether the file on disk is out of date. */
  get dirty(): boolean {
    return this.#dirty
  }

  /** Notes that the content of a memory was read. The id is in hex. */
  note(memoryId: string): void {
    this.#load()
    const today = this.#today()
    if ((this.#days.get(memoryId) ?? -1) >= today) return
    this.#days.set(memoryId, today)
    this.#dirty = true
  }

  /**
   * The latest time, in ms, at which the memory may have been read: the start of recording if no
   * read is recorded.
   */
  lastRead(memoryId: string): number {
    const since = this.#load()
    return (Math.max(this.#days.get(memoryId) ?? since, since) + 1) * DAY
  }

  /** Notes that the file was erased: the next one is written from RAM. */
  forgetFile(): void {
    this.#dirty = this.#since !== undefined
  }

  /**
   * Merges the reads in RAM with those that other processes of the device have written, and saves
   * them without memories that are no longer live. Call under the writer lock.
   */
  async save(isLive: (memoryId: string) => boolean): Promise<void> {
    const since = this.#mergeFile() ?? this.#load()
    const days = [...this.#days].filter(([memoryId]) => isLive(memoryId))
    const file: ReadsFile = { version: 1, since, days }
    await writeCache(this.#owner, this.#place, file)
    this.#dirty = false
  }

  /** The day on which recording began. */
  #load(): number {
    if (this.#since !== undefined) return this.#since
    const since = this.#mergeFile()
    if (since !== undefined) return since
    this.#dirty = true
    this.#since = this.#today()
    return this.#since
  }

  /** Merges the file into RAM, keeping the later day of each memory. */
  #mergeFile(): number | undefined {
    const file = findCache<ReadsFile>(this.#owner, this.#place, 1)
    if (file === undefined) return undefined
    for (const [memoryId, day] of file.days) {
      this.#days.set(memoryId, Math.max(this.#days.get(memoryId) ?? 0, day))
    }
    this.#since = file.since
    return this.#since
  }

  #today(): number {
    return Math.floor(this.#clock() / DAY)
  }
}
