// The objects that a push sends: all that the receiver lacks, and no tree that its newest commit
// has.

import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../../src/git/disk-store/disk-object-store.ts'
import type { Change, MemoryStore } from '../../../../src/index.ts'
import { findOutgoing, objectsOf } from '../../../../src/store/commits/outgoing.ts'
import { author, newStore } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

function create(path: string): Change {
  return { type: 'create', path, content: path }
}

function remove(path: string): Change {
  return { type: 'delete', path }
}

function several(directory: string, count: number): Change[] {
  return Array.from({ length: count }, (_, n) => create(`/${directory}/${n}.md`))
}

/** Runs each change as a commit of its own; the newest. */
async function apply(store: MemoryStore, ...changes: readonly Change[]): Promise<string> {
  for (const change of changes) await store.as(author).apply([change])
  return (await store.status()).head
}

test.each([
  ['a memory came and went', 8, [create('/x'), remove('/x'), create('/y')]],
  ['a directory was split, and joined again', 16, [create('/x'), remove('/x'), create('/y')]],
  ['a directory below was', 40, [...several('x', 9), ...several('x', 9).map(undone), create('/y')]],
])('what is sent after %s is no tree that is there', async (_, count, changes) => {
  const { store, place } = await newStore()
  await store.as(author).apply(several('shared', count))
  const there = await apply(store)
  const head = await apply(store, ...changes)
  await store.close()
  const objects = await openDiskObjectStore({ directory: place.directory })
  const commits = await findOutgoing(objects, head, [there])
  const sent = new Set(objectsOf(objects, commits, [there]))
  const without = new Set(objectsOf(objects, commits))
  await objects.close()

  const list = (...words: string[]): string[] => git(words, place.directory).trim().split('\n')
  const listed = list('ls-tree', '-r', '-t', there).map((line) => line.split(/\s/))
  const trees = listed.flatMap(([, type, oid = '']) => (type === 'tree' ? [oid] : []))
  expect(trees.filter((oid) => without.has(oid))).not.toEqual([])
  expect(trees.filter((oid) => sent.has(oid))).toEqual([])
  const needed = list('rev-list', '--objects', '--no-object-names', head, `^${there}`)
  expect(needed.filter((oid) => !sent.has(oid))).toEqual([])
})

function undone(change: Change): Change {
  return change.type === 'create' ? remove(change.path) : change
}
