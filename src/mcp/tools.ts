// The tools in addition to the six commands of the memory tool: their names, descriptions and
// answers. The operations behind them are in api/.

import type { Effect } from '../api/operation.ts'
import * as operations from '../api/path-operations.ts'
import type { ObjectSchema } from '../api/schemas.ts'
import { timestamp, type Wire } from '../api/wire.ts'
import { commands } from '../memory-tool/commands.ts'
import { formatSize } from '../memory-tool/render.ts'
import { commandOf } from '../memory-tool/run-command.ts'
import { memoryToolDescription, memoryToolSchema } from '../memory-tool/schema.ts'
import { runAt, type Tool, toolOf } from './tool-call.ts'
import {
  hitOf,
  itemOf,
  itemSchema,
  memoryOf,
  memorySchema,
  mountItem,
  object,
  pageOf,
  pageSchema,
  readSchema,
  stepOf,
  stepSchema,
  text,
  versionOf,
  versionSchema,
} from './tool-values.ts'

const list = toolOf(operations.listPaths, {
  name: 'memory_list',
  title: 'List memories',
  description: 'Lists the memories and directories in a directory, with their sizes and hashes.',
  outputSchema: pageSchema(itemSchema),
  present: ({ data, nextPage }, at) => {
    const value = pageOf(
      data.map((item) => itemOf(at, item)),
      nextPage,
    )
    const rows = data.map((item) => {
      const size = item.type === 'memory' ? formatSize(item.sizeBytes) : '-'
      return `${size}\t${at.space.shown(at.mount, item.path)}`
    })
    return { text: withNext(rows, nextPage, 'There is nothing in it'), value }
  },
  nowhere: async (space) => {
    const items = space.mounts.map((mount) => mountItem(space, mount))
    return { text: items.map(({ path }) => `-\t${path}`).join('\n'), value: pageOf(items) }
  },
})

const search = toolOf(operations.searchPaths, {
  name: 'memory_search',
  title: 'Search memories',
  description:
    'Finds memories by words in their texts and paths, the best first: path, line and the text ' +
    'around it. Use it before you write, to find facts that are already known.',
  outputSchema: pageSchema(
    object({ path: text, line: { type: ['integer', 'null'] }, snippet: text, sha256: text }),
  ),
  present: ({ data, nextPage }, at) =>
    presentHits(
      data.map((hit) => hitOf(at, hit)),
      nextPage,
    ),
  nowhere: async (space, place, input) => {
    const found = space.mounts.map(async (mount) => {
      const at = { space, mount, shown: place.shown }
      const where = { mount, path: mount.root, shown: at.shown, isRoot: true }
      const { data } = await runAt(operations.searchPaths, where, { ...input, page: undefined })
      return data.map((hit) => ({ score: hit.score, hit: hitOf(at, hit) }))
    })
    // Of several stores the best of each: none is read on.
    const all = (await Promise.all(found)).flat().toSorted((a, b) => b.score - a.score)
    return presentHits(all.slice(0, input.limit).map(({ hit }) => hit))
  },
})

const read = toolOf(operations.readPath, {
  name: 'memory_read',
  title: 'Read a memory',
  description:
    'Gives the exact text of a memory, or of an earlier version of it, with the hash that a ' +
    'change of it can expect. A long text comes in parts.',
  outputSchema: readSchema,
  present: (result, at) => {
    const { content, offset, nextOffset, length, sha256, versionId, memoryId } = result
    const path = at.space.shown(at.mount, result.path)
    const updated = { updated_at: timestamp(result.updatedAt) }
    const ids = { memory_id: memoryId, version_id: versionId, sha256, ...updated }
    const part = { offset, next_offset: nextOffset ?? null, length }
    return { text: content, value: { path, content, ...ids, ...part } }
  },
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
    return { text: `${done}: ${at.shown}`, value: memoryOf(at, memory) }
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
    value: memoryOf(at, memory),
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
  outputSchema: pageSchema(versionSchema),
  present: ({ data, nextPage }, at) => {
    const versions = data.map((version) => versionOf(at, version))
    const rows = versions.map(({ version_id, operation, path, created_at, session }) => {
      return [version_id, created_at, operation, path ?? '(erased)', session ?? ''].join('\t')
    })
    return {
      text: withNext(rows, nextPage, 'Nothing was written there'),
      value: pageOf(versions, nextPage),
    }
  },
})

const restore = toolOf(operations.restorePath, {
  name: 'memory_restore',
  title: 'Restore a memory',
  description:
    'Brings a memory back to one of its versions or to its state at a time; without either, a ' +
    'deleted one to its last text. It is a change like any other, which can be taken back.',
  outputSchema: object({ steps: { type: 'array', items: stepSchema } }),
  hints: { destructiveHint: true, idempotentHint: true },
  present: ({ steps }, at) => {
    const value = { steps: steps.map((step) => stepOf(at, step)) }
    const rows = value.steps.map(({ operation, path }) => `${operation}\t${path}`)
    return { text: rows.join('\n') || 'It is in that state already', value }
  },
})

/** In the order in which they are listed. */
export const tools: readonly Tool[] = [list, search, read, write, edit, remove, history, restore]

function presentHits(
  hits: readonly ReturnType<typeof hitOf>[],
  nextPage?: string,
): { readonly text: string; readonly value: ReturnType<typeof pageOf> } {
  const rows = hits.map(({ path, line, snippet }) => {
    return `${path}${line === null ? '' : `:${line}`}\t${snippet}`
  })
  return { text: withNext(rows, nextPage, 'Nothing was found'), value: pageOf(hits, nextPage) }
}

function withNext(rows: readonly string[], nextPage: string | undefined, empty: string): string {
  if (rows.length === 0) return empty
  const next = nextPage === undefined ? [] : [`[There is more: page ${JSON.stringify(nextPage)}]`]
  return [...rows, ...next].join('\n')
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
