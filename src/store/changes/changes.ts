// Planning: turns a request into the rows of a commit (docs/ARCHITECTURE.md, the life of a write).
// Writes nothing. A request that cannot be fulfilled throws.

import { sha256OfText } from '../../crypto/digest.ts'
import { assert, StoreError } from '../../errors.ts'
import { findId } from '../../format/id.ts'
import { checkNewPath, checkPath } from '../../format/path.ts'
import { rowsMax } from '../../limits.ts'
import { appendLines } from '../../text/text-edit.ts'
import { inSlices } from '../../time-slice.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { memoriesBelow } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import {
  alreadyExists,
  checkExpected,
  checkRowCount,
  notFound,
  notFoundById,
} from './change-refusals.ts'
import { type PlanContext, PlannedState } from './planned-state.ts'

/**
 * One change. Paths are store paths (`/notes.md`), ids `mem_…`; contents are text, stored as UTF-8.
 * `expectedSha256` is that of the content, 64 lower-case hex digits: another one refuses the change
 * with `precondition_failed`.
 */
export type Change =
  | { readonly type: 'create'; readonly path: string; readonly content: string }
  /** Creates the memory or replaces its content; with an expected hash, there must be one. */
  | {
      readonly type: 'write'
      readonly path: string
      readonly content: string
      /** Not looked at if the memory has the content already. */
      readonly expectedSha256?: string | undefined
    }
  | {
      readonly type: 'edit'
      readonly path: string
      /** The new content, from the current one. Must be pure: it may run more than once. */
      readonly edit: (content: string) => string
      readonly expectedSha256?: string | undefined
    }
  /** Adds lines at the end, or creates the memory with them, in one step. */
  | { readonly type: 'append'; readonly path: string; readonly content: string }
  /** Content, path or both of one memory, in one version (Memory Stores API §6.5 to §6.8). */
  | {
      readonly type: 'update'
      readonly memoryId: string
      readonly content?: string | undefined
      readonly path?: string | undefined
      /** Not looked at if the memory has the content and the path already. */
      readonly expectedSha256?: string | undefined
    }
  /** A directory has no hash to expect. */
  | {
      readonly type: 'delete'
      readonly path: string
      readonly expectedSha256?: string | undefined
    }
  | {
      readonly type: 'delete'
      readonly memoryId: string
      readonly expectedSha256?: string | undefined
    }
  | { readonly type: 'rename'; readonly path: string; readonly to: string }

type MemoryUpdate = Extract<Change, { readonly type: 'update' }>

/** The new state of a live or deleted memory. The id is in hex. */
export interface StateChange {
  readonly memoryId: string
  /** Undefined to delete the memory. */
  readonly target: { readonly path: string; readonly content: string } | undefined
}

/** What changes come to. */
export interface PlannedChanges {
  /** In the order of FORMAT §6.1; none if nothing changes. */
  readonly rows: readonly PlannedRow[]
  /** The path of the memory that each change leaves; undefined for directories and deletions. */
  readonly paths: readonly (string | undefined)[]
}

export async function planChanges(
  context: PlanContext,
  changes: readonly Change[],
): Promise<PlannedChanges> {
  const state = new PlannedState(context)
  const touched: (string | undefined)[] = []
  const build = function* (): Generator<undefined, void> {
    for (const change of changes) {
      yield
      touched.push(yield* plan(state, change))
    }
  }
  await state.readAhead(changes.flatMap((change) => readBy(context.snapshot, change)))
  const rows = await planRows(state, build())
  const paths = touched.map((id) => (id === undefined ? undefined : state.findLive(id)?.path))
  return { rows, paths }
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
  const state = new PlannedState(context)
  return planRows(state, reach(state, states, context.snapshot.count))
}

/** The memories whose contents a change needs, as far as known before planning. */
function readBy({ paths }: Snapshot, change: Change): readonly LiveMemory[] {
  if (change.type === 'create' || change.type === 'update') return []
  if (!('path' in change)) return []
  if (change.type === 'delete' && change.expectedSha256 === undefined) return []
  if (typeof change.path !== 'string') return []
  const node = paths.find(change.path)
  if (change.type !== 'rename') return node?.memory === undefined ? [] : [node.memory]
  return node === undefined || node.count > rowsMax ? [] : [...memoriesBelow(node)]
}

