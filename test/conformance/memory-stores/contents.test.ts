// Memory Stores API §6.2: what a memory may contain, to the byte.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import {
  betas,
  exchangeBytes,
  expectDone,
  expectRefused,
  statusesIn,
} from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'
import { memoryObject, sha256 } from './objects.ts'

const most = 102_400

const contents: readonly (readonly [name: string, content: string])[] = [
  ['nothing', ''],
  ['102,400 bytes', 'a'.repeat(most)],
  ['102,400 bytes of two each', 'é'.repeat(most / 2)],
  ['102,400 bytes of four each', '🐙'.repeat(most / 4)],
  ['a byte order mark', '\ufefftext'],
  ['two byte order marks', '\ufeff\ufeff'],
  ['CRLF, LF and CR', 'a\r\nb\nc\rd'],
  ['no line break at the end', 'a\nb'],
  ['line breaks alone', '\n\n\n'],
  ['white space around', '  \t a \t '],
  ['NFD', 'e\u0301'],
  ['NFC', '\u00e9'],
  ['controls', '\u0001\u0007\u001b[0m\u007f\u0085'],
  ['line separators', 'a\u2028b\u2029c'],
  ['bidirectional marks', '\u202ea\u2066'],
  ['noncharacters', '\uffff\ufffe\u{10ffff}'],
  ['the replacement character', '\ufffd'],
  ['JSON', '{"a":[1,"\\u0000"]}'],
  ['conflict markers', '<<<<<<< a\n=======\n>>>>>>> b\n'],
]

onServers('contents', (at) => {
  let store: StoreOnServer
  beforeAll(async () => {
    store = await at.store()
  })

  describe('6.2: stored byte for byte', () => {
    test.each(contents)('%s', async (name, content) => {
      const { id, ...made } = await store.create(`/${name}`, content)
      expect({ id, ...made }).toEqual(memoryObject(content, { path: `/${name}` }))
      expect((await store.get(`/memories/${id}`)).content).toBe(content)
      const [version] = await store.versions(`memory_id=${id}&view=full`)
      expect(version).toMatchObject({ content, content_sha256: sha256(content) })
      await store.update(id, { content: 'between' })
      expect(await store.update(id, { content })).toMatchObject({ content_sha256: sha256(content) })
      expect((await store.get(`/memories/${id}`)).content).toBe(content)
    })

    test('the limit applies to the decoded text, of a body six times longer', async () => {
      const escaped = '\\u00e9'.repeat(most / 2)
      const body = `{"path":"/escaped","content":"${escaped}"}`
      const headers = { 'content-type': 'application/json' }
      const path = `${store.path}/memories`
      const made = expectDone(await at.caller.request('POST', path, { body, headers }))
      expect(made.content_size_bytes).toBe(most)
      const controls = `{"path":"/escaped controls","content":"${'\\u0001'.repeat(most)}"}`
      const most6 = await at.caller.request('POST', path, { body: controls, headers })
      expect(expectDone(most6).content_size_bytes).toBe(most)
    })

    test('an escaped surrogate pair is one character', async () => {
      const body = '{"path":"/pair","content":"\\ud83d\\udc19"}'
      const headers = { 'content-type': 'application/json' }
      const path = `${store.path}/memories`
      const { id } = expectDone(await at.caller.request('POST', path, { body, headers }))
      expect((await store.get(`/memories/${id}`)).content).toBe('🐙')
    })
  })

  describe('6.2: too long', () => {
    test.each([
      ['one byte', 'a'.repeat(most + 1)],
      ['one character of two bytes', `${'é'.repeat(most / 2)}a`],
      ['ten times', 'a'.repeat(most * 5)],
    ])('%s', async (_, content) => {
      const { id } = await store.create(`/long/${content.length}`)
      const memories = `${store.path}/memories`
      expectRefused(await at.caller.post(memories, { path: '/new', content }), 400)
      expectRefused(await at.caller.post(`${memories}/${id}`, { content }), 400)
      expect((await store.get(`/memories/${id}`)).content).toBe('text')
    })
  })

  describe('6.2: contents that are not text', () => {
    test.each([
      ['NUL', 'a\\u0000b'],
      ['a lone high surrogate', '\\ud800'],
      ['a lone low surrogate', 'a\\udc00b'],
      ['surrogates the wrong way round', '\\udc19\\ud83d'],
    ])('%s is refused, or stored exactly', async (name, escaped) => {
      const body = `{"path":"/none/${name}","content":"${escaped}"}`
      const headers = { 'content-type': 'application/json' }
      const answer = await at.caller.request('POST', `${store.path}/memories`, { body, headers })
      expect([200, 400]).toContain(answer.status)
      if (answer.status === 400) return
      const { content } = await store.get(`/memories/${answer.body.id}`)
      expect(content).toBe(JSON.parse(`"${escaped}"`))
    })

    test.each([
      ['a byte that begins nothing', [0xff]],
      ['a character that is cut off', [0xc3]],
      ['an overlong slash', [0xc0, 0xaf]],
      ['a surrogate as bytes', [0xed, 0xa0, 0x80]],
      ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
      ['Latin-1', [0xe9]],
    ])('bytes that are no UTF-8 are refused: %s', async (_, bytes) => {
      const before = await store.memories()
      const body = Buffer.concat([
        Buffer.from('{"path":"/bytes","content":"a'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ])
      const headers = { 'content-type': 'application/json' }
      const parts = { body, headers }
      expectRefused(await at.caller.request('POST', `${store.path}/memories`, parts), 400)
      expect(await store.memories()).toEqual(before)
    })

    test('a body that is cut off changes nothing', { tags: 'slow' }, async () => {
      const head =
        `POST ${store.path}/memories HTTP/1.1\r\nhost: ${new URL(at.url).host}\r\n` +
        `x-api-key: ${at.key.secret}\r\nanthropic-beta: ${betas.memory}\r\n` +
        'anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n'
      const part = '{"path":"/cut","content":"x"}'
      const said = await exchangeBytes(at.url, [`${head}content-length: 1000\r\n\r\n${part}`])
      expect(statusesIn(said).filter((status) => status === 200)).toEqual([])
      expect(await store.memories('path_prefix=/cut/')).toEqual([])
    })
  })
})
