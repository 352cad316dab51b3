// The search for memories: beyond the Memory Stores API, in its names and shapes.

import { z } from 'zod'
import type { MemoryStore } from '../store/memory-store.ts'
import type { SearchHit, SearchQuery } from '../store/search/search-query.ts'
import type { Operation, OperationContext } from './operations.ts'
import { parameters, pathText } from './schemas.ts'
import { pageFields, type PageInput } from './wire-fields.ts'
import { memoryObject, pageJson, type Wire } from './wire.ts'

export interface SearchMemories extends PageInput {
  readonly query: string
  readonly path?: string | undefined
  readonly prefix?: boolean | undefined
  readonly fuzzy?: boolean | undefined
  readonly regex?: boolean | undefined
}

/** Of a store as it is now: what a search needs of the context. */
export interface SearchContext extends OperationContext {
  readonly store: MemoryStore
}

export const searchMemories: Operation<SearchMemories, Wire, SearchContext> = {
  name: 'the search for memories',
  effect: 'read',
  input: parameters({
    query: queryField(),
    path: pathText('a directory or a file to search in').optional(),
    prefix: choice('true, the default, where words that begin with those of the query match too'),
    fuzzy: choice('true, where words that differ by a few letters match too'),
    regex: choice('true, where the query is a regular expression, matched line by line'),
    ...pageFields,
  }),
  run: async ({ store }, { page: after, ...query }) => searchPage(store, { ...query, after }),
}

/** A page of hits: the memories without contents, and why they were found. */
async function searchPage(store: MemoryStore, query: SearchQuery): Promise<Wire> {
  const { data, nextPage } = await store.search(query)
  return pageJson(
    data.map((hit) => hitObject(store.id, hit)),
    nextPage,
  )
}

export function hitObject(storeId: string, { memory, score, line, snippet }: SearchHit): Wire {
  return {
    type: 'memory_search_hit',
    memory: memoryObject(storeId, memory),
    score,
    line: line ?? null,
    snippet,
  }
}

function queryField(): z.ZodString {
  const expected = 'a string that is not empty, the words to search for'
  return z.string({ error: expected }).min(1, { error: expected }).describe(expected)
}

function choice(what: string): z.ZodOptional<z.ZodBoolean> {
  const expected = `a boolean: ${what}`
  return z.boolean({ error: expected }).describe(expected).optional()
}
