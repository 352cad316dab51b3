// The anchor (FORMAT §9): what this device last verified, kept outside the store so that a store
// that was put back to an older state is noticed, and so that no sequence number is used twice. All
// writes happen under the store's writer lock; servers that share a store compare as well.

import { fromHex, toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Head } from '../snapshot/snapshot.ts'
import { type OwnFiles, readOwn, writeOwn } from './own-files.ts'
import { hasNoValue, type SealOwner } from './sealed-cache.ts'

/** Sequence numbers per block: one anchor write for this many commands. */
const RESERVED_BLOCK = 1024
/** What a restored engine may have lost: remotes can have records with these numbers. */
const RESTORED_GAP = 2 ** 20

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
  /** The head of a clone that begins anew, until it is noted as the newest verified one. */
  readonly anew?: { readonly height: number; readonly record: string } | undefined
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
 *
 * Servers that share a store write to one log, in which each record follows the last one: a number
 * that is not in the log was given to no record that anyone can read. They reserve nothing.
 */
export class Anchor {
  readonly #owner: SealOwner
  readonly #files: OwnFiles
  readonly #token: string
  #file: AnchorFile | undefined
  /** The highest number that this handle was given. */
  #issued = 0

  /** Throws `anchor_corrupt` or `upgrade_required`. */
  static async open(owner: SealOwner, files: OwnFiles): Promise<Anchor> {
    const anchor = new Anchor(owner, files)
    await anchor.#read()
    return anchor
  }

  private constructor(owner: SealOwner, files: OwnFiles) {
    this.#owner = owner
    this.#files = files
    this.#token = toHex(owner.random(16))
  }

  /** When this device last noted a head or reserved numbers, by its disk; ms since 1970. */
  notedAt(): Promise<number | undefined> {
    return this.#files.writtenAt('anchor')
  }

  /** The newest head that this device had verified, if any, when it was last read or written. */
  get verified(): VerifiedHead | undefined {
    return verifiedBy(this.#file)
  }

  /**
   * A head that may take the place of the verified one, though it does not contain it: this clone
   * begins anew there, or its process died while it did.
   */
  get anew(): Pick<VerifiedHead, 'height' | 'record'> | undefined {
    const anew = this.#file?.anew
    return anew && { height: anew.height, record: fromHex(anew.record) }
  }

  /** Reads what another handle has written since. */
  refresh(): Promise<void> {
    return this.#reload()
  }

  /** Notes such a head before the branch moves there; `accept` ends it. Under the writer lock. */
  noteAnew({ height, record }: Head): Promise<void> {
    return this.#change(
      (before) => before && { ...before, anew: { height, record: toHex(record) } },
    )
  }

  /**
   * The sequence number for this device's next record, given the last one in `head`. It is safe to
   * use once this resolves.
   */
  async reserve(lastSequence: number, head: Head): Promise<number> {
    if (this.#files.isShared) return Math.max(lastSequence + 1, this.#file?.nextSequence ?? 1)
    await this.#reload()
    const file = this.#file
    const isOwnBlock = file?.holder === this.#token
    const next = isOwnBlock ? lastSequence + 1 : Math.max(lastSequence + 1, file?.nextSequence ?? 1)
    if (!isOwnBlock || next >= file.nextSequence) {
      // The batch of `head` may not be on disk yet: it must not become the verified head.
      const known = this.verified ?? head
      await this.#write(fileOf(known, next + RESERVED_BLOCK, this.#token))
    }
    this.#issued = next
    return next
  }

  /** Records a head that is verified and durable. Never moves back. */
  advance(head: Head): Promise<void> {
    return this.#change((before) => {
      if (before !== undefined && before.height >= head.height) return undefined
      return fileOf(head, before?.nextSequence ?? 1, before?.holder ?? '')
    })
  }

  /** Moves back to a head: the user accepted it, or later records were late (FORMAT §7.4). */
  accept(head: VerifiedHead): Promise<void> {
    return this.#change((before) => {
      return fileOf(head, before?.nextSequence ?? 1, before?.holder ?? '')
    })
  }

  /**
   * `accept` for a store that was restored, where `lastSequence` is the device's last number. Lost
   * records may be on remotes, so none of their numbers may be given again.
   */
  acceptRestored(head: VerifiedHead, lastSequence: number): Promise<void> {
    // Otherwise the anchor was not restored, and has them reserved.
    if (!this.#files.isShared) return this.accept(head)
    return this.#change((before) => {
      const next = Math.max(lastSequence + 1, before?.nextSequence ?? 1) + RESTORED_GAP
      return fileOf(head, next, '')
    })
  }

  /**
   * Replaces a damaged anchor. `lastSequence` is the device's last known number; one whole block
   * above it may have been used.
   */
  async renew(head: VerifiedHead, lastSequence: number): Promise<void> {
    await this.#write(fileOf(head, lastSequence + 1 + RESERVED_BLOCK, ''))
  }

  /** Gives back the unused rest of this handle's block. */
  async settle(): Promise<void> {
    if (this.#files.isShared) return
    await this.#reload()
    const { verified } = this
    if (verified === undefined || this.#file?.holder !== this.#token) return
    await this.#write(fileOf(verified, this.#issued + 1, ''))
  }

  /** Makes a file of the newest one, again if another server was faster; undefined changes none. */
  async #change(next: (before: AnchorFile | undefined) => AnchorFile | undefined): Promise<void> {
    for (;;) {
      await this.#reload()
      const file = next(this.#file)
      if (file === undefined || (await this.#write(file))) return
    }
  }

  async #reload(): Promise<void> {
    if (await this.#files.hasChanged('anchor')) await this.#read()
  }

  /** A file that has disappeared takes back no verified head. */
  async #read(): Promise<void> {
    try {
      const file = await readOwn<AnchorFile>(this.#owner, this.#files, 'anchor', 1)
      this.#file = file ?? this.#file
    } catch (error) {
      // An engine that does not answer is no damage.
      const isUnanswered = this.#files.isShared && !hasNoValue(error)
      if (isUnanswered || hasCode(error, 'upgrade_required')) throw error
      throw new StoreError(
        'anchor_corrupt',
        'The file that reveals a rollback is damaged, or belongs to another identity',
        { cause: error },
      )
    }
  }

  async #write(file: AnchorFile): Promise<boolean> {
    const isWritten = await writeOwn(this.#owner, this.#files, 'anchor', file)
    if (isWritten) this.#file = file
    return isWritten
  }
}

function fileOf(head: VerifiedHead, nextSequence: number, holder: string): AnchorFile {
  const { height, record, commit } = head
  return { version: 1, height, record: toHex(record), commit, nextSequence, holder }
}

function verifiedBy(file: AnchorFile | undefined): VerifiedHead | undefined {
  if (file === undefined) return undefined
  const { height, record, commit } = file
  return { height, record: fromHex(record), commit }
}
