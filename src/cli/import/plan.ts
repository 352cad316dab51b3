// Plans an import: what is written, what is there already, what cannot be a memory and why. Decides
// everything before the first change, for all sources alike. Changes nothing.

import { isUtf8 } from 'node:buffer'
import type { WorkOptions } from '../../async.ts'
import { utf8Text } from '../../bytes.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import { checkNewPath, parentPaths } from '../../format/path.ts'
import type { Settings } from '../../format/settings.ts'
import {
  allowedTexts,
  findingsText,
  findRefused,
  isGuardOn,
  type RefusedText,
  secretGuard,
} from '../../store/guard/guard.ts'
import type { ListedMemory } from '../../store/memories.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type Candidate, type Found, type LeftOut, UnsuitableError } from './source.ts'

/** What to do if a path is taken by something else than the same text. */
export type OnConflict = 'fail' | 'skip' | 'overwrite'

export interface Job {
  readonly candidate: Candidate
  /** The memory to overwrite; undefined to create one. */
  readonly current: ListedMemory | undefined
}

export interface Unsuitable extends LeftOut {
  readonly code: ErrorCode
}

/** A text that the guard refuses: it is held back, and the rest is imported. */
export interface Held extends RefusedText {
  readonly origin: string
  readonly path: string
}

export interface Plan {
  readonly jobs: readonly Job[]
  /** Memories that have the text already. */
  readonly unchanged: number
  /** Paths that are taken and do not change. */
  readonly skipped: readonly string[]
  /** Paths that are taken, which refuses the import. */
  readonly conflicts: readonly string[]
  /** What cannot be a memory. */
  readonly unsuitable: readonly Unsuitable[]
  /** What the guard refuses. */
  readonly held: readonly Held[]
  /** What the guard would find in jobs, if it were on. */
  readonly flagged: readonly LeftOut[]
  /** How many memories there would be, and may be. */
  readonly memories: number
  readonly limit: number
}

export interface PlanOptions extends WorkOptions {
  readonly onConflict: OnConflict
}

export async function planImport(
  store: MemoryStore,
  { candidates, unsuitable }: Found,
  { onConflict, signal, progress }: PlanOptions,
): Promise<Plan> {
  const { settings } = await store.status()
  const places = new Places()
  for await (const memory of store.memories()) places.add(memory)
  const planner = new Planner(store, places, { onConflict, settings })
  const slice = new TimeSlice(signal)
  for (const [index, candidate] of candidates.entries()) {
    if (slice.isOver()) await slice.next()
    await planner.add(candidate)
    progress?.(index + 1, candidates.length)
  }
  const { jobs, unchanged, skipped, conflicts, held, flagged } = planner
  return {
    jobs,
    unchanged,
    skipped,
    conflicts,
    held,
    flagged,
    unsuitable: [
      ...unsuitable.map((item) => ({ ...item, code: 'invalid_input' as const })),
      ...planner.unsuitable,
    ],
    memories: places.count,
    limit: settings.limits.memories,
  }
}

/** The text of a candidate. Throws an `UnsuitableError` if it cannot be that of a memory. */
export function readText(candidate: Candidate, limit: number): string {
  const bytes = candidate.read(limit)
  if (bytes.length > limit)
    throw new UnsuitableError(`more than ${limit} bytes, which is the limit`)
  if (!isUtf8(bytes)) throw new UnsuitableError('not UTF-8 text')
  if (bytes.includes(0)) throw new UnsuitableError('contains NUL characters')
  return utf8Text(bytes)
}

/** The memories by path, with those that the import adds. */
class Places {
  readonly #memories = new Map<string, ListedMemory | Candidate>()
  readonly #directories = new Map<string, string>()

  get count(): number {
    return this.#memories.size
  }

  add(memory: ListedMemory | Candidate): void {
    this.#memories.set(memory.path, memory)
    for (const above of parentPaths(memory.path)) this.#directories.set(above, memory.path)
  }

  /** The memory that keeps `path` from being one: at it, below it or above it. */
  find(path: string): ListedMemory | Candidate | undefined {
    const below = this.#directories.get(path)
    const taken = [path, ...(below === undefined ? [] : [below]), ...parentPaths(path)]
    return this.#memories.get(taken.find((other) => this.#memories.has(other)) ?? '')
  }
}

interface Rules {
  readonly onConflict: OnConflict
  readonly settings: Settings
}

class Planner {
  readonly jobs: Job[] = []
  readonly skipped: string[] = []
  readonly conflicts: string[] = []
  readonly unsuitable: Unsuitable[] = []
  readonly held: Held[] = []
  readonly flagged: LeftOut[] = []
  unchanged = 0
  readonly #store: MemoryStore
  readonly #places: Places
  readonly #rules: Rules

  constructor(store: MemoryStore, places: Places, rules: Rules) {
    this.#store = store
    this.#places = places
    this.#rules = rules
  }

  async add(candidate: Candidate): Promise<void> {
    try {
      await this.#plan(candidate)
    } catch (error) {
      const isReason = error instanceof UnsuitableError || hasCode(error, 'invalid_path')
      if (!isReason) throw error
      this.#refuse(candidate, error.code, error.message)
    }
  }

  async #plan(candidate: Candidate): Promise<void> {
    const path = checkNewPath(candidate.path)
    const content = readText(candidate, this.#rules.settings.limits.contentBytes)
    const occupant = this.#places.find(path)
    if (occupant !== undefined && 'read' in occupant) {
      throw new UnsuitableError(`its path and that of ${occupant.origin} exclude each other`)
    }
    const current = occupant?.path === path ? occupant : undefined
    if (current?.sha256 === sha256OfText(content)) {
      this.unchanged += 1
      return
    }
    if (occupant !== undefined) {
      const { onConflict } = this.#rules
      if (onConflict === 'skip') return void this.skipped.push(path)
      if (current === undefined || onConflict === 'fail') {
        return void this.conflicts.push(occupant.path)
      }
    }
    await this.#planJob({ candidate, current }, content)
  }

  async #planJob(job: Job, content: string): Promise<void> {
    const { candidate, current } = job
    const { origin, path } = candidate
    const { settings } = this.#rules
    const before = async () => (current === undefined ? undefined : this.#store.read(current.path))
    const refused = await findRefused(
      secretGuard,
      { path, content },
      before,
      allowedTexts(settings),
    )
    if (refused !== undefined && isGuardOn(settings)) {
      this.held.push({ origin, path, ...refused })
      return
    }
    if (refused !== undefined) {
      this.flagged.push({ origin, reason: findingsText(refused.findings) })
    }
    if (current === undefined) this.#places.add(candidate)
    this.jobs.push(job)
  }

  #refuse({ origin }: Candidate, code: ErrorCode, reason: string): void {
    this.unsuitable.push({ origin, code, reason })
  }
}

/** Throws `store_full` if the store cannot hold all of it. */
export function checkRoom({ memories, limit }: Plan): void {
  if (memories <= limit) return
  throw new StoreError(
    'store_full',
    `The store would hold ${memories} memories; its limit is ${limit}. Nothing was imported`,
    { details: { actual: memories, limit } },
  )
}
