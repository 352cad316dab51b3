// T58: the log of the server, its errors, and every byte of its directories, while it runs, after a
// deletion, and when it has ended, contain no name, description, metadata, path, text, query or
// token, and nothing at all of a deleted store.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { type Canaries, filesBelow, findIn, search } from '../support/canaries.ts'
import { expectDone, expectRefused, type Json } from '../support/http-caller.ts'
import {
  runningServer,
  sessionsPath,
  StoreOnServer,
  storesPath,
} from '../support/running-server.ts'

const names = [
  'name',
  'description',
  'key',
  'value',
  'renamed',
  'described',
  'path',
  'moved',
  'content',
  'edited',
  'deleted',
  'redacted',
  'instructions',
  'query',
  'header',
  'body',
  'id',
  'guess',
]
const canaries: Record<string, string> = Object.fromEntries(
  names.map((what) => [what, `Canary-${what}-Kw3pZ9`]),
)
const of = (what: string): string => canaries[what] ?? ''

const log: unknown[] = []
const notices: unknown[] = []
const at = runningServer({
  log: (line) => log.push(line),
  notice: (notice) => notices.push(notice),
})

/** The findings, by place, at each step. */
const found: Record<string, readonly string[]> = {}
let store: StoreOnServer
let leftOfDeleted: readonly string[]
let deletedId: string

beforeAll(async () => {
  canaries['secret'] = at.key.secret
  canaries['foreign secret'] = at.foreignKey.secret
  store = await useAll()
  found['while it runs'] = search(canaries, at.directory)
  await provokeErrors(store)
  found['after errors'] = search(canaries, at.directory)
  const gone = await useAll()
  deletedId = gone.id
  expectDone(await at.caller.delete(gone.path))
  found['after a deletion'] = search(canaries, at.directory)
  leftOfDeleted = [...sizesBelow().keys()].filter((name) => name.includes(gone.id))
  await at.restart()
  await store.as(at.caller).memories('view=full')
  found['after a restart'] = search(canaries, at.directory)
  await at.stop()
  found['when it has ended'] = search(canaries, at.directory)
  await at.start()
})

/** Makes, changes and attaches a store with every canary. */
async function useAll(): Promise<StoreOnServer> {
  const made = expectDone(
    await at.caller.post(storesPath, {
      name: of('name'),
      description: of('description'),
      metadata: { [of('key')]: of('value') },
    }),
  )
  const there = new StoreOnServer(at.caller, made.id)
  const { id } = await there.create(`/${of('path')}/a`, `${of('content')}\n`.repeat(50))
  await there.update(id, { content: of('redacted') })
  const old = await there.update(id, { content: of('edited'), path: `/${of('moved')}` })
  await there.update(id, { content: 'nothing' })
  await there.redact(old.memory_version_id)
  await there.delete((await there.create('/deleted', of('deleted'))).id)
  expectDone(
    await at.caller.post(there.path, {
      name: of('renamed'),
      description: of('described'),
      metadata: { [of('key')]: null },
    }),
  )
  const resource = { type: 'memory_store', memory_store_id: there.id }
  const session = await at.session([{ ...resource, instructions: of('instructions') }])
  canaries[`token of ${there.id}`] = session.token
  const prefix = encodeURIComponent(`/${of('moved')}/`)
  await at.as(session.token).get(`${there.path}/memories?path_prefix=${prefix}`)
  return there
}

