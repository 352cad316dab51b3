// The pack exchange of a store on a disk. Packs are received without a lock, since a remote may be
// slow, and become visible under the writer lock; refs move under it too. Must not know what the
// journal holds: it asks for objects, and for a checkpoint before it sends many.

import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import type {
  OutgoingPack,
  PackExchange,
  ReceivedPack,
  ReceiveOptions,
  Remote,
} from '../exchange.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import { IncomingPack, purgedMeanwhile, receiveLimits, refusal } from '../pack/incoming-pack.ts'
import { corruptPack } from '../pack/pack-entry.ts'
import {
  discardTemporaryPack,
  publishPacks,
  type TemporaryPack,
  temporaryPath,
} from '../pack/pack-file.ts'
import type { Packer } from '../pack/packer.ts'
import { PagedIndex } from '../pack/paged-index.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { refusedName } from '../refs/ref-list.ts'
import { addRemote, getRemote, readRemotes, removeRemote } from '../refs/remotes.ts'
import { makeOwnDirectory } from '../refs/repository.ts'
import { readTrackingRef, writeTrackingRef } from '../refs/tracking-ref.ts'
import { makeOutgoingPack } from './outgoing-pack.ts'

export interface DiskExchangeParts {
  readonly files: GitFileLockContext
  /** `objects/pack`. */
  readonly directory: string
  readonly packer: Packer
  readonly find: (oid: Oid) => GitObject | undefined
  readonly has: (oid: Oid) => boolean
  readonly packs: () => readonly { readonly name: string }[]
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>
  readonly checkpoint: () => Promise<void>
  /** Looks for new packs. */
  readonly rescan: () => void
}

export class DiskExchange implements PackExchange {
  readonly #parts: DiskExchangeParts

  constructor(parts: DiskExchangeParts) {
    this.#parts = parts
  }

  async receive(
    chunks: AsyncIterable<Uint8Array>,
    options: ReceiveOptions = {},
  ): Promise<ReceivedPack> {
    const { directory, files } = this.#parts
    const { signal } = options
    const limits = { ...receiveLimits, ...options.limits }
    await makeOwnDirectory(files)
    await files.identity.write()
    const pack = new IncomingPack(this.#disk, directory, files.identity, limits)
    try {
      for await (const chunk of chunks) {
        refuseIfAborted(signal)
        pack.append(chunk)
      }
      const objects = await pack.finish()
      if (objects > 0) await this.#install(pack.token, options)
      else pack.abandon()
      return { objects, bytes: pack.bytes }
    } catch (error) {
      pack.abandon()
      throw refusal(error)
    }
  }

  async pack(oids: Iterable<Oid>, atReceiver?: Oid): Promise<OutgoingPack> {
    const { directory, find, packs, checkpoint, rescan } = this.#parts
    const names = async (): Promise<string[]> => {
      await checkpoint()
      rescan()
      return packs().map(({ name }) => name)
    }
    const parts = { disk: this.#disk, directory, find, packs: names }
    return makeOutgoingPack(parts, oids, atReceiver)
  }

  tracked(remote: string): Oid | undefined {
    return readTrackingRef(this.#disk, this.#parts.files.directory, remote)
  }

  async track(remote: string, next: Oid | undefined): Promise<void> {
    if (this.tracked(remote) === next) return
    const { exclusive, files, has, rescan } = this.#parts
    await exclusive(async () => {
      // A redaction may have erased the commit from packs that are still open here.
      rescan()
      await writeTrackingRef(files, remote, next !== undefined && has(next) ? next : undefined)
    })
  }

  remotes(): readonly Remote[] {
    return readRemotes(this.#parts.files)
  }

  async addRemote(remote: Remote): Promise<void> {
    const { exclusive, files } = this.#parts
    await exclusive(() => addRemote(files, remote))
  }

  async removeRemote(name: string): Promise<void> {
    const { exclusive, files } = this.#parts
    await exclusive(async () => {
      getRemote(files, name)
      // The refs first: nothing would remove the refs of a remote that is not in the config.
      for (const ref of [name, refusedName(name)]) {
        if (this.tracked(ref) !== undefined) await writeTrackingRef(files, ref, undefined)
      }
      await removeRemote(files, name)
    })
  }

  async #install(token: string, { signal, progress, tip }: ReceiveOptions): Promise<void> {
    const { packer, exclusive, rescan } = this.#parts
    const temporary = await packer.index(token, { signal, progress })
    if (tip !== undefined) this.#checkTip(temporary, tip)
    await exclusive(async () => {
      refuseIfAborted(signal)
      await this.#publish(temporary)
    })
    rescan()
  }

  #checkTip({ token }: TemporaryPack, tip: Oid): void {
    const path = temporaryPath(this.#parts.directory, 'idx', token)
    const index = PagedIndex.open(this.#disk, path)
    if (index === undefined) throw purgedMeanwhile()
    const position = index.find(fromHex(tip))
    index.close()
    if (position !== undefined) return
    if (!this.#parts.has(tip)) throw corruptPack('it does not hold the commit that was asked for')
  }

  /** Under the writer lock, so that no sweep finds the index before its pack is visible. */
  async #publish(temporary: TemporaryPack): Promise<void> {
    const { directory } = this.#parts
    const files = new Set(this.#disk.list(directory))
    // A purge removes temporary files, because it cannot look for dead objects in them.
    if (!files.has(`tmp_pack_${temporary.token}`) || !files.has(`tmp_idx_${temporary.token}`)) {
      throw purgedMeanwhile()
    }
    const isStored = files.has(`${temporary.name}.pack`) && files.has(`${temporary.name}.idx`)
    // Equal names mean equal bytes.
    if (isStored) discardTemporaryPack(this.#disk, directory, temporary.token)
    else await publishPacks(this.#disk, directory, [temporary])
  }

  get #disk(): Disk {
    return this.#parts.files.disk
  }
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new StoreError('cancelled', 'The fetch was cancelled')
}
