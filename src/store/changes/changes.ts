// Planning: turns a request into the rows of a commit (docs/ARCHITECTURE.md, the life of a write).
// Writes nothing. A request that cannot be fulfilled throws and
// leaves the snapshot unchanged.

import { sha256OfText } from '../../crypto/digest.ts'
import { assert, StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import { checkNewPath, checkPath } from '../../format/path.ts'
import { zeroId } from '../../format/record.ts'
import { rowsMax } from '../../limits.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'
import { memoriesBelow } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { alreadyExists, checkContent, checkRowCount, notFound } from './change-refusals.ts'

/** One change. Paths are store paths (`/notes.md`); contents are text, stored as UTF-8. */
export type Change =
  | { readonly type: 'create'; readonly path: string; readonly content: string }
  /** Creates the memory or replaces its content. */
  | { readonly type: 'write'; readonly path: string; readonly content: string }
  | {
      readonly type: 'edit'
      readonly path: string
      /** The new content, from the current one. Must be pure: it may run more than once. */
      readonly edit: (content: string) => string
    }
  | { readonly type: 'delete'; readonly path: string }
  | { readonly type: 'rename'; readonly path: string; readonly to: string }

/** The state that a live or deleted memory is to get. The id is in hex. */
export interface StateChange {
  readonly memoryId: string
  /** Undefined to delete the memory. */
  readonly target: { readonly path: string; readonly content: string } | undefined
}

export interface PlanContext {
  readonly snapshot: Snapshot
  readonly now: number
  /** The decrypted content of a live memory. */
  readonly readContent: (memory: LiveMemory) => string
}

/** A memory as planned. */
interface Draft {
  /** Hex digits, or the mark of a new memory, which gets its id by the commit. */
  readonly memoryId: string
  readonly path: string
  readonly content: string | undefined
  readonly created: number
}

/** The rows of one commit in the order of FORMAT §6.1; none if nothing changes. */
export async function planChanges(
  context: PlanContext,
  changes: readonly Change[],
): Promise<readonly PlannedRow[]> {
  const build = function* (plan: Plan): Generator<undefined, void> {
    for (const change of changes) yield* plan.add(change)
  }
  return planRows(
    context,
    build,
    changes.flatMap((change) => readBy(context.snapshot, change)),
  )
}

/**
 * The rows that bring memories to given states together: paths must be free only in the result, so
 * two memories can swap their paths. A deleted memory is restored by a row `created` (FORMAT
 * §6.4).
 */
export function planStates(
  context: PlanContext,
  states: readonly StateChange[],
): Promise<readonly PlannedRow[]> {
  return planRows(context, (plan) => plan.reach(states))
}

/** The memories whose contents a change needs, as far as known before planning. */
function readBy({ paths }: Snapshot, change: Change): readonly LiveMemory[] {
  if (change.type === 'create' || change.type === 'delete') return []
  if (typeof change.path !== 'string') return []
  const node = paths.find(change.path)
  if (change.type !== 'rename') return node?.memory === undefined ? [] : [node.memory]
  return node === undefined || node.count > rowsMax ? [] : [...memoriesBelow(node)]
}

async function planRows(
  context: PlanContext,
  build: (plan: Plan) => Generator<undefined, void>,
  read: readonly LiveMemory[] = [],
): Promise<readonly PlannedRow[]> {
  const plan = new Plan(context)
  await plan.readAhead(read)
  // No other command runs: until `restoreSnapshot`, the snapshot's paths are not the head's.
  try {
    await inSlices(build(plan))
  } finally {
    await inSlices(plan.restoreSnapshot())
  }
  return plan.rows()
}

/**
 * Works on the snapshot's own directory tree, so that each change sees the ones before it, and
 * puts the tree back afterwards.
 */
class Plan {
  readonly #context: PlanContext
  /** Each touched memory before the plan and as planned. */
  readonly #before: Map<string, LiveMemory | undefined> = new Map()
  readonly #after: Map<string, Draft | undefined> = new Map()
  /** The entry in the directory tree for each touched memory. */
  readonly #placed: Map<string, LiveMemory> = new Map()

  /** The number of memories that the plan has created. */
  #created = 0

  /** Contents that were read for the plan, by version. */
  readonly #contents: Map<string, string> = new Map()

  constructor(context: PlanContext) {
    this.#context = context
  }

  /** Reads contents before planning, which cannot pause while it handles one memory. */
  async readAhead(memories: readonly LiveMemory[]): Promise<void> {
    const slice = new TimeSlice()
    for (const memory of memories) {
      this.#contents.set(memory.versionId, this.#context.readContent(memory))
      if (slice.isOver()) await slice.next()
    }
  }

  /** Plans a change. Yields for each memory. */
  *add(change: Change): Generator<undefined, void> {
    yield
    switch (change.type) {
      case 'create':
        return this.#create(change.path, change.content)
      case 'write':
        return this.#write(change.path, change.content)
      case 'edit':
        return this.#edit(change.path, change.edit)
      case 'delete':
        return yield* this.#delete(change.path)
      case 'rename':
        return yield* this.#rename(change.path, change.to)
      default:
        throw new StoreError(
          'invalid_input',
          'The type of a change must be create, write, edit, delete or rename',
        )
    }
  }

  *reach(states: readonly StateChange[]): Generator<undefined, void> {
    const { snapshot } = this.#context
    const count = snapshot.count
    for (const { memoryId } of states) {
      assert(!this.#after.has(memoryId), 'a memory is given one state')
      const live = this.#current(memoryId).live
      if (live === undefined) this.#after.set(memoryId, undefined)
      else this.#displace(live)
      yield
    }
    for (const { memoryId, target } of states) {
      if (target !== undefined) this.#reach(memoryId, target.path, target.content)
      yield
    }
    if (snapshot.count > count) this.#checkCount(snapshot.count)
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

  *restoreSnapshot(): Generator<undefined, void> {
    const { paths } = this.#context.snapshot
    for (const memory of this.#placed.values()) {
      paths.remove(memory)
      yield
    }
    for (const memory of this.#before.values()) {
      if (memory !== undefined) paths.add(memory)
      yield
    }
  }

  #create(path: string, content: string): void {
    checkNewPath(path)
    const { snapshot, now } = this.#context
    this.#checkFree(path)
    this.#checkContent(path, content)
    this.#checkCount(snapshot.count + 1)
    this.#created += 1
    const memoryId = `${NEW}${String(this.#created).padStart(NEW_DIGITS, '0')}`
    this.#place(undefined, { memoryId, path, content, created: now })
  }

  #write(path: string, content: string): void {
    if (this.#context.snapshot.paths.findMemory(checkPath(path)) === undefined) {
      this.#create(path, content)
    } else {
      this.#edit(path, () => content)
    }
  }

  #edit(path: string, edit: (content: string) => string): void {
    if (typeof edit !== 'function')
      throw new StoreError('invalid_input', 'The edit of a change must be a function')
    const memory = this.#getFile(path)
    const before = this.#contentOf(memory)
    const content = edit(before)
    this.#checkContent(path, content)
    if (content === before) return
    this.#place(memory, { ...draftOf(memory), content })
  }

  *#delete(path: string): Generator<undefined, void> {
    for (const memory of this.#getAllBelow(path)) {
      this.#place(memory, undefined)
      yield
    }
  }

  *#rename(path: string, to: string): Generator<undefined, void> {
    if (to !== path) checkNewPath(to)
    const memories = this.#getAllBelow(path)
    if (to === path) throw alreadyExists(to)
    const isFile = this.#context.snapshot.paths.findMemory(path) !== undefined
    if (!isFile && to.startsWith(`${path}/`)) {
      throw new StoreError('path_conflict', 'A directory cannot be moved into itself', {
        details: { path: to },
      })
    }
    const drafts = memories.map((memory) => ({
      memory,
      draft: {
        ...draftOf(memory),
        path: checkNewPath(to + memory.path.slice(path.length)),
        content: this.#contentOf(memory),
      },
    }))
    // All sources are removed before any target is added, so that a file can move below itself.
    for (const { memory } of drafts) {
      this.#displace(memory)
      yield
    }
    this.#checkFree(to)
    for (const { memory, draft } of drafts) {
      this.#place(memory, draft)
      yield
    }
  }

  #reach(memoryId: string, path: string, content: string): void {
    const { live, created } = this.#current(memoryId)
    // A path that the memory had, which a reader took: no new one.
    checkPath(path)
    this.#checkFree(path)
    // A content that does not change may exceed a limit that was lowered since.
    if (live === undefined || digestOf(content) !== live.sha256) this.#checkContent(path, content)
    this.#place(undefined, { memoryId, path, content, created })
  }

  #current(memoryId: string): CurrentVersion {
    const current = this.#context.snapshot.current.get(memoryId)
    if (current !== undefined) return current
    throw new StoreError('not_found', 'No such memory has ever existed', {
      details: { memoryId: formatId('memory', memoryId) },
    })
  }

  #getFile(path: string): LiveMemory {
    checkPath(path)
    const memory = this.#context.snapshot.paths.findMemory(path)
    if (memory === undefined) throw notFound(path)
    return memory
  }

  #getAllBelow(path: string): readonly LiveMemory[] {
    if (path === '/') {
      throw new StoreError('invalid_path', 'The root directory cannot be deleted or renamed')
    }
    const node = this.#context.snapshot.paths.find(checkPath(path))
    if (node === undefined) throw notFound(path)
    checkRowCount(node.count)
    return [...memoriesBelow(node)]
  }

  #checkFree(path: string): void {
    const occupant = this.#context.snapshot.paths.findOccupant(path)
    if (occupant === undefined) return
    const { memoryId } = occupant
    throw alreadyExists(occupant.path, isNew(memoryId) ? undefined : memoryId)
  }

  #checkCount(actual: number): void {
    const limit = this.#context.snapshot.settings.value.limits.memories
    if (actual <= limit) return
    throw new StoreError('store_full', `The store is full: its limit is ${limit} memories`, {
      details: { actual, limit },
    })
  }

  #checkContent(path: string, content: string): void {
    checkContent(path, content, this.#context.snapshot.settings.value)
  }

  /** The content as planned so far, or as stored. */
  #contentOf(memory: LiveMemory): string {
    return (
      this.#after.get(memory.memoryId)?.content ??
      this.#contents.get(memory.versionId) ??
      this.#context.readContent(memory)
    )
  }

  #displace(memory: LiveMemory): void {
    if (!this.#before.has(memory.memoryId)) this.#before.set(memory.memoryId, memory)
    this.#context.snapshot.paths.remove(memory)
    this.#placed.delete(memory.memoryId)
    this.#after.set(memory.memoryId, undefined)
  }

  /** Replaces `memory`, if it is still in the directory tree, by `draft`; both are optional. */
  #place(memory: LiveMemory | undefined, draft: Draft | undefined): void {
    const { paths } = this.#context.snapshot
    if (memory !== undefined && paths.findMemory(memory.path) === memory) this.#displace(memory)
    if (draft === undefined) return
    if (!this.#before.has(draft.memoryId)) this.#before.set(draft.memoryId, undefined)
    const standIn = standInFor(draft)
    paths.add(standIn)
    this.#placed.set(draft.memoryId, standIn)
    this.#after.set(draft.memoryId, draft)
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
    const content = after.content ?? ''
    const digest = digestOf(content)
    if (before?.path === after.path && before.sha256 === digest) return undefined
    const operation = before === undefined ? 'created' : 'modified'
    const { path, created } = after
    const text = { content, size: Buffer.byteLength(content), sha256: digest }
    const id = isNew(memoryId) ? zeroId : memoryId
    return { memoryId: id, base, operation, path, ...text, created }
  }
}

/** Begins the mark of a new memory; sorts before hex digits, as new memories' rows do. */
const NEW = '+'
const NEW_DIGITS = 7

function isNew(memoryId: string): boolean {
  return memoryId.startsWith(NEW)
}

/** SHA-256 of a text's UTF-8 bytes, 64 hex digits. */
export function digestOf(content: string): string {
  return sha256OfText(content)
}

function draftOf(memory: LiveMemory): Draft {
  const { memoryId, path, created } = memory
  return { memoryId, path, content: undefined, created }
}

/** Represents a draft in the directory tree during planning. */
function standInFor(draft: Draft): LiveMemory {
  const { memoryId, path, created } = draft
  const size = Buffer.byteLength(draft.content ?? '')
  const unknown = { versionId: '', sha256: '', blob: '', kid: '' }
  return { memoryId, path, size, created, updated: created, ...unknown }
}
