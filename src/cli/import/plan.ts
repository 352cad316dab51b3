// Plans an import, and writes it. The plan decides everything before the first change, for all
// sources alike: which texts are written, which the store has already, which cannot be a memory.

import type { WorkOptions } from '../../async.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError, hasCode } from '../../errors.ts'
import { checkNewPath, parentPaths } from '../../format/path.ts'
import type { Settings } from '../../format/settings.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import {
  allowedTexts,
  findRefused,
  findingsText,
  isGuardOn,
  secretGuard,
  type RefusedText,
} from '../../store/guard/guard.ts'
import type { ListedMemory } from '../../store/memories.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { TimeSlice } from '../../time-slice.ts'
import { CommandError } from '../call/command.ts'
import { countText } from '../text/words.ts'
import {
  textOfCandidate,
  UnsuitableError,
  type TextCandidate,
  type FoundTexts,
  type LeftOutPart,
} from './source.ts'

/** What to do if a path is taken by something else than the same text. */
export type OnConflict = 'fail' | 'skip' | 'overwrite'

export interface Job {
  readonly candidate: TextCandidate
  /** The memory to overwrite; undefined to create one. */
  readonly current: ListedMemory | undefined
}

/** A text that the guard refuses: it is held back, and the rest is imported. */
export interface HeldText extends RefusedText {
  readonly origin: string
  readonly path: string
}

/** The memories to write, and the others, each list with its reason. */
export interface ImportPlan {
  readonly jobs: Job[]
  /** Memories that have the text already. */
  unchanged: number
  /** Paths that are taken and do not change. */
  readonly skipped: string[]
  /** Paths that are taken, which refuses the import. */
  readonly conflicts: string[]
  /** What cannot be a memory. */
  readonly unsuitable: LeftOutPart[]
  readonly held: HeldText[]
  /** What the guard would find in jobs, if it were on. */
  readonly flagged: LeftOutPart[]
  /** How many memories there would be, and may be. */
  memories: number
  readonly limit: number
}

export async function planImport(
  store: MemoryStore,
  { candidates, unsuitable }: FoundTexts,
  { onConflict, signal, progress }: WorkOptions & { readonly onConflict: OnConflict },
): Promise<ImportPlan> {
  const { settings } = await store.status()
  const planner = new Planner(store, settings, onConflict)
  const { places, plan } = planner
  plan.unsuitable.push(...unsuitable)
  for await (const memory of store.memories()) places.add(memory)
  const slice = new TimeSlice(signal)
  for (const [index, candidate] of candidates.entries()) {
    if (slice.isOver()) await slice.next()
    await planner.add(candidate)
    progress?.(index + 1, candidates.length)
  }
  plan.memories = places.count
  return plan
}

/** The memories by path, with those that the import adds. */
class Places {
  readonly #memories = new Map<string, ListedMemory | TextCandidate>()
  readonly #directories = new Map<string, string>()

  get count(): number {
    return this.#memories.size
  }

  add(memory: ListedMemory | TextCandidate): void {
    this.#memories.set(memory.path, memory)
    for (const above of parentPaths(memory.path)) this.#directories.set(above, memory.path)
  }

  /** The memory that keeps `path` from being one: at it, below it or above it. */
  find(path: string): ListedMemory | TextCandidate | undefined {
    const below = this.#directories.get(path)
    const taken = [path, ...(below === undefined ? [] : [below]), ...parentPaths(path)]
    return this.#memories.get(taken.find((other) => this.#memories.has(other)) ?? '')
  }
}

class Planner {
  readonly places = new Places()
  readonly plan: ImportPlan
  readonly #store: MemoryStore
  readonly #settings: Settings
  readonly #onConflict: OnConflict

  constructor(store: MemoryStore, settings: Settings, onConflict: OnConflict) {
    this.#store = store
    this.#settings = settings
    this.#onConflict = onConflict
    const lists = { jobs: [], skipped: [], conflicts: [], unsuitable: [], held: [], flagged: [] }
    this.plan = { ...lists, unchanged: 0, memories: 0, limit: settings.limits.memories }
  }

