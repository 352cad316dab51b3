// The pack exchange of a store on a disk. Packs are received without a lock, since a remote may be
// slow, and become part of the store under the writer lock; refs move under it too. Must not know
// what the journal holds: it asks for objects, and for a checkpoint before it sends many.

import type { Evidence, OutgoingPack, PackExchange, Remote } from '../exchange.ts'
import type { ObjectStore } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import { addRemote, getRemote, readRemotes, removeRemote } from '../refs/remotes.ts'
import { readTrackingRef, writeTrackingRef } from '../refs/tracking-ref.ts'
import { DiskIncoming } from './disk-incoming.ts'
import { makeOutgoingPack } from './outgoing-pack.ts'
import { findRefused, hasRefused, openRefused, removeRefused } from './refused-head.ts'
import type { StoreParts } from './store-parts.ts'

export class DiskExchange implements PackExchange {
  readonly #parts: StoreParts
  readonly #store: ObjectStore

  constructor(parts: StoreParts, store: ObjectStore) {
    this.#parts = parts
    this.#store = store
  }

  incoming(): DiskIncoming {
    return new DiskIncoming(this.#parts, this.#store)
  }

  refused(remote: string): string | undefined {
    return findRefused(this.#parts.files, remote)
  }

  async forgetRefused(remote: string): Promise<void> {
    const { files } = this.#parts
    if (!hasRefused(files, remote)) return
    await this.#store.exclusive(async () => removeRefused(files, remote))
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
    return makeOutgoingPack(this.#parts, this.#store, oids, atReceiver)
  }

  tracked(remote: string): Oid | undefined {
    const { disk, directory } = this.#parts.files
    return readTrackingRef(disk, directory, remote)
  }

  async track(remote: string, next: Oid | undefined): Promise<void> {
    if (this.tracked(remote) === next) return
    const { files, objects } = this.#parts
    await this.#store.exclusive(async () => {
      // A redaction may have erased the commit from packs that are still open here.
      objects.packs.rescan()
      await writeTrackingRef(
        files,
        remote,
        next !== undefined && objects.has(next) ? next : undefined,
      )
    })
  }

  remotes(): readonly Remote[] {
    return readRemotes(this.#parts.files)
  }

  async addRemote(remote: Remote): Promise<void> {
    const { files } = this.#parts
    await this.#store.exclusive(() => addRemote(files, remote))
  }

  async removeRemote(name: string): Promise<void> {
    const { files } = this.#parts
    await this.#store.exclusive(async () => {
      getRemote(files, name)
      // First: nothing would remove the refused head of a remote that is not in the config.
      if (this.tracked(name) !== undefined) await writeTrackingRef(files, name, undefined)
      removeRefused(files, name)
      await removeRemote(files, name)
    })
  }
}
