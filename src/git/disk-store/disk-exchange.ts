// The pack exchange of a store on a disk. Packs are received without a lock, since a remote may be
// slow, and become part of the store under the writer lock; refs move under it too. Must not know
// what the journal holds: it asks for objects, and for a checkpoint before it sends many.

import type { Disk } from '../../disk/disk.ts'
import type { Evidence, OutgoingPack, PackExchange, Remote, WholePack } from '../exchange.ts'
import type { PackStatus } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import { addRemote, getRemote, readRemotes, removeRemote } from '../refs/remotes.ts'
import { readTrackingRef, writeTrackingRef } from '../refs/tracking-ref.ts'
import { DiskIncoming, type DiskIncomingParts } from './disk-incoming.ts'
import { fewObjectsMax, makeOutgoingPack, openPacks } from './outgoing-pack.ts'
import { findRefused, hasRefused, openRefused, removeRefused } from './refused-head.ts'
import { WholePacks } from './whole-packs.ts'

export interface DiskExchangeParts extends DiskIncomingParts {
  readonly packs: () => readonly PackStatus[]
  readonly checkpoint: () => Promise<void>
}

export class DiskExchange implements PackExchange {
  readonly #parts: DiskExchangeParts

  constructor(parts: DiskExchangeParts) {
    this.#parts = parts
  }

  incoming(): DiskIncoming {
    return new DiskIncoming(this.#parts)
  }

  refused(remote: string): string | undefined {
    return findRefused(this.#parts.files, remote)
  }

  async forgetRefused(remote: string): Promise<void> {
    const { exclusive, files } = this.#parts
    if (!hasRefused(files, remote)) return
    await exclusive(async () => removeRefused(files, remote))
  }

  evidence(remote?: string): Evidence {
    const sets = openRefused(this.#parts.files, remote)
    return {
      *ids() {
        for (const set of sets) yield* set.objectIds()
      },
      read: (oid) => sets.find((set) => set.has(oid))?.read(oid),
      close() {
        for (const set of sets) set.close()
      },
    }
  }

  async pack(oids: Iterable<Oid | undefined>, atReceiver?: Oid): Promise<OutgoingPack> {
    const { directory, find, packs, checkpoint, rescan } = this.#parts
    const names = async (): Promise<string[]> => {
      await checkpoint()
      rescan()
      return packs().map(({ name }) => name)
    }
    const parts = { disk: this.#disk, directory, find, packs: names }
    return makeOutgoingPack(parts, oids, atReceiver)
  }

  async packWhole(head: Oid, signal?: AbortSignal): Promise<WholePack | undefined> {
    const { directory, packer, packs: listed, rescan } = this.#parts
    rescan()
    const now = listed()
    // Fewer are packed anew, as small as they get.
    if (now.reduce((sum, { objects }) => sum + objects, 0) <= fewObjectsMax) return undefined
    const largestFirst = now.toSorted((a, b) => b.objects - a.objects)
    const names = largestFirst.map(({ name }) => name)
    // Opened before they are looked into: another process may remove them in the meantime.
    const packs = openPacks(this.#disk, directory, names)
    const close = (): void => packs.forEach((pack) => pack.close())
    try {
      const commits = await packer.countIfExact(names, head, { signal })
      if (commits !== undefined && packs.length === names.length) {
        return new WholePacks(packs, commits)
      }
    } catch (error) {
      close()
      throw error
    }
    close()
    return undefined
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
      // First: nothing would remove the refused head of a remote that is not in the config.
      if (this.tracked(name) !== undefined) await writeTrackingRef(files, name, undefined)
      removeRefused(files, name)
      await removeRemote(files, name)
    })
  }

  get #disk(): Disk {
    return this.#parts.files.disk
  }
}
