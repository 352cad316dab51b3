// What plain JavaScript may pass where the types ask for something else: every public method
// rejects with a StoreError, never with a TypeError from inside.

import { expect, test } from 'vitest'
import { createStore } from '../../../src/store/create.ts'
import { joinStore } from '../../../src/store/join.ts'
import { openStore } from '../../../src/store/open.ts'
import { author, newStore } from '../../support/stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

type Call = (...values: readonly unknown[]) => unknown

const malformed: readonly unknown[] = [
  undefined,
  null,
  0,
  '',
  'x',
  {},
  [],
  () => 1,
  { path: 1 },
  { versionId: null },
  [null],
  [{}],
  [{ type: 'write' }],
  [{ type: 'write', path: '/x' }],
  [{ type: 'update', memoryId: 1, content: 'x' }],
  [{ type: 'update', memoryId: 'x', content: 1, path: 1, expectedSha256: 1 }],
  [{ type: 'delete', memoryId: null }],
  Symbol.iterator,
]

/** Every method, by name; `close` would end the rest. */
function methodsOf(object: object): readonly (readonly [string, Call])[] {
  const prototype: object = Object.getPrototypeOf(object)
  return Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value !== 'function' || name === 'constructor' || name === 'close'
      ? []
      : [[name, value.bind(object)] as const],
  )
}

/** What a call failed with, unless that is a StoreError. */
async function foreignError(call: () => unknown): Promise<unknown> {
  try {
    const answer = await call()
    if (isAsyncIterable(answer)) await firstOf(answer)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'StoreError') return error
  }
  return undefined
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** A watch waits for changes, which do not come. */
async function firstOf(items: AsyncIterable<unknown>): Promise<void> {
  const iterator = items[Symbol.asyncIterator]()
  const soon = new Promise((resolve) => setTimeout(resolve, 5))
  await Promise.race([iterator.next(), soon])
  await Promise.race([iterator.return?.(), soon])
}

test('every method of a store refuses a malformed request', { tags: 'slow' }, async () => {
  const { store } = await newStore()
  const me = store.as(author)
  await me.write('/a.md', 'x')
  const groups = [store, store.history, store.devices, store.remotes, store.maintenance, me]
  for (const group of [...groups, me.devices, me.keys, me.settings]) {
    for (const [name, method] of methodsOf(group)) {
      for (const value of malformed) {
        for (const values of [[value], ['/a.md', value], [{}, value]]) {
          const error = await foreignError(() => method(...values))
          expect(error, `${name}(${values.map(String).join(', ')})`).toBeUndefined()
        }
      }
    }
  }
  await store.close()
  for (const group of groups.slice(1, 5)) {
    for (const [name, method] of methodsOf(group)) {
      expect(await foreignError(() => method('/a.md')), `${name} after close`).toBeUndefined()
    }
  }
})

test('creating, opening and joining refuse malformed options', async () => {
  const { store, place } = await newStore()
  await store.close()
  for (const called of [createStore, openStore, joinStore]) {
    const call = (options: unknown): unknown => Reflect.apply(called, undefined, [options])
    for (const value of malformed) {
      const there = { directory: place.directory, stateDirectory: place.stateDirectory }
      for (const options of [
        value,
        { ...there, directory: value },
        { ...there, identity: value },
      ]) {
        expect(await foreignError(() => call(options)), String(value)).toBeUndefined()
      }
      const options = { ...place, directory: temporaryDirectory(), url: value, name: value }
      expect(await foreignError(() => call(options)), String(value)).toBeUndefined()
    }
  }
})
