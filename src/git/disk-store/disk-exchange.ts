// The pack exchange of a store on a disk. Packs are received without a lock, since a remote may be
// slow, and become part of the store under the writer lock; refs move under it too. Must not know
// what the journal holds: it asks for objects, and for a checkpoint before it sends many.

import { equalBytes } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import { KIBIBYTE } from '../../limits.ts'
import type { Evidence, OutgoingPack, PackExchange, Remote, WholePack } from '../exchange.ts'
import type { ObjectStore } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import {
  corruptPack,
  encodePackHeader,
  packHeaderBytes,
  packTrailerBytes,
} from '../pack/pack-entry.ts'
import type { Pack } from '../pack/pack.ts'
import { addRemote, getRemote, readRemotes, removeRemote } from '../refs/remotes.ts'
import { readTrackingRef, writeTrackingRef } from '../refs/tracking-ref.ts'
import { DiskIncoming } from './disk-incoming.ts'
import { fewObjectsMax, makeOutgoingPack, openPacks } from './outgoing-pack.ts'
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

  async packWhole(head: Oid, signal?: AbortSignal): Promise<WholePack | undefined> {
    const { objects, packer } = this.#parts
    objects.packs.rescan()
    const now = objects.packs.packs()
    const count = now.reduce((sum, pack) => sum + pack.objects, 0)
    // Fewer are packed anew, as small as they get.
    if (count <= fewObjectsMax) return undefined
    const largestFirst = now.toSorted((a, b) => b.objects - a.objects)
    const names = largestFirst.map(({ name }) => name)
    // Opened before they are looked into: another process may remove them in the meantime.
    const packs = openPacks(this.#parts, names)
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

const chunkBytes = 128 * KIBIBYTE

/**
 * The packs of a store as one pack, copied as they are while it is sent: the entries of each follow
 * those of the one before, so that every delta keeps its distance. Must only be given packs that
 * hold nothing but the objects to send, each once.
 */
class WholePacks implements WholePack {
  readonly commits: number
  readonly #packs: readonly Pack[]

  /** Takes ownership of the packs. */
  constructor(packs: readonly Pack[], commits: number) {
    this.#packs = packs
    this.commits = commits
  }

  get objects(): number {
    return this.#packs.reduce((sum, { index }) => sum + index.count, 0)
  }

  get bytes(): number {
    const ends = packHeaderBytes + packTrailerBytes
    return this.#packs.reduce((sum, { bytes }) => sum + bytes - ends, ends)
  }

  /** Throws `pack_corrupt` before the receiver could take the pack for whole. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const sha1 = new Sha1()
    const header = encodePackHeader(this.objects)
    sha1.update(header)
    yield header
    for (const pack of this.#packs) {
      for (const chunk of entriesOf(pack)) {
        sha1.update(chunk)
        yield chunk
      }
    }
    yield sha1.digest()
  }

  close(): void {
    for (const pack of this.#packs) pack.close()
  }
}

/** The bytes between header and trailer. Throws `pack_corrupt` if they do not match the trailer. */
function* entriesOf(pack: Pack): Generator<Uint8Array> {
  const sha1 = new Sha1().update(pack.readHeader())
  const end = pack.bytes - packTrailerBytes
  for (let at = packHeaderBytes; at < end;) {
    const chunk = pack.readRaw(at, chunkBytes)
    if (chunk.length === 0) throw corruptPack('it ends too early')
    sha1.update(chunk)
    at += chunk.length
    yield chunk
  }
  if (!equalBytes(sha1.digest(), pack.index.packChecksum)) {
    throw corruptPack('its checksum is wrong')
  }
}