async function planRows(
  state: PlannedState,
  build: Generator<undefined, void>,
): Promise<readonly PlannedRow[]> {
  await inSlices(build)
  return state.rows()
}

/**
 * Plans a change; yields for each memory. Returns the only memory that it is about, if it leaves
 * that: an id, or the mark of a new one.
 */
function* plan(state: PlannedState, change: Change): Generator<undefined, string | undefined> {
  switch (change.type) {
    case 'create':
      return create(state, change.path, change.content)
    case 'write':
      return write(state, change)
    case 'edit':
      return edit(state, change)
    case 'append':
      return append(state, change.path, change.content)
    case 'update':
      return updateById(state, change)
    case 'delete':
      if ('memoryId' in change) return deleteById(state, change)
      return yield* deleteAll(state, change)
    case 'rename':
      return yield* rename(state, change.path, change.to)
    default:
      throw new StoreError(
        'invalid_input',
        'The type of a change must be create, write, edit, append, update, delete or rename',
      )
  }
}

function create(state: PlannedState, path: string, content: string): string {
  checkNewPath(path)
  state.checkFree(path)
  state.checkContent(path, content)
  state.checkCount(1)
  return state.create(path, content)
}

function write(state: PlannedState, change: Extract<Change, { readonly type: 'write' }>): string {
  const { path, content } = change
  checkExpected(change)
  const memory = state.paths.findMemory(checkPath(path))
  if (memory !== undefined) return setContent(state, memory, change)
  if (change.expectedSha256 !== undefined) throw notFound(path)
  return create(state, path, content)
}

function edit(state: PlannedState, change: Extract<Change, { readonly type: 'edit' }>): string {
  const { path } = change
  if (typeof change.edit !== 'function')
    throw new StoreError('invalid_input', 'The edit of a change must be a function')
  checkExpected(change)
  const memory = state.paths.findMemory(checkPath(path))
  if (memory === undefined) throw notFound(path)
  const before = state.contentOf(memory)
  checkExpected(change, path, () => sha256OfText(before))
  return setContent(state, memory, { content: change.edit(before) })
}

function append(state: PlannedState, path: string, content: string): string {
  const memory = state.paths.findMemory(checkPath(path))
  if (memory === undefined) return create(state, path, content)
  // Before it is joined, which would turn any other value into a text.
  state.checkContent(path, content)
  return setContent(state, memory, { content: appendLines(state.contentOf(memory), content) })
}

/** Equal content and path change nothing, and are tested before the expected hash. */
function updateById(state: PlannedState, change: MemoryUpdate): string {
  const { memoryId: id, content, path } = change
  if (content === undefined && path === undefined) {
    throw new StoreError('invalid_input', 'An update needs a content or a path')
  }
  const memory = getById(state, id, change)
  const before = state.contentOf(memory)
  const next = { path: path ?? memory.path, content: content ?? before }
  const isMoved = next.path !== memory.path
  const isEdited = next.content !== before
  if (!isMoved && !isEdited) return memory.memoryId
  if (isMoved) checkNewPath(next.path)
  if (isEdited) state.checkContent(next.path, next.content)
  checkExpected(change, memory.path, () => sha256OfText(before))
  // Its own path is free for it, and so is what lies above or below that.
  state.remove(memory)
  state.checkFree(next.path)
  const { memoryId, created } = memory
  state.place({ memoryId, ...next, created })
  return memoryId
}

/** Gives a memory a content, unless it has it, which is tested before the expected hash. */
function setContent(
  state: PlannedState,
  memory: LiveMemory,
  change: { readonly content: string; readonly expectedSha256?: string | undefined },
): string {
  const { memoryId, path, created } = memory
  const { content } = change
  state.checkContent(path, content)
  const before = state.contentOf(memory)
  if (content === before) return memoryId
  checkExpected(change, path, () => sha256OfText(before))
  state.place({ memoryId, path, content, created }, memory)
  return memoryId
}

