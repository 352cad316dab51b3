// The tools in addition to the six commands of the memory tool: their names, descriptions and
// answers. The operations behind them are in operations/.

import { assert } from '../errors.ts'
import { commands } from '../memory-tool/commands.ts'
import { formatSize } from '../memory-tool/render.ts'
import { commandOf } from '../memory-tool/run-command.ts'
import { memoryToolDescription, memoryToolSchema } from '../memory-tool/schema.ts'
import type { Effect } from '../operations/operation.ts'
import * as operations from '../operations/path-operations.ts'
import type { ReadResult } from '../operations/path-operations.ts'
import type { ObjectSchema } from '../operations/schemas.ts'
import { pageJson, timestamp, type Wire } from '../operations/wire.ts'
import { doubtSentence } from '../store/history/doubtful-times.ts'
import type { Version } from '../store/history/versions.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { RevertStep } from '../store/revert/revert-plan.ts'
import type { SearchHit } from '../store/search/search-query.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'
import { type At, runAt, type Tool, toolOf, type ToolResult } from './tool-call.ts'

/** The most characters of a reason that are shown. */
const REASON_MAX = 200

const text: Wire = { type: 'string' }
const textOrNull: Wire = { type: ['string', 'null'] }
const number: Wire = { type: 'integer' }
const operationSchema: Wire = { enum: ['created', 'modified', 'deleted'] }

/** All properties are always there. */
function object(properties: Readonly<Record<string, Wire>>): ObjectSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

function pageSchema(items: Wire): ObjectSchema {
  return object({ data: { type: 'array', items }, next_page: textOrNull })
}

interface ValueKind<Item> {
  readonly properties: Readonly<Record<string, Wire>>
  readonly schema: ObjectSchema
  readonly of: (item: Item, at: At) => Wire
}

function kindOf<Item>(
  fields: Readonly<Record<string, readonly [schema: Wire, of: (item: Item, at: At) => unknown]>>,
): ValueKind<Item> {
  const entries = Object.entries(fields)
  const properties = Object.fromEntries(entries.map(([name, [schema]]) => [name, schema]))
  return {
    properties,
    schema: object(properties),
    of: (item, at) => Object.fromEntries(entries.map(([name, [, of]]) => [name, of(item, at)])),
  }
}

function shownPath({ space, mount }: At, path: string): string {
  return space.shown(mount, path)
}

function shownOrNull(at: At, path: string | undefined): string | null {
  return path === undefined ? null : shownPath(at, path)
}

const info = kindOf<MemoryInfo>({
  memory_id: [text, ({ memoryId }) => memoryId],
  version_id: [text, ({ versionId }) => versionId],
  sha256: [text, ({ sha256 }) => sha256],
  size_bytes: [number, ({ sizeBytes }) => sizeBytes],
  updated_at: [text, ({ updatedAt }) => timestamp(updatedAt)],
})

const memorySchema: ObjectSchema = object({ path: text, ...info.properties })

/** What a change of one memory leaves is there. */
function memoryOf(memory: MemoryInfo | undefined, at: At): Wire {
  assert(memory !== undefined, 'a change of one memory leaves it')
  return { path: shownPath(at, memory.path), ...info.of(memory, at) }
}

/** A directory has a path alone. */
const itemSchema: ObjectSchema = {
  type: 'object',
  properties: { path: text, type: { enum: ['memory', 'directory'] }, ...info.properties },
  required: ['path', 'type'],
}

function itemOf(item: ListedMemory | MemoryPrefix, at: At): Wire {
  const path = shownPath(at, item.path)
  if (item.type === 'memory_prefix') return { path, type: 'directory' }
  return { path, type: 'memory', ...info.of(item, at) }
}

const hitKind: ValueKind<SearchHit> = kindOf({
  path: [text, ({ memory }, at) => shownPath(at, memory.path)],
  line: [{ type: ['integer', 'null'] }, ({ line }) => line ?? null],
  snippet: [text, snippetOf],
  sha256: [text, ({ memory }) => memory.sha256],
})

/** Where only the path matches, the snippet is that of the store. */
function snippetOf({ memory, line, snippet }: SearchHit, at: At): string {
  return line === undefined ? shownPath(at, memory.path) : snippet
}

