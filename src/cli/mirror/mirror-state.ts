// The mirrors of this device: their directories, and for each of them the texts that files and
// memories agreed on last. Sealed like the anchor, next to which it lies (FORMAT §9,
// roles 15 and 16): paths and hashes must not outlive the files. Losing it loses no text: files and
// memories are then compared anew.

import { StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import {
  type CacheOwner,
  type CachePlace,
  hasNoValue,
  readCache,
  writeCache,
} from '../../store/local/sealed-cache.ts'
import { localPlaces } from '../../store/session/open-options.ts'
import type { Agreed } from './plan.ts'

/** A directory of files that is bound to a place of the store. */
export interface Mirror {
  /** 16 random hex digits, which the marker in the directory repeats. */
  readonly id: string
  /** Absolute, without links. */
  readonly directory: string
  /** A path of the store without a final slash; empty for the root. */
  readonly at: string
  readonly isPaused: boolean
  readonly isInMemory: boolean
  readonly isMarkdownOnly: boolean
  readonly withConfiguration: boolean
  /** Texts that other devices wrote are shown before they are written. */
  readonly isReviewed: boolean
  /** A hook of an agent program saves what the agent writes; it is left some time for that. */
  readonly hasHook: boolean
}

/** A text that both sides agreed on, and how the file looked then. */
export interface AgreedFile extends Agreed {
  /** Empty if the file was not looked at since it was written. */
  readonly trace: string
}

export interface HeldPath {
  readonly path: string
  readonly reason: string
}

/** The findings of a pass, for `status` and `mirror list`. */
export interface PassNotes {
  /** When, in ms since 1970. */
  readonly time: number
  /** Files or memories that are not mirrored, each with the reason. */
  readonly leftOut: readonly HeldPath[]
  /** Deletions that wait for the user. */
  readonly deletions: readonly string[]
  /** Texts of other devices that wait for a review. */
  readonly unreviewed: readonly string[]
  /** Why the last pass did nothing, such as a missing directory. */
  readonly problem?: string | undefined
}

export interface MirrorState {
  readonly agreed: Map<string, AgreedFile>
  /** The file system of the directory: a mirrored disk may be taken away. */
  device?: number | undefined
  /** When files were deleted lately, and how many. */
  deletions: readonly (readonly [time: number, count: number])[]
  notes: PassNotes | undefined
}

interface MirrorList {
  readonly version: 1
  readonly mirrors: readonly Mirror[]
}

interface StateFile {
  readonly version: 1
  readonly mirror: string
  readonly agreed: readonly (readonly [string, string, string, string, string])[]
  readonly device?: number | undefined
  readonly deletions: MirrorState['deletions']
  readonly notes: PassNotes | undefined
}

/** The files of all mirrors of one store on this device. */
export class MirrorFiles {
  readonly #owner: CacheOwner
  readonly #path: string

  /** Of a store, `memstore_…`. */
  constructor(storeId: string, places: Parameters<typeof localPlaces>[0]) {
    const { caches, state } = localPlaces(places, parseId('store', storeId))
    this.#owner = caches
    this.#path = state
  }

  /** Throws `storage_failed` for a file that is damaged, since all mirrors would be forgotten. */
  list(): readonly Mirror[] {
    const place = this.#listPlace
    try {
      return readCache<MirrorList>(this.#owner, place, 1)?.mirrors ?? []
    } catch (error) {
      if (!hasNoValue(error)) throw error
      const problem = `The list of mirrors at ${place.path} is damaged, or of another release`
      const cure = 'delete it, and bind the directories again'
      throw new StoreError('storage_failed', `${problem}: ${cure}`, { cause: error })
    }
  }

  async writeList(mirrors: readonly Mirror[]): Promise<void> {
    const file: MirrorList = { version: 1, mirrors }
    await writeCache(this.#owner, this.#listPlace, file)
  }

  /** Undefined if it is missing, damaged or of another release. */
  findState(id: string): MirrorState | undefined {
    try {
      const file = readCache<StateFile>(this.#owner, this.#statePlace(id), 1)
      // Another mirror's file may have been put there.
      if (file?.mirror !== id) return undefined
      const agreed = new Map(
        file.agreed.map(([path, memoryId, versionId, sha256, trace]) => {
          return [path, { memoryId, versionId, sha256, trace }]
        }),
      )
      return { agreed, device: file.device, deletions: file.deletions, notes: file.notes }
    } catch (error) {
      if (hasNoValue(error)) return undefined
      throw error
    }
  }

  async writeState(id: string, { agreed, device, deletions, notes }: MirrorState): Promise<void> {
    const rows = [...agreed].map(([path, { memoryId, versionId, sha256, trace }]) => {
      return [path, memoryId, versionId, sha256, trace] as const
    })
    const file: StateFile = { version: 1, mirror: id, agreed: rows, device, deletions, notes }
    await writeCache(this.#owner, this.#statePlace(id), file)
  }

  removeState(id: string): void {
    this.#owner.disk.remove(this.#statePlace(id).path)
  }

  get #listPlace(): CachePlace {
    return { path: `${this.#path}.mirrors`, role: 'mirrors', generation: 0 }
  }

  #statePlace(id: string): CachePlace {
    return { path: `${this.#path}.mirror-${id}`, role: 'mirror', generation: 0 }
  }
}

export function emptyState(): MirrorState {
  return { agreed: new Map(), deletions: [], notes: undefined }
}
