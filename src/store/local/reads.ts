// When each memory was last read on this device, for retention: in RAM while the store is open, and
// in a sealed cache file with the precision of a day. No other device knows of it, and it may be
// lost at any time, so every doubt makes a memory look read: a file that is missing begins anew,
// and a day counts to its end.

import type { Clock } from '../../clock.ts'
import { type CacheOwner, type CachePlace, findCache, writeCache } from './sealed-cache.ts'

const DAY = 24 * 60 * 60 * 1000

interface ReadsFile {
  readonly version: 1
  /** The day on which recording began; days are counted from 1970, in UTC. */
  readonly since: number
  /** The last day of each memory, by its id in hex digits. */
  readonly days: readonly (readonly [memoryId: string, day: number])[]
}

export class Reads {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  readonly #clock: Clock
  readonly #days: Map<string, number> = new Map()
  /** Undefined until the file was asked for. */
  #since: number | undefined
  #dirty = false

  /** `directory` is that of this device's caches. */
  constructor(owner: CacheOwner, directory: string, clock: Clock) {
    this.#owner = owner
    this.#place = { path: `${directory}/reads`, role: 'reads', generation: 0 }
    this.#clock = clock
  }

  /** Whether the file on disk is a day behind. */
  get dirty(): boolean {
    return this.#dirty
  }

  /** Somebody got to see the content of a memory. The id is hex digits. */
  note(memoryId: string): void {
    this.#load()
    const today = this.#today()
    if ((this.#days.get(memoryId) ?? -1) >= today) return
    this.#days.set(memoryId, today)
    this.#dirty = true
  }

  /**
   * The latest time, in ms, at which the memory may have been read; the beginning of the recording
   * if it was not read since.
   */
  lastRead(memoryId: string): number {
    const since = this.#load()
    return (Math.max(this.#days.get(memoryId) ?? since, since) + 1) * DAY
  }

  /** The file was erased. What is in RAM goes into the next one. */
  forgetFile(): void {
    this.#dirty = this.#since !== undefined
  }

  /**
   * Joins what this handle has seen with what other processes of the device have written. Memories
   * that are not live any more are left out. Call under the writer lock.
   */
  async save(isLive: (memoryId: string) => boolean): Promise<void> {
    const since = this.#join() ?? this.#load()
    const days = [...this.#days].filter(([memoryId]) => isLive(memoryId))
    const file: ReadsFile = { version: 1, since, days }
    await writeCache(this.#owner, this.#place, file)
    this.#dirty = false
  }

  /** The day on which recording began. */
  #load(): number {
    if (this.#since !== undefined) return this.#since
    const since = this.#join()
    if (since !== undefined) return since
    this.#dirty = true
    this.#since = this.#today()
    return this.#since
  }

  /** Takes over what the file says; nothing gets older by it, whatever our clock says. */
  #join(): number | undefined {
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
