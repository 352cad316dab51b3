// Answers and messages are well-formed Unicode, even if they repeat half a surrogate pair.

import { expect, test } from 'vitest'
import { memoryTool } from '../../../src/anthropic/memory-tool.ts'
import { CommandError } from '../../../src/cli/call/command.ts'
import { answerText, errorText } from '../../../src/cli/terminal/output.ts'
import { StoreError } from '../../../src/errors.ts'
import { newStore } from '../../support/stores.ts'

const half = 'a\ud800b'

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

test('an error repeats no half pair, in its message, its details and its hint', () => {
  const details = { path: `/${half}`, parameter: half }
  const error = new StoreError('invalid_path', `Not a path: ${half}`, { details })
  expect(error.message).toBe('Not a path: a\ufffdb')
  expect(error.details).toEqual({ path: '/a\ufffdb', parameter: 'a\ufffdb' })
  const command = new CommandError('not_found', half, `Try ${half}`, { facts: { name: half } })
  expect(errorText(command, false, undefined).isWellFormed()).toBe(true)
  const strings = stringsIn(JSON.parse(errorText(command, true, undefined)))
  expect(strings.filter((text) => !text.isWellFormed())).toEqual([])
})

test('a JSON answer has no lone surrogate', () => {
  const text = answerText({ text: '', json: { data: [{ path: half }] } }, true, false)
  expect(JSON.parse(text)).toEqual({ data: [{ path: 'a\ufffdb' }] })
})

test.each([
  { command: 'view', path: `/memories/${half}` },
  { command: 'create', path: '/memories/a.md', file_text: half },
  { command: 'create', path: `/memories/${half}`, file_text: '' },
  { command: 'str_replace', path: '/memories/a.md', old_str: half, new_str: '' },
  { command: 'insert', path: '/memories/a.md', insert_line: half, insert_text: '' },
  { command: 'rename', old_path: `/memories/${'x'.repeat(199)}\u{1f600}`, new_path: half },
] as const)('the memory tool refuses %j with well-formed text', async (input) => {
  const { store } = await newStore()
  await store.as({ actor: { type: 'user', id: 'alice' } }).write('/a.md', 'text\n')
  const refusal = await memoryTool(store, { session: 's' })
    .run(input)
    .catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(Error)
  expect(String(refusal).isWellFormed()).toBe(true)
})
