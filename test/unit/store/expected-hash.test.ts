// Changes by path that expect a content: the precondition of the memory tool's callers that read
// before they write.

import { expect, test } from 'vitest'
import { sha256OfText } from '../../../src/crypto/digest.ts'
import type { Change, MemoryStore } from '../../../src/index.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

const right = sha256OfText('one')
const stale = sha256OfText('zero')
const files = { '/a.md': 'one', '/d/b.md': 'one' }

async function storeWithFiles(): Promise<MemoryStore> {
  const { store } = await newStore()
  const all = Object.entries(files)
  await store.as(author).apply(all.map(([path, content]) => ({ type: 'create', path, content })))
  return store
}

function write(path: string, content: string, expectedSha256: string): Change {
  return { type: 'write', path, content, expectedSha256 }
}

function edit(path: string, expectedSha256: string): Change {
  return { type: 'edit', path, expectedSha256, edit: (content) => `${content}, two` }
}

test.each<[string, Change, Record<string, string>]>([
  ['a write', write('/a.md', 'two', right), { ...files, '/a.md': 'two' }],
  ['a write of what is there, whatever it expects', write('/a.md', 'one', stale), files],
  ['an edit', edit('/a.md', right), { ...files, '/a.md': 'one, two' }],
  ['a deletion', { type: 'delete', path: '/a.md', expectedSha256: right }, { '/d/b.md': 'one' }],
])('%s that expects the content is made', async (_, change, left) => {
  const store = await storeWithFiles()
  await store.as(author).apply([change])
  expect(await contentsOf(store)).toEqual(left)
  await store.close()
})

test.each<[string, Change, string]>([
  ['a write over another content', write('/a.md', 'two', stale), 'precondition_failed'],
  ['a write where nothing is', write('/new.md', 'two', right), 'not_found'],
  ['a write with what is no hash', write('/new.md', 'two', 'x'), 'invalid_input'],
  ['an edit of another content', edit('/a.md', stale), 'precondition_failed'],
  ['an edit with what is no hash', edit('/a.md', right.toUpperCase()), 'invalid_input'],
  [
    'a deletion of another content',
    { type: 'delete', path: '/a.md', expectedSha256: stale },
    'precondition_failed',
  ],
  [
    'a deletion of a directory',
    { type: 'delete', path: '/d', expectedSha256: right },
    'invalid_input',
  ],
  [
    'a deletion with what is no hash',
    { type: 'delete', path: '/none', expectedSha256: 'x' },
    'invalid_input',
  ],
])('%s is refused and changes nothing', async (_, change, code) => {
  const store = await storeWithFiles()
  const { head } = await store.status()
  await expect(store.as(author).apply([change])).rejects.toMatchObject({ code })
  expect((await store.status()).head).toBe(head)
  expect(await contentsOf(store)).toEqual(files)
  await store.close()
})

test('an edit that is refused is not called', async () => {
  const store = await storeWithFiles()
  const calls: string[] = []
  const change: Change = {
    type: 'edit',
    path: '/a.md',
    expectedSha256: stale,
    edit: (content) => {
      calls.push(content)
      return content
    },
  }
  await expect(store.as(author).apply([change])).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  expect(calls).toEqual([])
  await store.close()
})
