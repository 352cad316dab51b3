// Records when each memory was last read on this device, for retention: in RAM while the store is
// open, and in a sealed cache file with the precision of a day. Never synced, and may be lost at
// any time. Every doubt is treated as a read: recording restarts without a file, and a day counts
// to its end.

import { Gate } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import { assert } from '../../errors.ts'
import { findOwn, type OwnFiles, writeOwn } from './own-files.ts'
import type { SealOwner } from './sealed-cache.ts'

const DAY = 24 * 60 * 60 * 1000

interface ReadsFile {
  readonly version: 1
  /** The day on which recording began; days are counted from 1970, in UTC. */
  readonly since: number
  /** The day of the last read of each memory, by memory id in hex. */
  readonly days: readonly (readonly [memoryId: string, day: number])[]
}

export class Reads {
  readonly #owner: SealOwner
  readonly #files: OwnFiles
  readonly #clock: Clock
  readonly #days: Map<string, number> = new Map()
  /** The day on which recording began, at the latest: that of the first note or question. */
  #since: number | undefined
  #isLoaded = false
  readonly #gate = new Gate()
  #dirty = false

  constructor(owner: SealOwner, files: OwnFiles, clock: Clock) {
    this.#owner = owner
    this.#files = files
    this.#clock = clock
  }

  /** Notes that the content of a memory was read. The id is in hex. */
  note(memoryId: string): void {
    this.#since ??= this.#today()
    const today = this.#today()
    if ((this.#days.get(memoryId) ?? -1) >= today) return
    this.#days.set(memoryId, today)
    this.#dirty = true
  }

  /** Takes in what the file has and this handle has not seen. Call before `lastRead`. */
  load(): Promise<void> {
    return this.#gate.run(async () => {
      if (!this.#isLoaded || (await this.#files.hasChanged('reads'))) await this.#merge()
    })
  }

  /** Whether the file is out of date. */
  async hasNews(): Promise<boolean> {
    // The first note of a handle may only repeat what the file has.
    if (this.#dirty) await this.load()
    return this.#dirty
  }

  /**
   * The latest time, in ms, at which the memory may have been read: the start of recording if no
   * read is recorded.
   */
  lastRead(memoryId: string): number {
    assert(this.#isLoaded && this.#since !== undefined, 'the days of reads are loaded')
    return (Math.max(this.#days.get(memoryId) ?? this.#since, this.#since) + 1) * DAY
  }

  /** Notes that the file was erased: the next one is written from RAM. */
  forgetFile(): void {
    this.#dirty = this.#since !== undefined
  }

  /**
   * Merges the reads in RAM with those that other processes and servers of the device have written,
   * and saves them without memories that are no longer live. Call under the writer lock.
   */
  save(isLive: (memoryId: string) => boolean): Promise<void> {
    return this.#gate.run(async () => {
      for (;;) {
        const since = await this.#merge()
        const days = [...this.#days].filter(([memoryId]) => isLive(memoryId))
        // A read that is noted while the file is written is not in it.
        this.#dirty = false
        if (await this.#write({ version: 1, since, days })) return
      }
    })
  }

  async #write(file: ReadsFile): Promise<boolean> {
    try {
      return await writeOwn(this.#owner, this.#files, 'reads', file)
    } catch (error) {
      this.#dirty = true
      throw error
    }
  }

  /** Merges the file into RAM, keeping the later day of each memory, and the file's start. */
  async #merge(): Promise<number> {
    const file = await findOwn<ReadsFile>(this.#owner, this.#files, 'reads', 1)
    const noted = new Map(this.#days)
    for (const [memoryId, day] of file?.days ?? []) {
      if ((noted.get(memoryId) ?? -1) <= day) noted.delete(memoryId)
      this.#days.set(memoryId, Math.max(this.#days.get(memoryId) ?? 0, day))
    }
    this.#dirty = file === undefined || noted.size > 0
    this.#isLoaded = true
    this.#since = file?.since ?? this.#since ?? this.#today()
    return this.#since
  }

  #today(): number {
    return Math.floor(this.#clock() / DAY)
  }
}
