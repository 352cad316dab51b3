// The anchor (FORMAT §9): what this device last verified, kept outside the store so that a store
// that was put back to an older state is noticed, and so that no sequence number is used twice.
//
// Writing it with every command would cost a second fdatasync. Instead a block of sequence numbers
// is reserved ahead: `nextSequence` was never used while the anchor is settled; while it is not,
// numbers below it may have been. Who finds it unsettled with its owner gone starts above the block.

import { hasCode, StoreError } from '../errors.ts'
import { fromHex, toHex } from '../bytes.ts'
import type { ProcessOwner } from '../git/process-owner.ts'
import { readCache, writeCache } from './sealed-cache.ts'
import type { CacheOwner, CachePlace } from './sealed-cache.ts'
import type { Head } from './snapshot.ts'

/** Numbers reserved at once: one anchor write per so many commands. */
const RESERVED_BLOCK = 1024

interface AnchorFile {
  readonly version: 1
  readonly height: number
  /** Record hash of the newest verified head, in hex. */
  readonly record: string
  readonly nextSequence: number
  /** Who reserved up to `nextSequence` and may still be writing; null when settled. */
  readonly owner: ProcessOwner | null
}

type VerifiedHead = Pick<Head, 'height' | 'record'>

export class Anchor {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  #file: AnchorFile | undefined
  /** Tells one written file from the next. */
  #seen = ''

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'anchor', generation: 0 }
    this.#reload()
  }

  /** The newest head that this device has verified, if it ever verified one. */
  get verified(): VerifiedHead | undefined {
    if (this.#file === undefined) return undefined
    return { height: this.#file.height, record: fromHex(this.#file.record) }
  }

  /**
   * The sequence number for this device's next record, given the last one in `head`. Call under the
   * writer lock; the number is safe to use once this resolves.
   */
  async reserve(lastSequence: number, head: Head): Promise<number> {
    this.#reload()
    const file = this.#file
    let next = lastSequence + 1
    if (file !== undefined) {
      if (file.owner === null || !this.#isLive(file.owner)) next = Math.max(next, file.nextSequence)
    }
    if (file === undefined || file.owner === null || next >= file.nextSequence) {
      // `head` may be of a batch that is not on disk yet: it must not become the newest verified one.
      await this.#write(this.verified ?? head, next + RESERVED_BLOCK, this.#owner.disk.owner())
    }
    return next
  }

  /** Records a verified head; with `settledAt` also that this number is the next unused one. */
  async advance(head: Head, settledAt?: number): Promise<void> {
    this.#reload()
    const next = settledAt ?? this.#file?.nextSequence ?? 1
    const owner = settledAt === undefined ? (this.#file?.owner ?? null) : null
    await this.#write(head, next, owner)
  }

  /** Asking the system is slow beside a command, so not about ourselves. */
  #isLive(owner: ProcessOwner): boolean {
    const { disk } = this.#owner
    const self = disk.owner()
    return (owner.pid === self.pid && owner.startTime === self.startTime) || disk.isAlive(owner)
  }

  #reload(): void {
    const seen = this.#look()
    if (seen === '' || seen === this.#seen) return
    this.#file = this.#read()
    this.#seen = seen
  }

  #look(): string {
    const status = this.#owner.disk.stat(this.#place.path)
    return status === undefined ? '' : `${status.inode} ${status.mtimeMs} ${status.size}`
  }

  #read(): AnchorFile | undefined {
    try {
      return readCache<AnchorFile>(this.#owner, this.#place, 1)
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      throw new StoreError(
        'anchor_corrupt',
        'The anchor in the state directory is damaged or belongs to another identity; move it ' +
          'away only if you are sure that the store was not put back to an older state',
        { cause: error },
      )
    }
  }

  async #write(
    head: VerifiedHead,
    nextSequence: number,
    owner: ProcessOwner | null,
  ): Promise<void> {
    const { height, record } = head
    const file: AnchorFile = { version: 1, height, record: toHex(record), nextSequence, owner }
    await writeCache(this.#owner, this.#place, file)
    this.#file = file
    this.#seen = this.#look()
  }
}
