// State that the steps of a pass share: the survey of both sides, the author, and the counts.

import type { Clock } from '../../clock.ts'
import { hasCode } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Identity } from '../../keys/identity.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Memory, MemoryInfo } from '../../store/snapshot/live-memory.ts'
import type { Folder } from './folder.ts'
import type { Mirror, MirrorFiles, MirrorState } from './mirror-state.ts'
import type { Agreed, MirroredMemory } from './plan.ts'
import { readSeenText, type Survey } from './survey.ts'

/** A file that was written more lately than this may be written again at the same time. */
const RACY_MS = 20

/** The author of changes that no agent program has claimed. */
export const mirrorAuthor: Author = { actor: { type: 'service_account', id: 'mirror' } }

export interface PassParts {
  readonly store: MemoryStore
  readonly identity: Pick<Identity, 'deviceId'>
  readonly folder: Folder
  readonly mirror: Mirror
  readonly files: MirrorFiles
  readonly clock: Clock
}

export interface PassOptions {
  readonly signal?: AbortSignal | undefined
  /** The author of the changes of files; else the mirror itself. */
  readonly author?: Author
  /** The only path whose change is saved; no file is written. */
  readonly only?: string
  readonly settleMs?: number
  /** The user has confirmed all deletions. */
  readonly isDeletionConfirmed?: boolean
  /** The user has named the directory: it is filled, even on another file system than before. */
  readonly isNamed?: boolean
  /** Writes deleted files again. */
  readonly isRefill?: boolean
  /** Writes texts of other devices that the user has seen. */
  readonly isReviewed?: boolean
}

export interface WorkParts extends PassParts {
  readonly state: MirrorState
  readonly survey: Survey
  readonly surveyed: number
  readonly options: PassOptions
}

export class PassWork {
  readonly parts: WorkParts
  readonly author: Author
  /** Texts of other devices that wait for a review. */
  readonly unreviewed: string[] = []
  readonly counts = { saved: 0, deleted: 0, written: 0, removed: 0 }
  isUnfinished: boolean
  /** Bytes of a memory. */
  readonly limit: number

  constructor(parts: WorkParts, limit: number) {
    this.parts = parts
    this.limit = limit
    this.author = parts.options.author ?? mirrorAuthor
    this.isUnfinished = parts.survey.isUnsettled
  }

  /** The text of a file, if it is the one that was seen. */
  read(path: string): string | undefined {
    const { folder, survey } = this.parts
    const sha256 = survey.states.files.get(path)
    const text = readSeenText(folder, this.nameOf(path), { limit: this.limit, sha256 })
    if (text === undefined) this.isUnfinished = true
    return text
  }

  /** The memory with its text, unless it has changed since the survey. */
  async findCurrent({ memoryId, sha256, path }: MirroredMemory): Promise<Memory | undefined> {
    const { store, mirror } = this.parts
    const memory = await store.memory(memoryId)
    const isSame = memory?.sha256 === sha256 && memory.path === `${mirror.at}${path}`
    if (isSame) return memory
    this.isUnfinished = true
    return undefined
  }

  async apply(change: Change): Promise<MemoryInfo | undefined> {
    const applied = await this.parts.store.as(this.author).apply([change])
    if (applied.commit !== undefined) this.counts.saved += 1
    return applied.memories[0]
  }

  /** Whether another device wrote the text, and the user has not seen it. */
  async mustReview({ versionId, path }: MemoryInfo): Promise<boolean> {
    const { mirror, store, identity, options } = this.parts
    if (!mirror.isReviewed || options.isReviewed === true) return false
    const author = await authorOf(store, versionId)
    if (author === formatId('device', identity.deviceId)) return false
    this.unreviewed.push(path.slice(mirror.at.length))
    return true
  }

  agree(path: string, { memoryId, versionId, sha256 }: Agreed, isSeen: boolean): void {
    const trace = isSeen ? this.traceOf(path) : ''
    this.parts.state.agreed.set(path, { memoryId, versionId, sha256, trace })
  }

  traceOf(path: string): string {
    const { survey, surveyed } = this.parts
    const seen = survey.seen.get(path)
    return seen !== undefined && surveyed - seen.changed >= RACY_MS ? seen.trace : ''
  }

  nameOf(path: string): string {
    return this.parts.survey.seen.get(path)?.name ?? path.slice(1)
  }
}

/** Undefined for a version from before the beginning of a sandbox's clone. */
async function authorOf(store: MemoryStore, versionId: string): Promise<string | undefined> {
  try {
    return (await store.history.version(versionId)).deviceId
  } catch (error) {
    if (hasCode(error, 'history_needed')) return undefined
    throw error
  }
}

/** The text of a version that has not been erased. Throws `history_needed`. */
export async function findVersion(
  store: MemoryStore,
  versionId: string,
): Promise<string | undefined> {
  try {
    return (await store.history.version(versionId)).content
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined
    throw error
  }
}

/** The text of this SHA-256 that a memory once had, as far as this clone has its history. */
export async function findText(
  store: MemoryStore,
  memoryId: string,
  sha256: string | undefined,
): Promise<string | undefined> {
  try {
    for await (const version of store.history.versions({ memoryId, limit: 100 })) {
      if (version.sha256 === sha256) return await findVersion(store, version.versionId)
    }
  } catch (error) {
    if (!hasCode(error, 'history_needed')) throw error
  }
  return undefined
}
