// Passes of a mirror between a directory and a store, on real files.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type Mirror, MirrorFiles } from '../../../../src/cli/mirror/mirror-state.ts'
import { MirrorRunner } from '../../../../src/cli/mirror/runner.ts'
import {
  admit,
  bareRemote,
  type Clone,
  firstClone,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { plainMirror } from '../../../support/mirror-world.ts'
import { contentsOf, newStore } from '../../../support/stores.ts'
import { temporaryDirectory } from '../../../support/temporary.ts'

const settleMs = 1

async function mirrored(given: Partial<Mirror> = {}, clone?: Clone) {
  const { store, place } = clone ?? (await newStore())
  const directory = temporaryDirectory()
  const mirror = { ...plainMirror, id: '0123456789abcdef', directory, ...given }
  const files = new MirrorFiles(store.id, place)
  let clockMs = 0
  const clock = (): number => Date.now() + clockMs
  const runner = new MirrorRunner({ store, ...place, mirror, files, clock })
  return {
    store,
    runner,
    moveClock: (ms: number): void => {
      clockMs += ms
    },
    me: store.as({ actor: { type: 'user', id: 'alice' } }),
    directory,
    settle: (options = {}) => runner.settle({ settleMs, ...options }),
    write: (name: string, text: string) => {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), text)
    },
    text: (name: string) => readFileSync(join(directory, name), 'utf8'),
    has: (name: string) => existsSync(join(directory, name)),
  }
}

test('files become memories and memories become files', async () => {
  const { store, me, settle, write, text } = await mirrored()
  write('a.md', 'a\n')
  write('deep/b.md', 'b\n')
  await me.write('/notes/c.md', 'c\n')
  await me.write('/elsewhere.md', 'not mirrored\n')
  const first = await settle()
  expect(first).toMatchObject({ saved: 2, written: 1, isUnfinished: false })
  expect(await contentsOf(store)).toEqual({
    '/elsewhere.md': 'not mirrored\n',
    '/notes/a.md': 'a\n',
    '/notes/c.md': 'c\n',
    '/notes/deep/b.md': 'b\n',
  })
  expect(text('c.md')).toBe('c\n')
  expect(await settle()).toMatchObject({ saved: 0, written: 0, removed: 0, deleted: 0 })
})

test('edits, moves and deletions reach the other side', async () => {
  const { store, me, directory, settle, write, text, has } = await mirrored()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) write(`${name}.md`, `${name}\n`)
  await settle()
  const before = await store.read('/notes/b.md')
  write('a.md', 'a edited\n')
  mkdirSync(join(directory, 'sub'))
  renameSync(join(directory, 'b.md'), join(directory, 'sub/moved.md'))
  rmSync(join(directory, 'c.md'))
  await me.write('/notes/d.md', 'd edited\n')
  await me.move('/notes/e.md', '/notes/other/e.md')
  await me.delete('/notes/f.md')
  await settle()
  expect(await contentsOf(store)).toEqual({
    '/notes/a.md': 'a edited\n',
    '/notes/sub/moved.md': 'b\n',
    '/notes/d.md': 'd edited\n',
    '/notes/other/e.md': 'e\n',
  })
  expect((await store.read('/notes/sub/moved.md'))?.memoryId).toBe(before?.memoryId)
  expect(text('d.md')).toBe('d edited\n')
  expect(text('other/e.md')).toBe('e\n')
  for (const name of ['b.md', 'c.md', 'e.md', 'f.md']) expect(has(name), name).toBe(false)
  const files = await store.history.versions({ path: '/notes/a.md' })
  expect(files.data[0]?.createdBy).toEqual({ type: 'service_account', id: 'mirror' })
})

test('edits on both sides are merged, and nothing of either is lost', async () => {
  const { store, me, settle, write, text } = await mirrored()
  write('a.md', 'one\ntwo\nthree\n')
  await settle()
  write('a.md', 'one of the file\ntwo\nthree\n')
  await me.write('/notes/a.md', 'one\ntwo\nthree of the store\n')
  await settle()
  expect(text('a.md')).toBe('one of the file\ntwo\nthree of the store\n')
  expect((await store.read('/notes/a.md'))?.content).toBe(text('a.md'))
  write('a.md', 'one of the file\nX\nthree of the store\n')
  await me.write('/notes/a.md', 'one of the file\nY\nthree of the store\n')
  await settle()
  expect(text('a.md')).toContain('X\n')
  expect(text('a.md')).toContain('Y\n')
  expect((await store.read('/notes/a.md'))?.content).toBe(text('a.md'))
})

test('an edit wins over a deletion on either side', async () => {
  const { store, me, directory, settle, write, text } = await mirrored()
  for (const name of ['a', 'b', 'c', 'd']) write(`${name}.md`, `${name}\n`)
  await settle()
  write('a.md', 'kept\n')
  await me.delete('/notes/a.md')
  rmSync(join(directory, 'b.md'))
  await me.write('/notes/b.md', 'kept too\n')
  await settle()
  expect(text('b.md')).toBe('kept too\n')
  expect((await store.read('/notes/a.md'))?.content).toBe('kept\n')
})

