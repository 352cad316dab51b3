// Who waits for the device when a batch is written: this thread, or one of the pool. The way to
// the pool and back takes as long as a fast fdatasync; but a slow one must not hold up all else
// that the process does. Must not decide what is durable.

import type { Disk } from '../../disk/disk.ts'
import { KIBIBYTE } from '../../limits.ts'

/** Of a sync that takes longer, the way to the pool and back is a small part. */
const fastMs = 1
/** Fast syncs in a row before this thread waits: one slow sync sends as many to the pool. */
const fastInRow = 4
/** More takes longer than the syncs before let expect. */
const bytesMax = 256 * KIBIBYTE

export class SyncPace {
  readonly #disk: Disk
  readonly #isBusy: () => boolean
  #inRow = 0

  /** `isBusy`: whether this process writes large files now, which would delay a sync. */
  constructor(disk: Disk, isBusy: () => boolean) {
    this.#disk = disk
    this.#isBusy = isBusy
  }

  /** fdatasync of a file to which `bytes` were written. */
  async sync(fd: number, bytes: number): Promise<void> {
    const isHere = this.#inRow >= fastInRow && bytes <= bytesMax && !this.#isBusy()
    const start = performance.now()
    await this.#disk.sync(fd, isHere)
    this.#inRow = performance.now() - start < fastMs ? this.#inRow + 1 : 0
  }
}