const readKind: ValueKind<ReadResult> = kindOf({
  path: [text, ({ path }, at) => shownPath(at, path)],
  content: [text, ({ content }) => content],
  memory_id: [text, ({ memoryId }) => memoryId],
  version_id: [text, ({ versionId }) => versionId],
  sha256: [
    { type: 'string', description: 'The SHA-256 of the whole text' },
    ({ sha256 }) => sha256,
  ],
  updated_at: [text, ({ updatedAt }) => timestamp(updatedAt)],
  offset: [number, ({ offset }) => offset],
  next_offset: [
    {
      type: ['integer', 'null'],
      description: 'Where the rest begins; null at the end of the text',
    },
    ({ nextOffset }) => nextOffset ?? null,
  ],
  length: [
    { type: 'integer', description: 'The length of the whole text, in UTF-16 units' },
    ({ length }) => length,
  ],
})

const versionKind: ValueKind<Version> = kindOf({
  version_id: [text, ({ versionId }) => versionId],
  memory_id: [text, ({ memoryId }) => memoryId],
  operation: [operationSchema, (version) => version.operation],
  path: [
    { type: ['string', 'null'], description: 'Null once it is erased' },
    ({ path }, at) => shownOrNull(at, path),
  ],
  moved_from: [textOrNull, ({ movedFrom }, at) => shownOrNull(at, movedFrom)],
  sha256: [textOrNull, ({ sha256 }) => sha256 ?? null],
  size_bytes: [{ type: ['integer', 'null'] }, ({ sizeBytes }) => sizeBytes ?? null],
  created_at: [text, ({ createdAt }) => timestamp(createdAt)],
  created_by: [
    textOrNull,
    ({ createdBy: actor }) => (actor === undefined ? null : `${actor.type}:${actor.id}`),
  ],
  session: [textOrNull, ({ session }) => session ?? null],
  reason: [textOrNull, ({ reason }) => reason?.slice(0, REASON_MAX).toWellFormed() ?? null],
  redacted: [{ type: 'boolean' }, ({ redactedAt }) => redactedAt !== undefined],
})

const stepKind: ValueKind<RevertStep> = kindOf({
  memory_id: [text, ({ memoryId }) => memoryId],
  operation: [operationSchema, (step) => step.operation],
  path: [text, stepPath],
})

function stepPath({ before, after }: RevertStep, at: At): string {
  return shownPath(at, (after ?? before)?.path ?? at.mount.root)
}

const list = toolOf(operations.listPaths, {
  name: 'memory_list',
  title: 'List memories',
  description: 'Lists the memories and directories in a directory, with their sizes and hashes.',
  outputSchema: pageSchema(itemSchema),
  present: ({ data, nextPage }, at) => {
    const rows = data.map((item) => {
      const size = item.type === 'memory' ? formatSize(item.sizeBytes) : '-'
      return `${size}\t${shownPath(at, item.path)}`
    })
    const values = data.map((item) => itemOf(item, at))
    return page(rows, values, nextPage, 'There is nothing in it')
  },
  nowhere: async (space) => {
    const paths = space.mounts.map((mount) => `${space.directoryOf(mount)}/`)
    const values = paths.map((path) => ({ path, type: 'directory' }))
    return page(
      paths.map((path) => `-\t${path}`),
      values,
    )
  },
})

const search = toolOf(operations.searchPaths, {
  name: 'memory_search',
  title: 'Search memories',
  description:
    'Finds memories by words in their texts and paths, the best first: path, line and the text ' +
    'around it. Use it before you write, to find facts that are already known.',
  outputSchema: pageSchema(hitKind.schema),
  present: ({ data, nextPage }, at) =>
    presentHits(
      data.map((hit) => ({ hit, at })),
      nextPage,
    ),
  nowhere: async (space, place, input) => {
    const found = space.mounts.map(async (mount) => {
      const at = { space, mount, shown: place.shown }
      const where = { mount, path: mount.root, shown: at.shown, isRoot: true }
      const { data } = await runAt(operations.searchPaths, where, { ...input, page: undefined })
      return data.map((hit) => ({ hit, at }))
    })
    // Of several stores the best of each: none is read on.
    const all = (await Promise.all(found)).flat().toSorted((a, b) => b.hit.score - a.hit.score)
    return presentHits(all.slice(0, input.limit))
  },
})

const read = toolOf(operations.readPath, {
  name: 'memory_read',
  title: 'Read a memory',
  description:
    'Gives the exact text of a memory, or of an earlier version of it, with the hash that a ' +
    'change of it can expect. A long text comes in parts.',
  outputSchema: readKind.schema,
  present: (result, at) => ({ text: result.content, value: readKind.of(result, at) }),
})