function deleteById(
  state: PlannedState,
  change: { readonly memoryId: string; readonly expectedSha256?: string | undefined },
): undefined {
  const memory = getById(state, change.memoryId, change)
  checkExpected(change, memory.path, () => sha256OfText(state.contentOf(memory)))
  state.remove(memory)
}

function* deleteAll(
  state: PlannedState,
  change: Extract<Change, { readonly path: string; readonly type: 'delete' }>,
): Generator<undefined, undefined> {
  const { path } = change
  checkExpected(change)
  const memories = getAllBelow(state, path)
  if (change.expectedSha256 !== undefined) checkIsExpected(state, change)
  for (const memory of memories) {
    state.remove(memory)
    yield
  }
}

function checkIsExpected(
  state: PlannedState,
  change: { readonly path: string; readonly expectedSha256?: string | undefined },
): void {
  const { path } = change
  const memory = state.paths.findMemory(path)
  if (memory !== undefined) {
    checkExpected(change, path, () => sha256OfText(state.contentOf(memory)))
    return
  }
  throw new StoreError('invalid_input', 'A directory has no SHA-256 to expect', {
    details: { path, parameter: 'expectedSha256' },
  })
}

function* rename(
  state: PlannedState,
  path: string,
  to: string,
): Generator<undefined, string | undefined> {
  if (to !== path) checkNewPath(to)
  const memories = getAllBelow(state, path)
  const file = state.paths.findMemory(path)
  if (to === path) throw alreadyExists(to)
  if (file === undefined && to.startsWith(`${path}/`)) {
    throw new StoreError('path_conflict', 'A directory cannot be moved into itself', {
      details: { path: to },
    })
  }
  const drafts = memories.map((memory) => ({
    memoryId: memory.memoryId,
    path: checkNewPath(to + memory.path.slice(path.length)),
    content: state.contentOf(memory),
    created: memory.created,
  }))
  // All sources are removed before any target is added, so that a file can move below itself.
  for (const memory of memories) {
    state.remove(memory)
    yield
  }
  state.checkFree(to)
  for (const draft of drafts) {
    state.place(draft)
    yield
  }
  return file?.memoryId
}

function* reach(
  state: PlannedState,
  states: readonly StateChange[],
  count: number,
): Generator<undefined, void> {
  for (const { memoryId } of states) {
    assert(!state.isPlanned(memoryId), 'a memory is given one state')
    state.removeById(memoryId)
    yield
  }
  for (const { memoryId, target } of states) {
    if (target !== undefined) reachOne(state, memoryId, target)
    yield
  }
  if (state.paths.root.count > count) state.checkCount(0)
}

function reachOne(
  state: PlannedState,
  memoryId: string,
  { path, content }: { readonly path: string; readonly content: string },
): void {
  const { live, created } = state.getCurrent(memoryId)
  // A path that the memory had, which a reader took: no new one.
  checkPath(path)
  state.checkFree(path)
  // A content that does not change may exceed a limit that was lowered since.
  if (live === undefined || sha256OfText(content) !== live.sha256) state.checkContent(path, content)
  state.place({ memoryId, path, content, created })
}

/** Throws `not_found`, or `invalid_input` for anything but a hash, whatever the memory is. */
function getById(
  state: PlannedState,
  memoryId: string,
  change: { readonly expectedSha256?: string | undefined },
): LiveMemory {
  checkExpected(change)
  if (typeof memoryId !== 'string') {
    throw new StoreError('invalid_input', 'The id of a memory must be text')
  }
  const id = findId('memory', memoryId)
  const memory = id === undefined ? undefined : state.findLive(id)
  if (memory === undefined) throw notFoundById(memoryId)
  return memory
}

function getAllBelow(state: PlannedState, path: string): readonly LiveMemory[] {
  if (path === '/') {
    throw new StoreError('invalid_path', 'The root directory cannot be deleted or renamed')
  }
  const node = state.paths.find(checkPath(path))
  if (node === undefined) throw notFound(path)
  checkRowCount(node.count)
  return [...memoriesBelow(node)]
}
