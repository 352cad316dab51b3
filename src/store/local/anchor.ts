// The anchor (FORMAT §9): what this device last verified, kept outside the store so that a store
// that was put back to an older state is noticed, and so that no sequence number is used twice.
//
// Writing it with every command would cost a second fdatasync. Instead a block of sequence numbers
// is reserved ahead: while the anchor is settled, nothing at or above `nextSequence` was ever used;
// while it has a holder, numbers below it may have been. Who finds another holder starts above its
// block, whether that still runs or not: gaps are allowed, and liveness can be mistaken. All writes
// happen under the store's writer lock.

import { fromHex, toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { type CacheOwner, type CachePlace, readCache, writeCache } from './sealed-cache.ts'

/** Numbers reserved at once: one anchor write per so many commands. */
const RESERVED_BLOCK = 1024

interface AnchorFile {
  readonly version: 1
  readonly height: number
  /** Record hash of the newest verified head, in hex. */
  readonly record: string
  /** Not in the files of older releases. */
  readonly commit?: Oid | undefined
  readonly nextSequence: number
  /** The token of whoever reserved up to `nextSequence`; empty when settled. */
  readonly holder: string
}

export interface VerifiedHead extends Pick<Head, 'height' | 'record'> {
  /** Its commit, under the name of then: a redaction may have given it another. */
  readonly commit?: Oid | undefined
}

export class Anchor {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  readonly #token: string
  #file: AnchorFile | undefined
  /** Tells one written file from the next. */
  #seen = ''
  /** The highest number that this handle was given. */
  #issued = 0

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'anchor', generation: 0 }
    this.#token = toHex(owner.random(16))
    this.#reload()
  }

  /** The newest head that this device has verified, if it ever verified one. */
  get verified(): VerifiedHead | undefined {
    if (this.#file === undefined) return undefined
    const { height, record, commit } = this.#file
    return { height, record: fromHex(record), commit }
  }

  /**
   * The sequence number for this device's next record, given the last one in `head`. It is safe to
   * use once this resolves.
   */
  async reserve(lastSequence: number, head: Head): Promise<number> {
    this.#reload()
    const file = this.#file
    const ours = file?.holder === this.#token
    const next = ours ? lastSequence + 1 : Math.max(lastSequence + 1, file?.nextSequence ?? 1)
    if (!ours || next >= file.nextSequence) {
      // `head` may be of a batch that is not on disk yet: it must not become the verified one.
      await this.#write(this.verified ?? head, next + RESERVED_BLOCK, this.#token)
    }
    this.#issued = next
    return next
  }

  /** Records a head that is verified and durable. Never goes back. */
  async advance(head: Head): Promise<void> {
    this.#reload()
    const before = this.verified
    if (before !== undefined && before.height >= head.height) return
    await this.#write(head, this.#file?.nextSequence ?? 1, this.#file?.holder ?? '')
  }

  /** Goes back, because the user said so, or what came after it was late (FORMAT §7.4). */
  async accept(head: VerifiedHead): Promise<void> {
    this.#reload()
    await this.#write(head, this.#file?.nextSequence ?? 1, this.#file?.holder ?? '')
  }

  /**
   * In the place of an anchor that was damaged: `lastSequence` is the device's last number that is
   * known, and what was reserved above it is not.
   */
  async renew(head: VerifiedHead, lastSequence: number): Promise<void> {
    await this.#write(head, lastSequence + 1 + RESERVED_BLOCK, '')
  }

  /** Gives back what is left of this handle's block. */
  async settle(): Promise<void> {
    this.#reload()
    const { verified } = this
    if (verified === undefined || this.#file?.holder !== this.#token) return
    await this.#write(verified, this.#issued + 1, '')
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
        'The anchor in the state directory is damaged or belongs to another identity',
        { cause: error },
      )
    }
  }

  async #write(head: VerifiedHead, nextSequence: number, holder: string): Promise<void> {
    const { height, record, commit } = head
    const known = { height, record: toHex(record), commit }
    const file: AnchorFile = { version: 1, ...known, nextSequence, holder }
    await writeCache(this.#owner, this.#place, file)
    this.#file = file
    this.#seen = this.#look()
  }
}