const write = toolOf(operations.writePath, {
  name: 'memory_write',
  title: 'Write a memory',
  description: 'Creates a memory, or replaces its whole text. Its directories come by themselves.',
  outputSchema: memorySchema,
  hints: { destructiveHint: true, idempotentHint: true },
  isNew: true,
  present: ({ memories: [memory], versionIds }, at) => {
    const done = versionIds.length === 0 ? 'It has this text already' : 'Written'
    return { text: `${done}: ${at.shown}`, value: memoryOf(memory, at) }
  },
})

const edit = toolOf(operations.editPath, {
  name: 'memory_edit',
  title: 'Edit a memory',
  description: 'Replaces one part of the text of a memory, which must occur exactly once.',
  outputSchema: memorySchema,
  hints: { destructiveHint: true, idempotentHint: false },
  present: ({ memories: [memory] }, at) => ({
    text: `Edited: ${at.shown}`,
    value: memoryOf(memory, at),
  }),
})

const remove = toolOf(operations.deletePath, {
  name: 'memory_delete',
  title: 'Delete a memory',
  description:
    'Deletes a memory, or a directory with all that lies below it. memory_restore brings a ' +
    'memory back.',
  outputSchema: object({ path: text, deleted: { type: 'integer' } }),
  hints: { destructiveHint: true, idempotentHint: false },
  present: ({ versionIds }, { shown }) => ({
    text: `Deleted: ${shown}`,
    value: { path: shown, deleted: versionIds.length },
  }),
})

const history = toolOf(operations.historyOfPath, {
  name: 'memory_history',
  title: 'Show the history of memories',
  description:
    'Lists the versions at a path or below it, the newest first: by whom, when and why. ' +
    'memory_read shows a version, memory_restore brings it back.',
  outputSchema: pageSchema(versionKind.schema),
  present: ({ data, nextPage }, at) => {
    const rows = data.map(({ versionId, createdAt, operation, path, session = '' }) => {
      const where = path === undefined ? '(erased)' : shownPath(at, path)
      return [versionId, timestamp(createdAt), operation, where, session].join('\t')
    })
    const values = data.map((version) => versionKind.of(version, at))
    return page(rows, values, nextPage, 'Nothing was written there')
  },
})

const restore = toolOf(operations.restorePath, {
  name: 'memory_restore',
  title: 'Restore a memory',
  description:
    'Brings a memory back to one of its versions or to its state at a time; without either, a ' +
    'deleted one to its last text. It is a change like any other, which can be taken back.',
  outputSchema: object({ steps: { type: 'array', items: stepKind.schema } }),
  hints: { destructiveHint: true, idempotentHint: true },
  present: ({ steps, doubtful }, at) => {
    const rows = steps.map((step) => `${step.operation}\t${stepPath(step, at)}`)
    const done = rows.join('\n') || 'It is in that state already'
    const value = { steps: steps.map((step) => stepKind.of(step, at)) }
    return { text: doubtful ? `${done}\n\n${doubtSentence(doubtful)}` : done, value }
  },
})

/** In the order in which they are listed. */
export const tools: readonly Tool[] = [list, search, read, write, edit, remove, history, restore]

function presentHits(
  hits: readonly { readonly hit: SearchHit; readonly at: At }[],
  nextPage?: string,
): ToolResult {
  const rows = hits.map(({ hit, at }) => {
    const { memory, line } = hit
    const where = line === undefined ? '' : `:${line}`
    return `${shownPath(at, memory.path)}${where}\t${snippetOf(hit, at)}`
  })
  const values = hits.map(({ hit, at }) => hitKind.of(hit, at))
  return page(rows, values, nextPage, 'Nothing was found')
}

function page(
  rows: readonly string[],
  values: readonly Wire[],
  nextPage?: string,
  empty = '',
): ToolResult {
  const next = nextPage === undefined ? [] : [`[There is more: page ${JSON.stringify(nextPage)}]`]
  const answer = rows.length === 0 ? empty : [...rows, ...next].join('\n')
  return { text: answer, value: pageJson(values, nextPage) }
}

const title = 'Memory'
const inputSchema: ObjectSchema = { ...memoryToolSchema }

export const memoryCommand: Tool = {
  definition: {
    name: 'memory',
    title,
    description: memoryToolDescription,
    inputSchema,
    annotations: {
      title,
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
  },
  effect: 'write',
  run: async (space, input) => ({ text: await commands[commandOf(input)].run(space, input) }),
}

/** A view among the writes waits for them, and they for it. */
export function effectOf(tool: Tool, input: Wire): Effect {
  if (tool !== memoryCommand) return tool.effect
  return input['command'] === 'view' ? 'read' : 'write'
}
