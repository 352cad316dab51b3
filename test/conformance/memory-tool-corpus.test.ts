// Every row of the corpus through the handlers, through a client of MCP, and through the directory
// of one of several stores: the same texts, there with that directory in place of /memories.
// @module-tag slow

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryToolHandlers } from '../../src/anthropic/memory-tool.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { connectTo, type McpCaller } from '../support/mcp-client.ts'
import { author, contentsOf } from '../support/stores.ts'
import { sharedDirectory } from '../support/temporary.ts'
import {
  makeStore,
  outcomeOf,
  testCorpus,
  throughHandlers,
  type Transport,
} from './memory-tool/rig.ts'

describe('through the handlers', () => {
  testCorpus({ transport: throughHandlers, lacks: [] })
})

describe('through the official client of MCP', { tags: 'slow' }, () => {
  const callers = new Map<MemoryStore, Promise<McpCaller>>()
  const throughMcp: Transport = async (store, { command, input }) => {
    const caller = callers.get(store) ?? connectTo(store).then((made) => made.caller)
    callers.set(store, caller)
    const { text, refused } = await (await caller).call('memory', { ...Object(input), command })
    return { text, refused }
  }
  testCorpus({ transport: throughMcp, lacks: ['handlers'] })
})

describe('through one of several stores', { tags: 'slow' }, () => {
  const directory = sharedDirectory()
  const others: { store: MemoryStore; mount: string }[] = []
  beforeAll(async () => {
    for (const mount of ['wor', 'work-2']) {
      const store = await makeStore(join(directory, mount), {})
      await store.as(author).write('/a', mount)
      others.push({ store, mount })
    }
  })
  afterAll(() => Promise.all(others.map(({ store }) => store.close())))

  const throughMount: Transport = async (store, { command, input }) => {
    const mounts = [...others, { store, mount: 'work' }]
    const handlers = memoryToolHandlers(mounts, { session: 'session' })
    const { text, refused } = await outcomeOf(handlers[command](below(input)))
    return { text: String(text).replaceAll('/memories/work', '/memories'), refused }
  }
  testCorpus({ transport: throughMount, lacks: ['root'] })

  test('leaves the other stores unchanged', async () => {
    expect(await Promise.all(others.map(({ store }) => contentsOf(store)))).toEqual([
      { '/a': 'wor' },
      { '/a': 'work-2' },
    ])
  })
})

/** The input with the directory of the store in place of /memories. */
function below(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  const moved = Object.entries(input).map(([name, value]: [string, unknown]) => {
    const isPath = name.endsWith('path') && typeof value === 'string'
    return [name, isPath ? value.replace(/^\/memories(?=\/|$)/, '/memories/work') : value]
  })
  return Object.fromEntries(moved)
}
