// The operations on memories and versions, on one open store: what they answer, and what they
// refuse, beyond what the suite over HTTP asks.

import { describe, expect, test } from 'vitest'
import type { StoreContext } from '../../../src/api/hosted.ts'
import * as memories from '../../../src/api/memory-operations.ts'
import { type Operation, runOperation } from '../../../src/api/operation.ts'
import { parseInput } from '../../../src/api/schemas.ts'
import type { Wire } from '../../../src/api/wire.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/disk.ts'
import { createCursors } from '../../../src/hosting/cursors.ts'
import { generateIdentity } from '../../../src/index.ts'
import { newStore } from '../../support/stores.ts'

const cursors = createCursors({
  disk: systemDisk,
  identity: await generateIdentity(),
  random: systemRandom,
  storeId: '0'.repeat(32),
})

async function newContext(): Promise<StoreContext> {
  const { store } = await newStore()
  const me = store.as({ actor: { type: 'api', id: 'apikey_1' } })
  return { store, me, access: 'read_write', cursors }
}

// oxlint-disable-next-line typescript/no-explicit-any -- what a test expects of it, it says
type Json = any

function run<Input>(
  context: StoreContext,
  operation: Operation<Input, Wire, StoreContext>,
  input: unknown,
): Promise<Json> {
  return runOperation(operation, context, parseInput(operation.input, input))
}

async function newMemory(context: StoreContext, path: string, content = 'x'): Promise<Json> {
  return run(context, memories.createMemory, { path, content })
}

describe('update', () => {
  test('answers what it left, although another write follows at once', async () => {
    const context = await newContext()
    const { id } = await newMemory(context, '/a', 'text')
    const [moved] = await Promise.all([
      run(context, memories.updateMemory, { memory_id: id, path: '/b', view: 'full' }),
      run(context, memories.updateMemory, { memory_id: id, content: 'later' }),
    ])
    expect(moved).toMatchObject({ path: '/b', content: 'text', content_size_bytes: 4 })
  })

  test.each([
    ['neither content nor path', {}],
    ['null for both', { content: null, path: null }],
    ['a precondition of another type', { content: 'y', precondition: { type: 'not_exists' } }],
    ['a precondition null', { content: 'y', precondition: null }],
    ['no hash', { content: 'y', precondition: { type: 'content_sha256' } }],
    [
      'a hash in capitals, although nothing would change',
      {
        content: 'x',
        precondition: { type: 'content_sha256', content_sha256: 'A'.repeat(64) },
      },
    ],
  ])('refuses %s', async (_, fields) => {
    const context = await newContext()
    const { id } = await newMemory(context, '/a')
    const update = async (): Promise<Json> =>
      run(context, memories.updateMemory, { memory_id: id, ...fields })
    await expect(update()).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('the list of memories', () => {
  async function listed(context: StoreContext, input: object): Promise<readonly string[]> {
    const { data } = await run(context, memories.listMemories, input)
    return data.map(({ path }: { path: string }) => path)
  }

  test('is of what lies below a prefix, by whole segments', async () => {
    const context = await newContext()
    for (const path of ['/a/b', '/a/c/d', '/ab']) await newMemory(context, path)
    expect(await listed(context, { path_prefix: '/a/' })).toEqual(['/a/b', '/a/c/d'])
    expect(await listed(context, { path_prefix: '/a/', depth: 1 })).toEqual(['/a/b', '/a/c/'])
    expect(await listed(context, { path_prefix: '/ab/' })).toEqual([])
    expect(await listed(context, { path_prefix: '/a//' })).toEqual([])
    expect(await listed(context, { path_prefix: '/../' })).toEqual([])
  })

  test('has cursors of its own: of these filters, and of this store', async () => {
    const context = await newContext()
    for (const path of ['/a/1', '/a/2', '/a/3']) await newMemory(context, path)
    const first = await run(context, memories.listMemories, { path_prefix: '/a/', limit: 1 })
    const page = first.next_page
    expect(await listed(context, { path_prefix: '/a/', page })).toEqual(['/a/2', '/a/3'])
    const elsewhere = await newContext()
    const others = [
      () => run(context, memories.listMemories, { page }),
      () => run(context, memories.listMemories, { path_prefix: '/a/', depth: 1, page }),
      () => run(context, memories.listVersions, { page }),
      () => run(elsewhere, memories.listMemories, { path_prefix: '/a/', page }),
    ]
    for (const other of others)
      await expect(other()).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('the list of versions', () => {
  test.each([
    ['its author', { api_key_id: 'apikey_1' }, 1],
    ['another author', { api_key_id: 'apikey_2' }, 0],
    ['an author of another type', { session_id: 'apikey_1' }, 0],
    ['two authors, which no version has', { api_key_id: 'apikey_1', session_id: 'sesn_1' }, 0],
    ['a memory of no form', { memory_id: 'x' }, 0],
    ['another operation', { operation: 'deleted' }, 0],
  ])('by %s', async (_, filter, count) => {
    const context = await newContext()
    await newMemory(context, '/a')
    expect((await run(context, memories.listVersions, filter)).data).toHaveLength(count)
  })
})

describe('redaction', () => {
  test('leaves the current version of a live memory', async () => {
    const context = await newContext()
    const { memory_version_id } = await newMemory(context, '/a')
    await expect(run(context, memories.redactVersion, { memory_version_id })).rejects.toMatchObject(
      { code: 'version_current' },
    )
    expect(await context.store.read('/a')).toMatchObject({ content: 'x' })
  })
})

type Call = (context: StoreContext) => Promise<Json>

test.each<[string, Call]>([
  ['a memory', (c) => run(c, memories.retrieveMemory, { memory_id: 'x' })],
  ['a memory to delete', (c) => run(c, memories.deleteMemory, { memory_id: 'mem_' })],
  ['a version', (c) => run(c, memories.retrieveVersion, { memory_version_id: 'x' })],
  ['a version to redact', (c) => run(c, memories.redactVersion, { memory_version_id: '../x' })],
])('an id of another form is that of nothing: %s', async (_, call) => {
  await expect(call(await newContext())).rejects.toMatchObject({ code: 'not_found' })
})

test.each<[string, Call]>([
  ['created', (c) => run(c, memories.createMemory, { path: '/a', content: '' })],
  ['deleted', (c) => run(c, memories.deleteMemory, { memory_id: 'x' })],
  ['redacted', (c) => run(c, memories.redactVersion, { memory_version_id: 'x' })],
])('where the access is read-only, nothing is %s', async (_, call) => {
  const context: StoreContext = { ...(await newContext()), access: 'read_only' }
  await expect(call(context)).rejects.toMatchObject({ code: 'read_only' })
})
