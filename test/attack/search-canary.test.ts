// T1, T13, T65: what a search reads leaves no trace: not in files, not in errors, and after a
// redaction not in the index either, which `findResidue` searches.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseId } from '../../src/format/id.ts'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { MemoryStore, SearchQuery } from '../../src/index.ts'
import { findResidue } from '../../src/store/redaction/residue.ts'
import { openSession } from '../../src/store/session/open-session.ts'
import { search } from '../support/canaries.ts'
import { author, newStore, reopen } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const canaries = { content: 'Canary-content-Rr4tY8', path: 'Canary-path-Rr4tY8' }
const queries: readonly Partial<SearchQuery>[] = [
  {},
  {},
  { fuzzy: true },
  { regex: true },
  { allVersions: true },
  { allVersions: true, regex: true },
]

async function countHits(store: MemoryStore, query: string): Promise<readonly number[]> {
  const counts: number[] = []
  for (const options of queries)
    counts.push((await store.search({ query, ...options })).data.length)
  return counts
}

test('T1: a search leaves nothing on the disk', async () => {
  const { store, place } = await newStore()
  const root = place.directory.replace(/\/store$/, '')
  await store.as(author).write(`/${canaries.path}.md`, `${canaries.content}\n`)
  expect(await countHits(store, 'Canary')).toEqual(queries.map(() => 1))
  expect(search(canaries, root)).toEqual([])
  await store.close()
  expect(search(canaries, root)).toEqual([])
})

test.each<Partial<SearchQuery>>([
  { query: `(${canaries.content}`, regex: true },
  { query: `${canaries.content} `.repeat(50) },
  { query: canaries.content, after: canaries.path },
  { query: canaries.content, path: `${canaries.path}//` },
  { query: canaries.content, at: { versionId: canaries.path } },
  { query: canaries.content, at: { time: 1 }, allVersions: true },
])('T1: an error repeats nothing of the query: %#', async (asked) => {
  const { store } = await newStore()
  const error: unknown = await store.search({ query: '', ...asked }).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ code: expect.stringMatching(/^invalid_(input|path)$/) })
  expect(error instanceof Error ? error.message : '').not.toMatch(/canary/i)
  await store.close()
})

describe('T13: after a redaction', () => {
  test('no search of any open handle finds it, and no index has it', { tags: 'slow' }, async () => {
    const { store, place } = await newStore()
    const other = await reopen(place)
    await store.as(author).write('/a.md', `${canaries.content}\n`)
    await store.as(author).write('/b.md', 'canary of another kind\n')
    expect(await countHits(store, 'canary')).toEqual(queries.map(() => 2))
    expect(await countHits(other, 'canary')).toEqual(queries.map(() => 2))
    const request = {
      select: { path: '/a.md' },
      reason: 'leaked_secret',
      current: 'delete',
    } as const
    await other.as(author).redact(request)
    expect(await countHits(store, 'canary')).toEqual(queries.map(() => 1))
    expect(await countHits(other, 'canary')).toEqual(queries.map(() => 1))
    for (const one of [store, other]) {
      expect((await one.maintenance.findResidue()).found).toEqual([])
      await one.close()
    }
  })

  test('an index that still had it would be found', async () => {
    const { store, place } = await newStore()
    await store.as(author).write('/a.md', 'old')
    const request = { select: { path: '/a.md' }, reason: 'legal', current: 'delete' } as const
    const { plan } = await store.as(author).redact(request)
    await store.close()
    const [gone = ''] = plan.versions.map(({ versionId }) => versionId)
    const objects = await openDiskObjectStore({ directory: place.directory })
    const { session } = await openSession(objects, place)
    expect((await findResidue(session, {})).found).toEqual([])
    session.holdTexts({ versionIds: [parseId('version', gone)], clear: () => undefined })
    const { found } = await findResidue(session, {})
    expect(found).toEqual([{ place: 'cache', versionId: gone }])
    await session.close()
  })

  const program = fileURLToPath(new URL('../support/search-heap.mjs', import.meta.url))
  const salt = 'xq7vt2zz'

  test.each([
    ['held', { inHeap: expect.toSatisfy((count: number) => count > 0), left: 3 }],
    ['redacted', { inHeap: 0, left: 0 }],
    // The snapshot in the cache has the path.
    ['reopened', { inHeap: 0, left: 0 }],
  ])('the heap of a process: %s', { tags: 'slow' }, async (mode, expected) => {
    const root = temporaryDirectory()
    const args = [
      '--heap-snapshot-string-limit=10000000',
      program,
      `${root}/store`,
      `${root}/state`,
    ]
    const { stdout } = await promisify(execFile)(process.execPath, [...args, salt, mode])
    expect(JSON.parse(stdout)).toEqual({ found: [3, 3, 3, 20, 3], residue: 0, ...expected })
  })
})
