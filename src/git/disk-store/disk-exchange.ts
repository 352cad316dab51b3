// The pack exchange of a store on a disk. Packs are received without a lock, since a remote may be
// slow, into a directory of their own, until they are accepted: `objects/pack` has only verified
// packs, and a refused one is removed as a whole (decision 0035). They become part of the store
// under the writer lock; refs move under it too. Must not know what the journal holds: it asks for
// objects, and for a checkpoint before it sends many.

import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { inSlices } from '../../time-slice.ts'
import type {
  BoundaryChange,
  Evidence,
  HashedColumns,
  Incoming,
  OutgoingPack,
  PackExchange,
  ReceivedPack,
  ReceiveOptions,
  Remote,
} from '../exchange.ts'
import type { ObjectStore } from '../object-store.ts'
import type { GitObject, Oid, SizeLimit } from '../objects/object.ts'
import {
  checkBoundary,
  deadIncoming,
  incomingDirectory,
  IncomingPack,
  purgedMeanwhile,
  receiveLimits,
  refusal,
  sweepIncoming,
} from '../pack/incoming-pack.ts'
import { corruptPack } from '../pack/pack-entry.ts'
import {
  discardTemporaryPack,
  publishPacks,
  type TemporaryPack,
  temporaryPath,
} from '../pack/pack-file.ts'
import { removePacks } from '../pack/pack-removal.ts'
import { PackSet } from '../pack/pack-set.ts'
import { PagedIndex } from '../pack/paged-index.ts'
import { addRemote, getRemote, readRemotes, removeRemote } from '../refs/remotes.ts'
import { makeOwnDirectory } from '../refs/repository.ts'
import { joinChanges, moveShallow, readShallow, unmoved, writeShallow } from '../refs/shallow.ts'
import { readTrackingRef, writeTrackingRef } from '../refs/tracking-ref.ts'
import { makeOutgoingPack } from './outgoing-pack.ts'
import { findRefused, hasRefused, keepRefused, openRefused, removeRefused } from './refused-head.ts'
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

  shallow(): readonly Oid[] {
    const { disk, directory } = this.#parts.files
    return readShallow(disk, directory)
  }

  async setShallow(commits: readonly Oid[]): Promise<void> {
    await this.#store.exclusive(() => writeShallow(this.#parts.files, commits))
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

export class DiskIncoming implements Incoming {
  readonly #parts: StoreParts
  readonly #store: ObjectStore
  readonly #place: string
  readonly #packs: PackSet
  #hashed: HashedColumns | undefined
  /** The commit that was read last: a large head is read several times before it is verified. */
  #last: { readonly oid: Oid; readonly commit: GitObject } | undefined
  /** How the packs that wait move the boundary. */
  #moved: BoundaryChange = unmoved
  /** Whether the repository had a boundary when the first pack was asked for. */
  #wasPartial: boolean | undefined

  constructor(parts: StoreParts, store: ObjectStore) {
    const { disk, ownDirectory, identity } = parts.files
    this.#parts = parts
    this.#store = store
    this.#place = incomingDirectory(ownDirectory, identity)
    this.#packs = new PackSet(disk, this.#place)
  }

  get isEmpty(): boolean {
    return this.#packs.size === 0
  }

  get hashed(): HashedColumns | undefined {
    return this.#hashed
  }

  get bytes(): number {
    return this.#packs.packs().reduce((sum, { bytes }) => sum + bytes, 0)
  }

  get packDirectories(): readonly string[] | undefined {
    const { packDirectories } = this.#store
    return packDirectories && [...packDirectories, this.#place]
  }

  /** The files of the packs that wait, absolute. */
  packFiles(): readonly string[] {
    return this.#packs.packs().map(({ name }) => `${this.#place}/${name}.pack`)
  }

  ids(): Iterable<Oid> {
    return this.#packs.objectIds()
  }

  /** Waiting packs come first: the verified objects are those that will be accepted. */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    if (this.#last?.oid === oid) return this.#last.commit
    const waiting = this.#packs.read(oid, limit)
    if (waiting?.type === 'commit') this.#last = { oid, commit: waiting }
    return waiting ?? this.#store.read(oid, limit)
  }

  has(oid: Oid): boolean {
    return this.#packs.has(oid) || this.#parts.objects.has(oid) || this.read(oid) !== undefined
  }

  async receive(
    chunks: AsyncIterable<Uint8Array>,
    options: ReceiveOptions = {},
  ): Promise<ReceivedPack> {
    const { files, packer } = this.#parts
    const limits = { ...receiveLimits, ...options.limits }
    await makeOwnDirectory(files)
    await files.identity.write()
    await this.#sweepDead()
    this.#disk.makeDirectory(this.#place)
    const pack = new IncomingPack(this.#disk, this.#place, limits)
    try {
      for await (const chunk of chunks) {
        refuseIfAborted(options.signal)
        pack.append(chunk)
      }
      const objects = await pack.finish()
      if (objects > 0) {
        const { signal, progress } = options
        const checked = await packer.index(this.#place, pack.token, { signal, progress })
        await this.#install(checked, options)
        this.#hashed = checked.hashed
      } else {
        pack.abandon()
        await this.#checkBoundary(options)
      }
      this.#wasPartial ??= (options.boundary?.before.length ?? 0) > 0
      this.#moved = joinChanges(this.#moved, options.boundary ?? unmoved)
      return { objects, bytes: pack.bytes }
    } catch (error) {
      pack.abandon()
      throw refusal(error)
    }
  }

  async accept(): Promise<void> {
    const { shallow, unshallow } = this.#moved
    if (this.isEmpty && shallow.length + unshallow.length === 0) return
    const { packDirectory, packs } = this.#parts.objects
    const { files } = this.#parts
    await this.#store.exclusive(async () => {
      if (this.#isPurged()) throw purgedMeanwhile()
      const isWhole = readShallow(files.disk, files.directory).length === 0
      if (isWhole && this.#wasPartial === true && shallow.length > 0) {
        throw new StoreError('ref_conflict', 'Another process has fetched everything: fetch again')
      }
      // In this order: in between, git takes the old and the new ends for the boundary.
      await moveShallow(files, { shallow, unshallow: [] })
      if (!this.isEmpty) {
        this.#moveInto(packDirectory)
        await this.#disk.syncDirectory(packDirectory)
      }
      await moveShallow(files, { shallow: [], unshallow })
    })
    packs.rescan()
    this.drop()
  }

  async keep(remote: string, head: Oid): Promise<void> {
    if (!this.#isPurged()) {
      const { files } = this.#parts
      const packs = this.isEmpty ? undefined : this.#place
      const shallow = [...readShallow(files.disk, files.directory), ...this.#moved.shallow]
      await keepRefused(files, remote, { head, packs, shallow })
    }
    this.drop()
  }

  drop(): void {
    this.#last = undefined
    this.#moved = unmoved
    this.#wasPartial = undefined
    this.#hashed = undefined
    this.#packs.close()
    try {
      if (this.#disk.stat(this.#place) !== undefined) this.#disk.removeTree(this.#place)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  /** What killed syncs have left: a store that only fails to sync makes no checkpoint. */
  async #sweepDead(): Promise<void> {
    const { ownDirectory } = this.#parts.files
    const dead = await deadIncoming(this.#disk, ownDirectory)
    if (dead.length === 0) return
    await this.#store.exclusive(() => sweepIncoming(this.#disk, ownDirectory))
  }

  async #install(temporary: TemporaryPack, options: ReceiveOptions): Promise<void> {
    const { token } = temporary
    const { signal, tip, also = [] } = options
    if (tip !== undefined) this.#checkWanted(temporary, [tip], 'the commit')
    this.#checkWanted(temporary, also, 'an object')
    refuseIfAborted(signal)
    const files = new Set(this.#disk.list(this.#place))
    const isThere = ({ name }: TemporaryPack): boolean => files.has(`${name}.pack`)
    // A purge empties the directory, because it cannot look for dead objects there.
    if (!files.has(`tmp_pack_${token}`) || !files.has(`tmp_idx_${token}`)) throw purgedMeanwhile()
    // Equal names mean equal bytes.
    if (isThere(temporary)) discardTemporaryPack(this.#disk, this.#place, token)
    else await publishPacks(this.#disk, this.#place, [temporary])
    this.#packs.rescan()
    try {
      await this.#checkBoundary(options)
    } catch (error) {
      this.#packs.close()
      if (!isThere(temporary)) await removePacks(this.#disk, this.#place, [temporary.name])
      this.#packs.rescan()
      throw error
    }
  }

  #checkWanted({ token }: TemporaryPack, wanted: readonly Oid[], what: string): void {
    if (wanted.length === 0) return
    const index = PagedIndex.open(this.#disk, temporaryPath(this.#place, 'idx', token))
    if (index === undefined) throw purgedMeanwhile()
    const absent = wanted.filter((oid) => index.find(fromHex(oid)) === undefined)
    index.close()
    if (absent.every((oid) => this.has(oid))) return
    throw corruptPack(`it does not hold ${what} that was asked for`)
  }

  async #checkBoundary(options: ReceiveOptions): Promise<void> {
    await inSlices(
      checkBoundary((oid) => this.read(oid), options),
      options.signal,
    )
  }

  /** Under the writer lock. A purge empties the directory. */
  #isPurged(): boolean {
    const files = new Set(this.#disk.list(this.#place))
    return this.#packs.packs().some(({ name }) => {
      return !files.has(`${name}.pack`) || !files.has(`${name}.idx`)
    })
  }

  /**
   * Under the writer lock, so that no sweep finds an index before its pack: readers ignore it, and
   * a crash in between leaves nothing else.
   */
  #moveInto(directory: string): void {
    const stored = new Set(this.#disk.list(directory))
    for (const { name } of this.#packs.packs()) {
      const files = [`${name}.idx`, `${name}.pack`]
      // Equal names mean equal bytes.
      if (files.every((file) => stored.has(file))) continue
      for (const file of files) this.#disk.rename(`${this.#place}/${file}`, `${directory}/${file}`)
    }
  }

  get #disk(): Disk {
    return this.#parts.files.disk
  }
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new StoreError('cancelled', 'The fetch was cancelled')
}