/** Requests that are refused for what they hold. Each answer is kept. */
async function provokeErrors(there: StoreOnServer): Promise<void> {
  const { caller } = at
  const [memory] = await there.memories()
  const memories = `${there.path}/memories`
  const json = { 'content-type': 'application/json' }
  const bad = { headers: { ...json, 'x-canary': of('header') }, body: `{"name":"${of('body')}` }
  const taken = { path: `/${of('moved')}/below`, content: of('body') }
  const stale = { type: 'content_sha256', content_sha256: of('guess') }
  errors.push(
    await caller.request('POST', storesPath, bad),
    await caller.post(storesPath, { name: `${of('body')}\n` }),
    await caller.post(storesPath, { name: of('body').repeat(100) }),
    await caller.post(storesPath, { name: 'a', metadata: { [of('body')]: 1 } }),
    await caller.post(memories, { path: `/${of('body')}/../x`, content: '' }),
    await caller.post(memories, { path: `/${of('body')}/x`, content: of('body').repeat(9000) }),
    await caller.post(`${memories}/${memory.id}`, { content: of('body'), precondition: stale }),
    await caller.get(`${storesPath}/${of('id')}`),
    await caller.get(`/${of('id')}/${of('id')}`),
    await caller.get(`${storesPath}?page=${of('query')}&${of('query')}=1`),
    await caller.get(`${storesPath}?created_at[gte]=${of('query')}`),
    await caller.get(`${memories}?view=${of('query')}`),
    await caller.get(`${memories}?path_prefix=${of('query')}`),
    await at.as(of('guess')).get(storesPath),
    await caller.get(storesPath, { 'anthropic-beta': of('header') }),
    await caller.get(storesPath, { 'anthropic-workspace-id': of('header') }),
    await caller.get(storesPath, { 'anthropic-version': of('header') }),
    await at.foreign.post(memories, taken),
    await at.foreign.get(`${memories}/${memory.id}`),
    await at.foreign.post(sessionsPath, { resources: [{ memory_store_id: there.id }] }),
  )
  expectRefused(await caller.post(memories, taken), 409)
  expect(errors.filter(({ status }) => status === 200)).toEqual([])
}

const errors: Json[] = []

function sizesBelow(): ReadonlyMap<string, number> {
  const files = filesBelow(at.directory)
  return new Map(files.map((name) => [name, statSync(name).size]))
}

test('T58: the search finds planted text', () => {
  const planted: Canaries = { ...canaries }
  expect(findIn(planted, utf8(`{"name":"${of('name')}"}`))).toEqual(['name'])
  expect(findIn(planted, utf8(at.key.secret))).toEqual(['secret'])
  expect(Object.keys(canaries).filter((what) => what.startsWith('token of'))).toHaveLength(2)
})

test.each([
  'while it runs',
  'after errors',
  'after a deletion',
  'after a restart',
  'when it has ended',
])('T58: nothing on the disk: %s', (moment) => {
  expect(found[moment]).toEqual([])
})

describe('T58: of a deleted store', () => {
  test('no file is left', () => {
    expect(leftOfDeleted).toEqual([])
    expect(readdirSync(join(at.directory, 'data', 'stores'))).toEqual([store.id])
  })

  test('no file names it', () => {
    expect(search({ id: deletedId }, at.directory)).toEqual([])
  })

  test('no session names it', async () => {
    const token = canaries[`token of ${deletedId}`] ?? ''
    expect(expectDone(await at.as(token).get(storesPath)).data).toEqual([])
  })
})

describe('T58: the log', () => {
  test('a line for each request, with what the operator needs', () => {
    expect(log.length).toBeGreaterThan(40)
    for (const line of log) {
      expect(line).toEqual(
        expect.objectContaining({
          request_id: expect.stringMatching(/^req_/),
          method: expect.any(String),
          status: expect.any(Number),
          ms: expect.any(Number),
        }),
      )
    }
    expect(log).toContainEqual(
      expect.objectContaining({ route: '/v1/memory_stores/:memory_store_id', key_id: at.key.id }),
    )
  })

  test('nothing in it, nor in the notices', () => {
    expect(findIn(canaries, utf8(JSON.stringify(log)))).toEqual([])
    expect(findIn(canaries, utf8(inspect(notices, { depth: 10 })))).toEqual([])
    expect(JSON.stringify(log)).not.toContain(at.directory)
  })
})

test('T58: the answer of a refusal repeats nothing', () => {
  for (const { text, headers } of errors) {
    const heads = JSON.stringify([...headers])
    expect({ text, found: findIn(canaries, utf8(text + heads)) }).toEqual({ text, found: [] })
    expect(text).not.toContain(at.directory)
  }
})
