// The anchor (FORMAT §9): what this device last verified, kept outside the store so that a store
// that was put back to an older state is noticed, and so that no sequence number is used twice. All
// writes happen under the store's writer lock.

import { fromHex, toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { type CacheOwner, type CachePlace, readCache, writeCache } from './sealed-cache.ts'

/** Sequence numbers per block: one anchor write for this many commands. */
const RESERVED_BLOCK = 1024

interface AnchorFile {
  readonly version: 1
  readonly height: number
  /** Record hash of the newest verified head, in hex. */
  readonly record: string
  /** Undefined in files of older releases. */
  readonly commit?: Oid | undefined
  readonly nextSequence: number
  /** The token of the handle that reserved up to `nextSequence`; empty when settled. */
  readonly holder: string
}

export interface VerifiedHead extends Pick<Head, 'height' | 'record'> {
  /** The commit's id at that time: a redaction may have changed it. */
  readonly commit?: Oid | undefined
}

/**
 * Writing the anchor with every command would cost a second fdatasync. Instead a block of sequence
 * numbers is reserved ahead: while the anchor is settled, no number at or above `nextSequence` was
 * used; while it has a holder, numbers below it may have been. A process that finds another holder
 * starts above its block, whether that process still runs or not: gaps are allowed, and liveness
 * cannot be known for sure.
 */
export class Anchor {
  readonly #owner: CacheOwner
  readonly #place: CachePlace
  readonly #token: string
  #file: AnchorFile | undefined
  /** Identifies the version of the file that was read last. */
  #seen = ''
  /** The highest number that this handle was given. */
  #issued = 0

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'anchor', generation: 0 }
    this.#token = toHex(owner.random(16))
    this.#reload()
  }

  /** When this device last noted a head or reserved numbers, by its disk; ms since 1970. */
  get notedAt(): number | undefined {
    return this.#owner.disk.stat(this.#place.path)?.mtimeMs
  }

  /** The newest head that this device has verified, if any. */
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
    const isOwnBlock = file?.holder === this.#token
    const next = isOwnBlock ? lastSequence + 1 : Math.max(lastSequence + 1, file?.nextSequence ?? 1)
    if (!isOwnBlock || next >= file.nextSequence) {
      // The batch of `head` may not be on disk yet: it must not become the verified head.
      await this.#write(this.verified ?? head, next + RESERVED_BLOCK, this.#token)
    }
    this.#issued = next
    return next
  }

  /** Records a head that is verified and durable. Never moves back. */
  async advance(head: Head): Promise<void> {
    this.#reload()
    const before = this.verified
    if (before !== undefined && before.height >= head.height) return
    await this.#write(head, this.#file?.nextSequence ?? 1, this.#file?.holder ?? '')
  }

  /** Moves back to a head: the user accepted it, or later records were late (FORMAT §7.4). */
  async accept(head: VerifiedHead): Promise<void> {
    this.#reload()
    await this.#write(head, this.#file?.nextSequence ?? 1, this.#file?.holder ?? '')
  }

  /**
   * Replaces a damaged anchor. `lastSequence` is the device's last known number; one whole block
   * above it may have been used.
   */
  async renew(head: VerifiedHead, lastSequence: number): Promise<void> {
    await this.#write(head, lastSequence + 1 + RESERVED_BLOCK, '')
  }

  /** Gives back the unused rest of this handle's block. */
  async settle(): Promise<void> {
    this.#reload()
    const { verified } = this
    if (verified === undefined || this.#file?.holder !== this.#token) return
    await this.#write(verified, this.#issued + 1, '')
  }

  #reload(): void {
    const identity = this.#fileIdentity()
    if (identity === '' || identity === this.#seen) return
    this.#file = this.#read()
    this.#seen = identity
  }

  #fileIdentity(): string {
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
        'The file that reveals a rollback is damaged, or belongs to another identity',
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
    this.#seen = this.#fileIdentity()
  }
}
