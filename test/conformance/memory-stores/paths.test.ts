// Memory Stores API §6.1: which paths a memory may have, in creations and in renames. A path that
// is refused is never repaired; one that is legal comes back as it was given.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { expectRefused, type Json } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'

const e = 'é'.normalize('NFC')

const legal: readonly (readonly [name: string, path: string])[] = [
  ['one segment', '/a'],
  ['20 segments', '/s'.repeat(20)],
  ['1,024 bytes', `/${'a'.repeat(1023)}`],
  ['1,024 bytes of two each', `/${e.repeat(511)}a`],
  ['spaces', '/a b/ c /   '],
  ['a percent sign', '/100%/%2e%2e/%2F/%00'],
  ['a question mark and a hash', '/what?x=1&y#z'],
  ['dots that are a name', '/..x/...'],
  ['a dot at the start', '/.hidden/.a'],
  ['dots at the end', '/a./b..'],
  ['backslashes', '/a\\b\\..\\c'],
  ['emoji', '/🐙/🎉'],
  ['quotes and angles', '/"a"/<b>/\'c\'/|'],
  ['a colon and a star', '/C:/*'],
  ['capitals', '/Dir/FILE.MD'],
  ['Chinese', '/笔记/今天'],
  ['right-to-left script', '/مرحبا/עברית'],
  ['a no-break space', '/a\u00a0b'],
  ['an ideographic space', '/a\u3000b'],
  ['a private-use character', '/a\ue000'],
  ['an emoji without a selector', '/❤'],
  ['a combining mark without a composed form', '/q\u0301'],
  ['the names of an object', '/__proto__/constructor'],
  ['the name of git', '/.git/config'],
  ['node_modules', '/node_modules/a'],
  ['the reserved name below a directory', '/x/.anthropic-memory-store'],
  ['a tilde', '/~/.ssh/id'],
  ['a semicolon', '/a;b=c'],
]

const illegal: readonly (readonly [name: string, path: string])[] = [
  ['nothing', ''],
  ['the root', '/'],
  ['no slash at the start', 'a'],
  ['no slash at the start of two', 'a/b'],
  ['a slash at the end', '/a/'],
  ['a doubled slash', '/a//b'],
  ['a doubled slash at the start', '//a'],
  ['a dot', '/.'],
  ['a dot inside', '/a/./b'],
  ['a dot at the end', '/a/.'],
  ['two dots', '/..'],
  ['two dots inside', '/a/../b'],
  ['two dots at the end', '/a/..'],
  ['21 segments', '/s'.repeat(21)],
  ['1,025 bytes', `/${'a'.repeat(1024)}`],
  ['1,025 bytes of two each', `/${e.repeat(512)}`],
  ['a space before the slash', ' /a'],
  ['NFD', '/e\u0301'],
  ['a character that NFC replaces', '/\u212b'],
  ['NFD of Korean', '/\u1112\u1161\u11ab'],
  ['NUL', '/a\0b'],
  ['a tab', '/a\tb'],
  ['a line feed', '/a\nb'],
  ['a carriage return at the end', '/a\r'],
  ['escape', '/a\x1b[0m'],
  ['DEL', '/a\x7f'],
  ['a C1 control', '/a\x85'],
  ['a soft hyphen', '/a\u00adb'],
  ['a zero-width space', '/a\u200bb'],
  ['a zero-width non-joiner', '/a\u200cb'],
  ['a zero-width joiner in an emoji', '/👩\u200d💻'],
  ['a left-to-right mark', '/a\u200e'],
  ['a bidirectional override', '/a\u202eb'],
  ['a bidirectional isolate', '/a\u2066b'],
  ['a word joiner', '/a\u2060b'],
  ['a byte order mark', '/\ufeffa'],
  ['a byte order mark at the end', '/a\ufeff'],
  ['an Arabic letter mark', '/a\u061cb'],
  ['a tag character', '/a\u{e0061}'],
  ['an interlinear annotation', '/a\ufff9b'],
  ['a variation selector', '/❤\ufe0f'],
  ['a variation selector of the supplement', '/a\u{e0100}'],
  ['a Hangul filler', '/a\u3164'],
  ['a combining grapheme joiner', '/a\u034fb'],
  ['a blank of Braille', '/\u2800'],
  ['a line separator', '/a\u2028b'],
  ['a paragraph separator', '/a\u2029b'],
  ['a lone high surrogate', '/a\ud800'],
  ['a lone low surrogate', '/\udc00a'],
]

onServers('paths', (at) => {
  let store: StoreOnServer
  let bystander: Json
  beforeAll(async () => {
    store = await at.store()
    bystander = await store.create('/bystander')
  })

  describe('6.1: legal', () => {
    test.each(legal)('%s', async (_, path) => {
      const { id } = await store.create(path)
      expect((await store.get(`/memories/${id}`)).path).toBe(path)
      const moved = await store.update(id, { path: '/moved' })
      expect(moved.path).toBe('/moved')
      const back = await store.update(id, { path })
      expect(back).toMatchObject({ id, path })
      await store.delete(id)
    })
  })

  describe('6.1: refused', () => {
    test.each(illegal)('%s', async (_, path) => {
      const before = await store.memories()
      const memories = `${store.path}/memories`
      expectRefused(await at.caller.post(memories, { path, content: '' }), 400)
      expectRefused(await at.caller.post(`${memories}/${bystander.id}`, { path }), 400)
      const both = { path, content: 'new' }
      expectRefused(await at.caller.post(`${memories}/${bystander.id}`, both), 400)
      expect(await store.memories()).toEqual(before)
    })
  })

  test('6.1: paths differ by case', async () => {
    const [upper, lower] = [await store.create('/Case'), await store.create('/case')]
    expect(upper.id).not.toBe(lower.id)
    expect([upper.path, lower.path]).toEqual(['/Case', '/case'])
  })

  test('10.4: the marker of the client is not a memory', async () => {
    const body = { path: '/.anthropic-memory-store', content: '' }
    expectRefused(await at.caller.post(`${store.path}/memories`, body), 400)
    const rename = { path: '/.anthropic-memory-store' }
    expectRefused(await at.caller.post(`${store.path}/memories/${bystander.id}`, rename), 400)
  })
})