test('a directory that was emptied deletes nothing until it is confirmed', async () => {
  const { store, directory, settle, write, has } = await mirrored()
  for (const name of ['a', 'b', 'c']) write(`${name}.md`, `${name}\n`)
  await settle()
  for (const name of ['a', 'b', 'c']) rmSync(join(directory, `${name}.md`))
  const held = await settle()
  expect(held.notes.deletions).toEqual(['/a.md', '/b.md', '/c.md'])
  expect(Object.keys(await contentsOf(store))).toHaveLength(3)
  await settle({ isRefill: true })
  expect(has('b.md')).toBe(true)
  for (const name of ['a', 'b', 'c']) rmSync(join(directory, `${name}.md`))
  await settle({ isDeletionConfirmed: true })
  expect(await contentsOf(store)).toEqual({})
})

test('a directory without its marker is filled again', async () => {
  const { store, directory, settle, write, text } = await mirrored()
  for (const name of ['a', 'b', 'c']) write(`${name}.md`, `${name}\n`)
  await settle()
  write('a.md', 'a2\n')
  await settle()
  rmSync(directory, { recursive: true })
  expect((await settle()).notes.problem).toBe('its directory is missing')
  mkdirSync(directory)
  write('a.md', 'a\n')
  await settle()
  expect(text('a.md'), 'an older text that the store knows').toBe('a2\n')
  expect(text('c.md')).toBe('c\n')
  expect(Object.keys(await contentsOf(store))).toHaveLength(3)
})

test('the clock may be put back while a file is missing', async () => {
  const { store, directory, runner, moveClock, settle, write } = await mirrored()
  for (const name of ['a', 'b', 'c', 'd']) write(`${name}.md`, `${name}\n`)
  await settle()
  rmSync(join(directory, 'a.md'))
  expect(await runner.run({ settleMs: 1000 })).toMatchObject({ deleted: 0, isUnfinished: true })
  moveClock(-3_600_000)
  expect(await settle()).toMatchObject({ deleted: 1, isUnfinished: false })
  expect(Object.keys(await contentsOf(store))).toHaveLength(3)
})

test('deletions before the clock was put back do not count for longer', async () => {
  const { store, directory, moveClock, settle, write } = await mirrored()
  for (let count = 0; count < 15; count += 1) write(`${count}.md`, `${count}\n`)
  await settle()
  const remove = (from: number, to: number): void => {
    for (let count = from; count < to; count += 1) rmSync(join(directory, `${count}.md`))
  }
  moveClock(3_600_000)
  remove(0, 8)
  expect(await settle()).toMatchObject({ deleted: 8 })
  moveClock(-3_600_000)
  remove(8, 12)
  expect((await settle()).notes.deletions).toHaveLength(4)
  moveClock(600_000)
  expect(await settle()).toMatchObject({ deleted: 4 })
  expect(Object.keys(await contentsOf(store))).toHaveLength(3)
})

test('a file may have as many bytes as a memory, and no more', async () => {
  const { store, me, settle, write, text } = await mirrored()
  const most = 'é'.repeat(51_200)
  write('most.md', most)
  write('more.md', `${most}x`)
  await me.write('/notes/store.md', most)
  expect((await settle()).notes.leftOut).toEqual([
    { path: '/more.md', reason: expect.stringContaining('102400') },
  ])
  expect(Object.keys(await contentsOf(store)).toSorted()).toEqual([
    '/notes/most.md',
    '/notes/store.md',
  ])
  expect(text('store.md')).toBe(most)
  write('most.md', `${most}x`)
  await me.write('/notes/most.md', 'shorter\n')
  await settle()
  expect(text('most.md'), 'the only copy').toBe(`${most}x`)
})

test('an archived store names files that it does not take', async () => {
  const { store, me, settle, write, text } = await mirrored()
  write('a.md', 'a\n')
  await settle()
  await me.settings.update({ archivedAt: Date.now() })
  write('a.md', 'edited\n')
  write('b.md', 'new\n')
  const { notes } = await settle()
  expect(notes.problem).toBeUndefined()
  const reason = expect.stringContaining('archived')
  expect(notes).toMatchObject({
    leftOut: [{ path: '/a.md', reason }, { reason }],
  })
  expect([text('a.md'), text('b.md')]).toEqual(['edited\n', 'new\n'])
  expect(await contentsOf(store)).toEqual({ '/notes/a.md': 'a\n' })
})

test('a reader gets the changes of others, and keeps its own edits', async () => {
  const url = bareRemote()
  const first = await firstClone(url)
  for (const name of ['a', 'b', 'c']) await put(first, `/notes/${name}.md`, `${name}\n`)
  const identity = await admit(first, 'reader')
  await sync(first)
  const clone = await joinClone(first, url, { identity })
  const { directory, settle, write, text, has } = await mirrored({}, clone)
  await settle()
  write('a.md', 'edited\n')
  write('own.md', 'new\n')
  rmSync(join(directory, 'c.md'))
  await put(first, '/notes/b.md', 'b of others\n')
  await put(first, '/notes/d.md', 'd\n')
  await syncAll([first, clone])
  const { notes } = await settle()
  expect([notes.problem, notes.deletions]).toEqual([undefined, []])
  const paths = notes.leftOut.map(({ path }) => path)
  expect(paths.toSorted()).toEqual(['/a.md', '/c.md', '/own.md'])
  expect(notes.leftOut[0]?.reason).toContain('reader')
  expect([text('a.md'), text('own.md'), has('c.md')]).toEqual(['edited\n', 'new\n', false])
  expect([text('b.md'), text('d.md')]).toEqual(['b of others\n', 'd\n'])
  await settle({ isRefill: true })
  expect(text('c.md')).toBe('c\n')
})