  async add(candidate: TextCandidate): Promise<void> {
    try {
      await this.#plan(candidate)
    } catch (error) {
      const isReason = error instanceof UnsuitableError || hasCode(error, 'invalid_path')
      if (!isReason) throw error
      this.plan.unsuitable.push({ origin: candidate.origin, reason: error.message })
    }
  }

  async #plan(candidate: TextCandidate): Promise<void> {
    const path = checkNewPath(candidate.path)
    const content = textOfCandidate(candidate, this.#settings.limits.contentBytes)
    const occupant = this.places.find(path)
    if (occupant !== undefined && 'read' in occupant) {
      throw new UnsuitableError(`its path and that of ${occupant.origin} exclude each other`)
    }
    const current = occupant?.path === path ? occupant : undefined
    if (current?.sha256 === sha256OfText(content)) this.plan.unchanged += 1
    else if (occupant !== undefined && this.#onConflict === 'skip') this.plan.skipped.push(path)
    else if (occupant !== undefined && (current === undefined || this.#onConflict === 'fail')) {
      this.plan.conflicts.push(occupant.path)
    } else await this.#planJob({ candidate, current }, content)
  }

  async #planJob(job: Job, content: string): Promise<void> {
    const { candidate, current } = job
    const { origin, path } = candidate
    const before = async () => (current === undefined ? undefined : this.#store.read(current.path))
    const allowed = allowedTexts(this.#settings)
    const refused = await findRefused(secretGuard, { path, content }, before, allowed)
    if (refused !== undefined && isGuardOn(this.#settings)) {
      this.plan.held.push({ origin, path, ...refused })
      return
    }
    if (refused !== undefined) {
      this.plan.flagged.push({ origin, reason: findingsText(refused.findings) })
    }
    if (current === undefined) this.places.add(candidate)
    this.plan.jobs.push(job)
  }
}

/** Throws `store_full` if the store cannot hold all of it. */
export function checkRoom({ memories, limit }: ImportPlan): void {
  if (memories <= limit) return
  throw new StoreError(
    'store_full',
    `The store would hold ${memories} memories; its limit is ${limit}. Nothing was imported`,
    { details: { actual: memories, limit } },
  )
}

/** Commits in flight at a time; they share their writes to disk. */
const WINDOW = 64

/**
 * Writes one commit for each memory, and returns how many. A failure (a full disk, Ctrl-C) leaves
 * whole memories and reports how many; the same command continues there.
 */
export async function writeJobs(
  store: MemoryStore,
  jobs: readonly Job[],
  author: Author,
  { signal, progress }: WorkOptions,
): Promise<number> {
  const { contentBytes } = (await store.status()).settings.limits
  let done = 0
  let commits = 0
  for (let at = 0; at < jobs.length; at += WINDOW) {
    if (signal?.aborted === true) {
      throw interrupted(new StoreError('cancelled', 'Cancelled'), done)
    }
    const window = jobs.slice(at, at + WINDOW)
    const results = await Promise.allSettled(
      window.map(async (job) => store.as(author).apply([changeOf(job, contentBytes)])),
    )
    const applied = results.filter((result) => result.status === 'fulfilled')
    done += applied.length
    commits += applied.filter(({ value }) => value.commit !== undefined).length
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw interrupted(failed.reason, done)
    progress?.(done, jobs.length)
  }
  return commits
}

/** A memory that has changed or moved since the plan is not overwritten. */
function changeOf({ candidate, current }: Job, limit: number): Change {
  const content = contentOf(candidate, limit)
  if (current === undefined) return { type: 'create', path: candidate.path, content }
  const { path, sha256: expectedSha256 } = current
  return { type: 'write', path, content, expectedSha256 }
}

/** Reads it again: a source may be larger than the RAM, and may change after the plan. */
function contentOf(candidate: TextCandidate, limit: number): string {
  try {
    return textOfCandidate(candidate, limit)
  } catch (error) {
    if (!(error instanceof UnsuitableError)) throw error
    throw new StoreError('invalid_input', `${candidate.origin} has changed: ${error.message}`)
  }
}

function interrupted(error: unknown, done: number): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, details, cause } = error
  const count = countText(done, 'memory was', 'memories were')
  const message = `${error.message}; ${count} imported before`
  return new CommandError(code, message, 'Run it again: it continues where it stopped', {
    details,
    cause,
  })
}
