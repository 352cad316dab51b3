// The schemas of inputs with zod's replacement for the web: what it takes, gives and refuses.

import { expect, test, vi } from 'vitest'
import * as ofNode from '../../../src/operations/schemas.ts'
import * as webSchema from '../../../src/web/platform/schema.ts'

vi.resetModules()
vi.doMock('../../../src/platform/schema.ts', () => webSchema)
const ofWeb = await import('../../../src/operations/schemas.ts')

const names = [
  'viewInput',
  'createInput',
  'strReplaceInput',
  'insertInput',
  'deleteInput',
  'renameInput',
] as const
const fields = ['path', 'view_range', 'file_text', 'old_str', 'new_str', 'insert_line'] as const
const all = { path: '/a', file_text: 'a', old_str: 'a', insert_line: 1, insert_text: 'b' }
const whole = { ...all, old_path: '/a', new_path: '/b', view_range: [1, -1], new_str: '', other: 1 }
const values = [undefined, null, '', 'a', 'a\0', '\ud800', 0, 1, 1.5, Number.NaN, Infinity, {}]
const ranges = [[], [1], [1, 2], [2, 1], [0, 1], [3, -1], [1, 2, 3], ['1', 2], [1, 1.5]]
const inputs = [
  undefined,
  null,
  'text',
  1,
  [],
  [1],
  {},
  whole,
  ...fields.flatMap((name) => [...values, ...ranges].map((value) => ({ ...whole, [name]: value }))),
]

function resultOf(schemas: typeof ofNode, name: (typeof names)[number], input: unknown): unknown {
  try {
    return schemas.parseInput<unknown>(schemas[name], input)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

test.each(names)('%s takes and refuses the same in the web as on Node', (name) => {
  const results = inputs.map((input) => resultOf(ofWeb, name, input))
  expect(results).toEqual(inputs.map((input) => resultOf(ofNode, name, input)))
  expect(new Set(results.map((result) => typeof result))).toEqual(new Set(['string', 'object']))
})

test('it is not zod itself', () => {
  expect(ofWeb.viewInput).not.toBe(ofNode.viewInput)
  expect(ofWeb.viewInput).toBeInstanceOf(webSchema.z.ZodObject)
})
