// Replaces the log of a store by a copy that was changed apart, as a whole and with a leap: after a
// restore of the database, and for a new identity. The copy is ciphertext, next to the replicas.

import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import { systemDisk } from '../disk/system-disk.ts'
import { unsyncedDisk } from '../disk/unsynced-disk.ts'
import { StoreError } from '../errors.ts'
import { parseId } from '../format/id.ts'
import type { LogPosition } from '../git/replica/shared-log.ts'
import type { HostBackend, RotatingPlace } from '../hosting/host-backend.ts'
import { copyFiles } from '../hosting/store-copy.ts'
import type { Identity } from '../keys/identity.ts'
import { moveOwn, type OwnFiles } from '../store/local/own-files.ts'
import { hasNoValue, type SealOwner } from '../store/local/sealed-cache.ts'
import { SealedLog } from '../store/local/sealed-log.ts'
import { shareObjects } from '../store/session/objects-of.ts'
import { ownFilesOf } from '../store/session/open-options.ts'
import type { Engine } from './engine.ts'
import { SqlOwnFiles } from './sql-own.ts'

/** How a backend opens a store that is shared. */
export type SharedStorePlace = RotatingPlace & { readonly clock: Clock; readonly random: Random }

export interface ReplacedLogsParts {
  readonly engine: Engine
  readonly backend: Pick<HostBackend, 'openStore' | 'copyStore'>
  /** Its directory is that of the replica. */
  readonly placeOf: (storeId: string) => SharedStorePlace
}

export class ReplacedLogs {
  readonly #parts: ReplacedLogsParts

  constructor(parts: ReplacedLogsParts) {
    this.#parts = parts
  }

  /** Makes a repository the store, at `position` in its log; new without one. */
  async share(
    storeId: string,
    from: string,
    position?: LogPosition,
    identity?: Identity,
  ): Promise<void> {
    const place = this.#parts.placeOf(storeId)
    const directory = `${place.directory}.restored`
    systemDisk.removeTree(directory)
    try {
      await copyFiles(unsyncedDisk, from, directory, () => true)
      const as = identity ?? place.identity
      const copied = { ...place, identity: as, directory, disk: unsyncedDisk }
      await shareObjects(copied, storeId, position)
    } finally {
      systemDisk.removeTree(directory)
    }
  }

  /** Accepts a store that was put back. Returns whether it has a remote. */
  async accept(storeId: string): Promise<boolean> {
    const { backend, placeOf } = this.#parts
    const copy = `${placeOf(storeId).directory}.accepted`
    systemDisk.removeTree(copy)
    try {
      const store = await backend.openStore(storeId, { acceptRolledBack: true })
      const remotes = await store.remotes.list()
      await store.close()
      // Before the copy, which then has all that is below it.
      const from = await this.#position(storeId)
      await backend.copyStore(storeId, copy)
      await this.share(storeId, copy, from)
      return remotes.length > 0
    } finally {
      systemDisk.removeTree(copy)
    }
  }

  /**
   * `change` works on a copy, which then replaces the log in one transaction. If a server that was
   * not noticed writes at the same time, that fails, and nothing has changed.
   */
  async rotate(
    storeId: string,
    next: Identity,
    change: (place: RotatingPlace) => Promise<void>,
  ): Promise<void> {
    const { engine, backend, placeOf } = this.#parts
    const { directory, identity, clock, random } = placeOf(storeId)
    const files = new SqlOwnFiles(engine.pool, storeId)
    const own = { owner: this.#ownerOf(storeId, identity), files }
    if (!(await this.#isSealedFor(storeId, next))) {
      const copy = `${directory}.rotated`
      systemDisk.removeTree(copy)
      try {
        const from = await this.#position(storeId)
        const places = { directory: `${copy}/store`, stateDirectory: `${copy}/state` }
        const place = { identity, clock, random, disk: systemDisk, ...places }
        await backend.copyStore(storeId, place.directory)
        // Locks are kept in it; a copy without journals lacks it.
        systemDisk.makeDirectory(`${place.directory}/gitlocket`)
        const id = parseId('store', storeId)
        await copyOwn(files, ownFilesOf(place, id))
        await change(place)
        await this.share(storeId, place.directory, from, next)
      } finally {
        systemDisk.removeTree(copy)
      }
    }
    await moveOwn(own, { ...own, owner: this.#ownerOf(storeId, next) })
  }

  async #position(storeId: string): Promise<LogPosition> {
    const position = await this.#parts.engine.logs.position(storeId)
    if (position !== undefined) return position
    throw new StoreError('not_found', 'The engine has no such store')
  }

  #ownerOf(storeId: string, identity: Identity): SealOwner {
    const { random } = this.#parts.placeOf(storeId)
    return { storeId: parseId('store', storeId), identity, random }
  }

  /** Whether the base, and so every entry above it, is sealed for an identity. */
  async #isSealedFor(storeId: string, identity: Identity): Promise<boolean> {
    const { logs } = this.#parts.engine
    const log = new SealedLog(logs.log(storeId), this.#ownerOf(storeId, identity))
    const base = await log.base()
    if (base === undefined) return false
    try {
      const first = await log.parts(base.id)[Symbol.asyncIterator]().next()
      return first.done !== true
    } catch (error) {
      if (hasNoValue(error)) return false
      throw error
    }
  }
}

/** The caches are made again. */
async function copyOwn(from: OwnFiles, to: OwnFiles): Promise<void> {
  for (const name of ['anchor', 'remotes', 'reads'] as const) {
    const bytes = await from.read(name)
    if (bytes !== undefined) await to.write(name, bytes)
  }
}
