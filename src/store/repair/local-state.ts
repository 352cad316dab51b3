// The local state of this device that helps a repair to choose a head: the anchor and the cached
// snapshot. Must not replace a damaged anchor silently: the old file is kept, and the new one names
// a verified head.

import { systemDisk } from '../../disk/system-disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { areLostCommitsLate } from '../access/post-revocation.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import { Anchor } from '../local/anchor.ts'
import type { OwnFiles } from '../local/own-files.ts'
import { type CacheOwner, moveCacheAside } from '../local/sealed-cache.ts'
import { type CachedHead, findCachedHead } from '../local/state-cache.ts'
import { checkFreshness } from '../session/freshness.ts'
import {
  localPlaces,
  ownFilesOf,
  type StoreEnvironment,
  type StorePlaces,
} from '../session/open-options.ts'
import type { SoundHead } from './heads.ts'
import type { AnchorFate } from './report.ts'

interface LocalStateParts {
  readonly caches: CacheOwner
  readonly files: OwnFiles
  /** The anchor's, which a repair keeps under another name. */
  readonly file: string
  readonly cached: CachedHead | undefined
  readonly anchor: Anchor | 'damaged'
}

export class LocalState {
  readonly #caches: CacheOwner
  readonly #files: OwnFiles
  readonly #file: string
  readonly #anchor: Anchor | 'damaged'
  readonly #cached: CachedHead | undefined

  static async read(options: StorePlaces & StoreEnvironment, storeId: string): Promise<LocalState> {
    const { caches, anchorFile: file } = localPlaces(options, storeId)
    const files = ownFilesOf(options, storeId)
    const cached = await findCachedHead(caches, files)
    const anchor = await openAnchor(caches, files)
    return new LocalState({ caches, files, file, cached, anchor })
  }

  private constructor({ caches, files, file, cached, anchor }: LocalStateParts) {
    this.#caches = caches
    this.#files = files
    this.#file = file
    this.#anchor = anchor
    this.#cached = cached
  }

  /** Commits that this device has verified, read from sealed files that only it can write. */
  get heads(): readonly Oid[] {
    const anchored = this.#anchor === 'damaged' ? undefined : this.#anchor.verified?.commit
    return [anchored, this.#cached?.commit].flatMap((oid) => oid ?? [])
  }

  /** Versions that this device knows to be redacted. */
  get redacted(): readonly string[] {
    return this.#cached?.redacted ?? []
  }

  /** Decides what to do with the anchor for this head. */
  async decideAnchor(
    source: Pick<CommitSource, 'objects' | 'storeId'>,
    head: Oid,
    sound: SoundHead | undefined,
  ): Promise<AnchorFate> {
    if (this.#anchor === 'damaged') return sound === undefined ? 'damaged' : 'renewed'
    const { verified } = this.#anchor
    if (verified === undefined) return 'none'
    // A history that does not verify cannot be compared.
    if (sound === undefined) return verified.commit === head ? 'kept' : 'behind'
    const known = { ...source, epochs: sound.epochs }
    try {
      await checkFreshness(known, this.#anchor, { head: { commit: head } })
      return 'kept'
    } catch (error) {
      if (!hasCode(error, 'rolled_back')) throw error
      const { commit } = verified
      const isLate = commit !== undefined && (await areLostCommitsLate(known, commit, head))
      return isLate ? 'kept' : 'behind'
    }
  }

  /** Replaces the anchor after `decideAnchor` returned `renewed`. Under the writer lock. */
  async renew({ snapshot }: SoundHead): Promise<void> {
    moveCacheAside(this.#caches, { path: this.#file })
    const last = snapshot.devices.get(this.#caches.identity.deviceId)?.sequence ?? 0
    const anchor = await Anchor.open(this.#caches, this.#files)
    await anchor.renew(snapshot.head, last)
  }
}

/** The only store of which this device has an anchor; undefined if there are several or none. */
export function findKnownStore(options: StorePlaces & StoreEnvironment): string | undefined {
  const { disk = systemDisk, stateDirectory } = options
  const known = disk.list(stateDirectory).flatMap((name) => {
    const storeId = storeIdOf(name)
    if (storeId === undefined) return []
    const { anchorFile } = localPlaces(options, storeId)
    return disk.stat(anchorFile) === undefined ? [] : [storeId]
  })
  return known.length === 1 ? known[0] : undefined
}

function storeIdOf(name: string): string | undefined {
  try {
    return parseId('store', name)
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

async function openAnchor(caches: CacheOwner, files: OwnFiles): Promise<Anchor | 'damaged'> {
  try {
    return await Anchor.open(caches, files)
  } catch (error) {
    if (hasCode(error, 'anchor_corrupt')) return 'damaged'
    throw error
  }
}
