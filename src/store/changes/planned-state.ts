// The memories as planned so far, with a directory tree of its own, so that each change sees the
// ones before it. Knows no kinds of changes.

import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import { Bytes } from '../../platform/bytes.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { alreadyExists, checkContent, checkRowCount } from './change-refusals.ts'

export interface PlanContext {
  readonly snapshot: Snapshot
  readonly now: number
  /** The decrypted content of a live memory. */
  readonly readContent: (memory: LiveMemory) => string
}

/** A memory as planned. */
interface PlannedMemory {
  /** Hex digits, or the mark of a new memory, which gets its id by the commit. */
  readonly memoryId: string
  readonly path: string
  readonly content: string
  readonly created: number
}

/** Begins the mark of a new memory; sorts before hex digits, as new memories' rows do. */
const NEW = '+'
const NEW_DIGITS = 7

export class PlannedState {
  readonly #context: PlanContext
  /** Each touched memory before the plan and as planned. */
  readonly #before: Map<string, LiveMemory | undefined> = new Map()
  readonly #after: Map<string, PlannedMemory | undefined> = new Map()
  /** The entry in the directory tree for each touched memory. */
  readonly #placed: Map<string, LiveMemory> = new Map()
  /** Contents that were read for the plan, by version. */
  readonly #contents: Map<string, string> = new Map()
  /** The number of memories that the plan has created. */
  #created = 0

  #paths: Snapshot['paths']

  constructor(context: PlanContext) {
    this.#context = context
    this.#paths = context.snapshot.paths
  }

  /** The directory tree as planned so far. */
  get paths(): Snapshot['paths'] {
    return this.#paths
  }

  /** Reads contents before planning, which cannot pause while it handles one memory. */
  async readAhead(memories: readonly LiveMemory[]): Promise<void> {
    const slice = new TimeSlice()
    for (const memory of memories) {
      this.#contents.set(memory.versionId, this.#context.readContent(memory))
      if (slice.isOver()) await slice.next()
    }
  }

  /** A memory as planned so far; undefined if it is deleted or never was. */
  findLive(memoryId: string): LiveMemory | undefined {
    if (this.#after.has(memoryId)) return this.#placed.get(memoryId)
    return this.#context.snapshot.current.get(memoryId)?.live
  }

  /** The newest version before the plan, of a live or deleted memory. Throws `not_found`. */
  getCurrent(memoryId: string): CurrentVersion {
    const current = this.#context.snapshot.current.get(memoryId)
    if (current !== undefined) return current
    throw new StoreError('not_found', 'No such memory has ever existed', {
      details: { memoryId: formatId('memory', memoryId) },
    })
  }

  isPlanned(memoryId: string): boolean {
    return this.#after.has(memoryId)
  }

  /** The content as planned so far, or as stored. */
  contentOf(memory: LiveMemory): string {
    return (
      this.#after.get(memory.memoryId)?.content ??
      this.#contents.get(memory.versionId) ??
      this.#context.readContent(memory)
    )
  }

  checkFree(path: string): void {
    const occupant = this.paths.findOccupant(path)
    if (occupant === undefined) return
    const { memoryId } = occupant
    throw alreadyExists(occupant.path, memoryId.startsWith(NEW) ? undefined : memoryId)
  }

  /** `added` memories more than there are now. Throws `store_full`. */
  checkCount(added: number): void {
    const { snapshot } = this.#context
    const actual = this.#paths.root.count + added
    const limit = snapshot.settings.value.limits.memories
    if (actual <= limit) return
    throw new StoreError('store_full', `The store is full: its limit is ${limit} memories`, {
      details: { actual, limit },
    })
  }

  checkContent(path: string, content: string): void {
    checkContent(path, content, this.#context.snapshot.settings.value)
  }

  /** Places a memory that has no id yet; returns its mark. */
  create(path: string, content: string): string {
    this.#created += 1
    const memoryId = `${NEW}${String(this.#created).padStart(NEW_DIGITS, '0')}`
    this.place({ memoryId, path, content, created: this.#context.now })
    return memoryId
  }

  /** Takes a memory out of the tree; a memory that is not placed again is deleted. */
  remove(memory: LiveMemory): void {
    const { memoryId } = memory
    if (!this.#before.has(memoryId)) this.#before.set(memoryId, memory)
    this.#paths = this.#paths.without(memory)
    this.#placed.delete(memoryId)
    this.#after.set(memoryId, undefined)
  }

  /** Deletes a memory that may be deleted already. */
  removeById(memoryId: string): void {
    const { live } = this.getCurrent(memoryId)
    if (live === undefined) this.#after.set(memoryId, undefined)
    else this.remove(live)
  }

  /** Adds a memory at a free path, or in the place of one that is at this path. */
  place(draft: PlannedMemory, replaced?: LiveMemory): void {
    const { memoryId } = draft
    if (!this.#before.has(memoryId)) this.#before.set(memoryId, replaced)
    const standIn = standInFor(draft)
    this.#paths = this.#paths.with(standIn, replaced)
    this.#placed.set(memoryId, standIn)
    this.#after.set(memoryId, draft)
  }

  async rows(): Promise<readonly PlannedRow[]> {
    const rows: PlannedRow[] = []
    const slice = new TimeSlice()
    for (const memoryId of [...this.#after.keys()].toSorted()) {
      const row = this.#row(memoryId)
      if (row !== undefined) rows.push(row)
      if (slice.isOver()) await slice.next()
    }
    checkRowCount(rows.length)
    return rows
  }

  #row(memoryId: string): PlannedRow | undefined {
    const before = this.#before.get(memoryId)
    const after = this.#after.get(memoryId)
    // A restored memory is based on its deletion.
    const base = this.#context.snapshot.current.get(memoryId)?.versionId ?? zeroId
    if (after === undefined) {
      if (before === undefined) return undefined
      const { path, created } = before
      const noText = { content: undefined, size: 0, sha256: '' }
      return { memoryId, base, operation: 'deleted', path, ...noText, created }
    }
    const { path, content, created } = after
    const sha256 = sha256OfText(content)
    if (before?.path === path && before.sha256 === sha256) return undefined
    const operation = before === undefined ? 'created' : 'modified'
    const text = { content, size: Bytes.byteLength(content), sha256 }
    const id = memoryId.startsWith(NEW) ? zeroId : memoryId
    return { memoryId: id, base, operation, path, ...text, created }
  }
}

/** Represents a draft in the directory tree during planning. */
function standInFor({ memoryId, path, content, created }: PlannedMemory): LiveMemory {
  const size = Bytes.byteLength(content)
  const unknown = { versionId: '', sha256: '', blob: '', kid: '' }
  return { memoryId, path, size, created, updated: created, ...unknown }
}
