// T63: messages that no client sends: names and keys of prototypes, inputs of every type, lines
// that are too long, and more requests than the server answers at once. Nothing changes, and the
// connection or the process continues, or ends by itself.

import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { serveMcp } from '../../src/mcp/mcp.ts'
import { connectTo } from '../support/mcp-client.ts'
import { newStore } from '../support/stores.ts'

const inputs: readonly unknown[] = [
  {},
  { path: null },
  { path: ['/memories/a'] },
  { path: { toString: 'x' } },
  { path: '/memories/a', content: { length: 3 } },
  { path: '/memories/a', content: ['x'], expected_sha256: [] },
  JSON.parse('{"__proto__":{"path":"/memories/a","content":"x"}}'),
  { constructor: { prototype: { path: '/memories/a' } } },
  { query: 'x'.repeat(100_000), limit: 1e9, page: {} },
  { command: '__proto__' },
  { command: 'constructor', path: '/memories/a' },
  { path: '/memories/'.repeat(10_000), old_text: 'a', new_text: 'b', to: 'x'.repeat(10_000) },
]

test('inputs of every kind are refused by every tool, and change nothing', async () => {
  const { store } = await newStore()
  const { caller } = await connectTo(store)
  const { tools } = await caller.client.listTools()
  const { head } = await store.status()
  const harmless = new Set(['memory_list', 'memory_history'])
  for (const { name } of tools) {
    for (const input of inputs) {
      const answer = await caller.call(name, Object(input))
      if (!harmless.has(name)) expect([name, input, answer.refused]).toEqual([name, input, true])
      expect(answer.text).not.toMatch(/node_modules|\.ts:|\bat \w+ \(/)
    }
  }
  expect((await store.status()).head).toBe(head)
  expect(Object.hasOwn(Object.prototype, 'path')).toBe(false)
})

test.each([
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  'memory ',
  'x'.repeat(9999),
])('there is no tool %s', async (name) => {
  const { store } = await newStore()
  const { caller } = await connectTo(store)
  await expect(caller.call(name)).rejects.toMatchObject({ code: -32_602 })
})

const opening = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  },
})}\n`

test('a line without an end ends the connection, not the process', async () => {
  const { store } = await newStore()
  const [input, output] = [new PassThrough(), new PassThrough().resume()]
  const { closed } = await serveMcp(store, input, output)
  input.write(opening)
  for (let sent = 0; sent <= 11; sent += 1) input.write('x'.repeat(2 ** 20))
  await closed
  expect((await store.status()).head).toBeTypeOf('string')
})

test('a client that asks and never reads is not read from either', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const { store } = await newStore()
  const input = new PassThrough({ highWaterMark: 1024 })
  const output = new PassThrough({ highWaterMark: 1024 })
  const connection = await serveMcp(store, input, output)
  input.write(opening)
  const ask = `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list' })}\n`
  for (let id = 1; id <= 5000; id += 1) {
    input.write(ask.replace('"id":0', `"id":${id}`))
    if (id % 100 === 0) await new Promise(setImmediate)
  }
  await new Promise((resolve) => setTimeout(resolve, 200))
  // The rest waits at the client's end.
  expect(input.readableLength + input.writableLength).toBeGreaterThan(100_000)
  expect(warnings).toEqual([])
  await connection.close()
})

test('a batch floods nothing, and an id may be used again', async () => {
  const { store } = await newStore()
  const [input, output] = [new PassThrough(), new PassThrough()]
  let answers = ''
  output.setEncoding('utf8').on('data', (text: string) => (answers += text))
  const { closed } = await serveMcp(store, input, output)
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  input.write(opening)
  input.write(`${JSON.stringify(Array.from({ length: 10_000 }, () => ping))}\n`)
  for (let count = 0; count < 100; count += 1) input.write(`${JSON.stringify(ping)}\n`)
  input.end()
  await closed
  const messages = answers.trim().split('\n')
  expect(messages.length).toBeLessThanOrEqual(101)
  for (const message of messages) expect(JSON.parse(message)).toMatchObject({ jsonrpc: '2.0' })
})
