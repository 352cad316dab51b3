// The operations beneath the texts of the memory tool: structured results, and codes with details
// that an adapter can word.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErrorDetails } from '../../../src/errors.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import {
  type OperationDefinition,
  type OperationContext,
  runOperation,
} from '../../../src/operations/operation.ts'
import * as operations from '../../../src/operations/operations.ts'
import { parseInput } from '../../../src/operations/schemas.ts'
import { createStore } from '../../../src/store/create.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { sharedDirectory } from '../../support/temporary.ts'

const directory = sharedDirectory()
let made: MemoryStore | undefined

beforeAll(async () => {
  const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
  made = (await createStore({ ...places, identity: await generateIdentity() })).store
  for (const [path, file_text] of [
    ['/notes/a', 'one\ntwo\nthree\nfour\nfive\n'],
    ['/notes/b', 'x x\nx'],
  ] as const) {
    await run(operations.create, { path, file_text })
  }
})
afterAll(() => made?.close())

function context(): OperationContext {
  const author = { actor: { type: 'user', id: 'test' } } as const
  if (made === undefined) throw new Error('the store is made in beforeAll')
  return { store: made, me: made.as(author), access: 'read_write' }
}

function run<Input, Result>(
  operation: OperationDefinition<Input, Result, OperationContext>,
  input: unknown,
): Promise<Result> {
  return runOperation(operation, context(), parseInput(operation.input, input))
}

describe('results', () => {
  test('view of a file: its memory and the lines asked for', async () => {
    const result = await run(operations.view, { path: '/notes/a', view_range: [2, 3] })
    expect(result).toMatchObject({
      type: 'file',
      firstLine: 2,
      lines: ['two', 'three'],
      lineCount: 5,
      memory: { path: '/notes/a', sizeBytes: 24, memoryId: expect.stringMatching(/^mem_/) },
    })
    expect(result).not.toHaveProperty('memory.content')
  })

  test('view of a directory: its listing', async () => {
    const result = await run(operations.view, { path: '/' })
    const notes = { type: 'directory', name: 'notes', sizeBytes: 29 }
    expect(result).toMatchObject({ type: 'directory', listing: { children: [notes] } })
  })

  test('str_replace: the applied change and the snippet', async () => {
    const input = { path: '/notes/a', old_str: 'three', new_str: '3' }
    expect(await run(operations.strReplace, input)).toEqual({
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      versionIds: [expect.stringMatching(/^memver_/)],
      memories: [expect.objectContaining({ path: '/notes/a' })],
      snippet: { firstLine: 1, lines: ['one', 'two', '3', 'four', 'five'] },
    })
    await run(operations.strReplace, { path: '/notes/a', old_str: '3', new_str: 'three' })
  })

  test('a change that changes nothing: no commit and no version', async () => {
    const input = { path: '/notes/a', old_str: 'one', new_str: 'one' }
    const { commit, versionIds } = await run(operations.strReplace, input)
    expect({ commit, versionIds }).toEqual({ commit: undefined, versionIds: [] })
  })

  test('a directory: one commit and a version for each file', async () => {
    const renamed = await run(operations.rename, { old_path: '/notes', new_path: '/n/o' })
    expect(renamed.versionIds).toHaveLength(2)
    const back = await run(operations.rename, { old_path: '/n/o', new_path: '/notes' })
    expect(back.commit).toMatch(/^[0-9a-f]{40}$/)
  })
})

type Failure = readonly [
  what: string,
  attempt: () => Promise<unknown>,
  code: string,
  details: ErrorDetails,
]

const { view, create, strReplace, insert, remove, rename } = operations
const a = '/notes/a'

const failures: readonly Failure[] = [
  ['view of a missing path', () => run(view, { path: '/x' }), 'not_found', { path: '/x' }],
  [
    'a range of a directory',
    () => run(view, { path: '/notes', view_range: [1, 2] }),
    'invalid_input',
    { parameter: 'view_range' },
  ],
  [
    'create the root',
    () => run(create, { path: '/', file_text: '' }),
    'path_conflict',
    { path: '/' },
  ],
  [
    'create on a file',
    () => run(create, { path: a, file_text: '' }),
    'path_conflict',
    { path: a, memoryId: expect.stringMatching(/^mem_/) },
  ],
  [
    'create below a file',
    () => run(create, { path: '/notes/a/b', file_text: '' }),
    'path_conflict',
    { path: a },
  ],
  [
    'replace a text that does not occur',
    () => run(strReplace, { path: a, old_str: '?' }),
    'no_match',
    { path: a },
  ],
  [
    'replace a text that occurs three times',
    () => run(strReplace, { path: '/notes/b', old_str: 'x' }),
    'multiple_matches',
    { path: '/notes/b', lines: [1, 1, 2] },
  ],
  [
    'insert past the end',
    () => run(insert, { path: a, insert_line: 6, insert_text: '' }),
    'invalid_line',
    { path: a, actual: 6, limit: 5 },
  ],
  ['delete a missing path', () => run(remove, { path: '/x' }), 'not_found', { path: '/x' }],
  ['delete the root', () => run(remove, { path: '/' }), 'invalid_path', {}],
  ['rename the root', () => run(rename, { old_path: '/', new_path: '/x' }), 'invalid_path', {}],
  [
    'rename into itself',
    () => run(rename, { old_path: '/notes', new_path: '/notes/n' }),
    'move_into_itself',
    { path: '/notes/n' },
  ],
  [
    'rename onto a parent directory',
    () => run(rename, { old_path: a, new_path: '/notes' }),
    'path_conflict',
    { path: '/notes' },
  ],
  ['an empty segment', () => run(view, { path: '/notes//a' }), 'invalid_path', {}],
  ['no slash', () => run(remove, { path: 'notes' }), 'invalid_path', {}],
]

describe('failures', () => {
  test.each(failures)('%s', async (_, attempt, code, details) => {
    const error = await attempt().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, details })
  })

  test('an input is refused by the name of the parameter', () => {
    expect(() => parseInput(create.input, { path: '/a' })).toThrow(
      expect.objectContaining({ code: 'invalid_input', details: { parameter: 'file_text' } }),
    )
  })

  test('read-only access refuses writes before the store is asked', async () => {
    const readOnly = { ...context(), access: 'read_only' } as const
    const attempt = runOperation(remove, readOnly, { path: '/x' })
    await expect(attempt).rejects.toMatchObject({ code: 'read_only' })
    await expect(runOperation(view, readOnly, { path: a })).resolves.toBeDefined()
  })
})
