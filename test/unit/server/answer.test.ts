// Answers to what failed (Memory Stores API §2): what they say, and what they must not.

import { expect, test } from 'vitest'
import { type ErrorCode, type ErrorDetails, StoreError } from '../../../src/errors.ts'
import { errorAnswer } from '../../../src/server/answer.ts'

const answer = (code: ErrorCode, details: ErrorDetails = {}) =>
  errorAnswer(new StoreError(code, 'What failed', { details }), 'req_1')

test('the envelope names type, message and request', () => {
  expect(answer('invalid_input', { path: '/a' })).toEqual({
    status: 400,
    headers: {},
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'What failed' },
      request_id: 'req_1',
    },
  })
})

test('a path that is taken names the memory in the way, and is not tried again', () => {
  const { headers, body } = answer('path_conflict', { path: '/a', memoryId: 'mem_1' })
  expect(body['error']).toEqual({
    type: 'memory_path_conflict_error',
    message: 'What failed',
    conflicting_memory_id: 'mem_1',
    conflicting_path: '/a',
  })
  expect(headers).toEqual({ 'x-should-retry': 'false' })
})

test('without a memory to name, the client tries again', () => {
  const { headers, body } = answer('path_conflict', { path: '/a' })
  expect(body['error']).toMatchObject({ conflicting_memory_id: '', conflicting_path: '/a' })
  expect(headers).toEqual({})
})

test('a precondition that fails is not tried again, other conflicts are', () => {
  expect(answer('precondition_failed').headers).toEqual({ 'x-should-retry': 'false' })
  expect(answer('locked').headers).toEqual({})
})

test('too many requests get the time to come back', () => {
  expect(answer('rate_limited')).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
})

test.each([
  ['of a store', new StoreError('object_corrupt', 'What failed')],
  ['unforeseen', new Error('with a path of the host')],
  ['no error', 'a text'],
])('what is wrong with the server is not told: %s', (_, error) => {
  const { status, body } = errorAnswer(error, 'req_1')
  expect(status).toBe(500)
  expect(body).toEqual({
    type: 'error',
    error: {
      type: 'api_error',
      message: 'The server failed; its log has the error of this request',
    },
    request_id: 'req_1',
  })
})

test('a full disk has a status of its own, and is not retried', () => {
  const { status, headers, body } = answer('storage_full')
  expect([status, headers]).toEqual([507, { 'x-should-retry': 'false' }])
  const message = expect.stringMatching(/disk of the server is full.*reading still works/)
  expect(body['error']).toEqual({ type: 'api_error', message })
})
