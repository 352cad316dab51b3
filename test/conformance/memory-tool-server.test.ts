// The memory tool over HTTP, `POST /v1/gitlocket/memory_tool`: which stores a credential reaches,
// where they are, and whether a failure is an answer for the model or an error of the request.

import { rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { newHostPlace } from '../support/hosts.ts'
import { expectDone, expectRefused, type HttpCaller, type Json } from '../support/http-caller.ts'
import { runningServer, type StoreOnServer } from '../support/running-server.ts'
import { lists } from './memory-tool/steps.ts'

const path = '/v1/gitlocket/memory_tool'
const at = runningServer()
let notes: StoreOnServer
let rules: StoreOnServer
let agent: HttpCaller

beforeAll(async () => {
  notes = await at.store({ name: 'My Notes' })
  rules = await at.store({ name: 'Rules' })
  await notes.create('/a.md', '1234')
  await rules.create('/b.md', '12')
  const readOnly = { type: 'memory_store', memory_store_id: rules.id, access: 'read_only' }
  agent = at.as(
    (await at.session([rules, notes].map((one) => (one === rules ? readOnly : one)))).token,
  )
})

async function run(caller: HttpCaller, input: object, more: object = {}): Promise<Json> {
  return expectDone(await caller.post(path, { input, ...more }))
}

describe('the stores', () => {
  test('of a session are directories', async () => {
    expect(await run(agent, { command: 'view', path: '/memories' })).toEqual({
      content: lists(
        '/memories',
        '6B',
        '4B my-notes/',
        '4B my-notes/a.md',
        '2B rules/',
        '2B rules/b.md',
      ).text,
      is_error: false,
    })
  })

  test('of a session of one is a directory, too', async () => {
    const one = at.as((await at.session([notes])).token)
    const { content } = await run(one, { command: 'view', path: '/memories' })
    expect(content).toBe(lists('/memories', '4B', '4B my-notes/', '4B my-notes/a.md').text)
  })

  test('are /memories itself if named, for a session and for a key', async () => {
    for (const caller of [agent, at.caller]) {
      const answer = await run(
        caller,
        { command: 'view', path: '/memories' },
        { memory_store_id: rules.id },
      )
      expect(answer.content).toBe(lists('/memories', '2B', '2B b.md').text)
    }
  })

  test('of a key must be named', async () => {
    const input = { command: 'view', path: '/memories' }
    for (const body of [{ input }, { input, memory_store_id: null }]) {
      const { message } = expectRefused(await at.caller.post(path, body), 400)
      expect(message).toMatch(/^Missing `memory_store_id` parameter/)
    }
  })

  test('that the caller cannot see is not found', async () => {
    const input = { command: 'view', path: '/memories' }
    const other = await at.store({ name: 'other' })
    for (const [caller, id] of [
      [agent, other.id],
      [at.foreign, notes.id],
      [at.caller, 'memstore_x'],
      [at.caller, '../x'],
    ] as const) {
      expectRefused(await caller.post(path, { input, memory_store_id: id }), 404)
    }
  })

  test('are no longer listed after their deletion; without any, nothing is found', async () => {
    const gone = await at.store({ name: 'gone' })
    const [both, alone] = [await at.session([gone, notes]), await at.session([gone])]
    expectDone(await at.caller.delete(gone.path))
    const { content } = await run(at.as(both.token), { command: 'view', path: '/memories' })
    expect(content).toBe(lists('/memories', '4B', '4B my-notes/', '4B my-notes/a.md').text)
    const input = { command: 'view', path: '/memories' }
    expectRefused(await at.as(alone.token).post(path, { input }), 404)
  })
})

describe('the answer', () => {
  test('to a refused command is for the model, with 200', async () => {
    expect(await run(agent, { command: 'view', path: '/memories/rules/x' })).toEqual({
      content: 'The path /memories/rules/x does not exist. Please provide a valid path.',
      is_error: true,
    })
    expect(await run(agent, { command: 'undo' })).toEqual({
      content:
        'Error: Invalid `command` parameter: it should be one of view, create, str_replace, ' +
        'insert, delete, rename',
      is_error: true,
    })
  })

  test('to a write on a read-only store is a refusal, and changes nothing', async () => {
    const before = await rules.versions()
    for (const more of [{}, { memory_store_id: rules.id }]) {
      const shown = 'memory_store_id' in more ? '/memories' : '/memories/rules'
      const input = { command: 'create', path: `${shown}/x`, file_text: 'x' }
      expect(await run(agent, input, more)).toEqual({
        content: `Error: The access to ${shown} is read-only: create is refused`,
        is_error: true,
      })
    }
    expect(await rules.versions()).toEqual(before)
  })

  test('to a write comes when it is durable, in the name of the caller', async () => {
    const { id, token } = await at.session([notes])
    const input = { command: 'create', path: '/memories/my-notes/new.md', file_text: 'x' }
    expect(await run(at.as(token), input)).toEqual({
      content: 'File created successfully at: /memories/my-notes/new.md',
      is_error: false,
    })
    const [version] = await notes.versions()
    expect(version).toMatchObject({
      operation: 'created',
      created_by: { type: 'session_actor', session_id: id },
    })
    const named = { command: 'delete', path: '/memories/new.md' }
    await run(at.caller, named, { memory_store_id: notes.id })
    expect((await notes.versions())[0].created_by).toMatchObject({ type: 'api_actor' })
  })

  test.each([
    ['no body', undefined],
    ['no input', {}],
    ['an input that is text', { input: 'view' }],
    ['an input that is a list', { input: [] }],
    ['an input that is null', { input: null }],
    ['a store id that is a number', { input: {}, memory_store_id: 1 }],
  ])('to a request with %s is an error', async (_, body) => {
    expectRefused(await at.caller.post(path, body), 400)
  })

  test('to a request without a credential is an error', async () => {
    const body = { input: { command: 'view', path: '/memories' }, memory_store_id: notes.id }
    expectRefused(await at.as(undefined).post(path, body), 401)
  })

  test('needs no beta', async () => {
    const body = { input: { command: 'view', path: '/memories' } }
    expectDone(await agent.request('POST', path, { body, headers: { 'anthropic-beta': '' } }))
  })
})

test('a fault of a store is an error that only the operator can read', async () => {
  const broken = await at.store({ name: 'broken' })
  await at.stop()
  rmSync(`${newHostPlace(at.directory).dataDirectory}/stores/${broken.id}`, { recursive: true })
  await at.start()
  const body = { input: { command: 'view', path: '/memories' }, memory_store_id: broken.id }
  const answer = await fetch(at.url + path, {
    method: 'POST',
    headers: { 'x-api-key': at.key.secret, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { error } = JSON.parse(await answer.text())
  expect([answer.status, error]).toEqual([
    500,
    {
      type: 'api_error',
      message: 'The server failed; its log has the error of this request',
    },
  ])
})
