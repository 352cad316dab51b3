// What every ObjectStore promises, whatever it keeps its bytes in.

import { describe, expect, test } from 'vitest'
import { equalBytes } from '../../src/bytes.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { eraseBlob } from '../support/erasure.ts'
import { TestHistory } from '../support/transitions.ts'

const missingOid = 'f'.repeat(40)

/** Runs the contract against empty stores that `create` makes. */
export function describeObjectStore(kind: string, create: () => Promise<ObjectStore>): void {
  describe(`object store (${kind})`, () => {
    test('a new store has no head and no objects', async () => {
      const store = await create()
      expect(store.head).toBeUndefined()
      expect(store.read(missingOid)).toBeUndefined()
      await store.close()
    })

    test('a committed batch moves the head and every object reads back', async () => {
      const store = await create()
      const history = new TestHistory(1)
      const transitions = history.take(5)
      await store.exclusive(() => store.commit(transitions))
      expect(store.head).toBe(history.head)
      expectAllReadable(store, transitions)
      await store.close()
    })

    test('a transition that does not start at the head changes nothing', async () => {
      const store = await create()
      const history = new TestHistory(2)
      const [first, second, third] = history.take(3)
      if (first === undefined || second === undefined || third === undefined) throw new Error()
      await store.exclusive(() => store.commit([first]))
      const attempt = store.exclusive(() =>
        store.commit([second, { ...third, expected: missingOid }]),
      )
      await expect(attempt).rejects.toMatchObject({ code: 'ref_conflict' })
      expect(store.head).toBe(first.next)
      expect(store.read(second.next)).toBeUndefined()
      await store.close()
    })

    test('an empty commit changes nothing', async () => {
      const store = await create()
      await store.exclusive(() => store.commit([]))
      expect(store.head).toBeUndefined()
      await store.close()
    })

    test('exclusive runs one piece of work at a time, in order, and passes errors on', async () => {
      const store = await create()
      const events: string[] = []
      const work = (name: string) => async (): Promise<string> => {
        events.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        events.push(`${name} ends`)
        if (name === 'b') throw new Error('b failed')
        return name
      }
      const results = await Promise.allSettled(['a', 'b', 'c'].map((n) => store.exclusive(work(n))))
      expect(events).toEqual(['a', 'b', 'c'].flatMap((n) => [`${n} begins`, `${n} ends`]))
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      await store.close()
    })

    test('commit outside of exclusive is a programming error', async () => {
      const store = await create()
      await expect(store.commit(new TestHistory(3).take(1))).rejects.toThrow('Internal error')
      await store.close()
    })

    test('a checkpoint changes neither head nor objects', async () => {
      const store = await create()
      const history = new TestHistory(4)
      for (const transition of history.take(20)) {
        await store.exclusive(() => store.commit([transition]))
        if (history.transitions.indexOf(transition) % 6 === 5) await store.checkpoint()
      }
      await store.checkpoint()
      await store.checkpoint()
      expect(store.head).toBe(history.head)
      expectAllReadable(store, history.transitions)
      expect(store.status().journalFrames).toBe(0)
      await store.close()
    })

    test('staged objects come with the next commit, and not before', async () => {
      const store = await create()
      const [first] = new TestHistory(5).take(1)
      if (first === undefined) throw new Error()
      await store.exclusive(async () => {
        for (const object of first.objects) await store.stage([object])
        await store.stage([])
        expect(store.read(first.next)).toBeUndefined()
        expect([...store.objectIds()]).toEqual([])
        await store.commit([{ ...first, objects: [] }])
        expectAllReadable(store, [first])
      })
      await store.checkpoint()
      expectAllReadable(store, [first])
      await store.close()
    })

    test('staged objects are dropped with an exclusive that does not commit them', async () => {
      const store = await create()
      const history = new TestHistory(6)
      const [first, second] = history.take(2)
      if (first === undefined || second === undefined) throw new Error()
      const attempt = store.exclusive(async () => {
        await store.stage(first.objects)
        throw new Error('changed my mind')
      })
      await expect(attempt).rejects.toThrow('changed my mind')
      await store.exclusive(() => store.commit([{ ...first, objects: [] }]))
      expect(store.read(first.next)).toBeUndefined()
      await store.close()
    })

    test('stage outside of exclusive is a programming error', async () => {
      const store = await create()
      await expect(store.stage([])).rejects.toThrow('Internal error')
      await store.close()
    })

    test('a checkpoint removes the erased objects of a transition, and no others', async () => {
      const store = await create()
      const history = new TestHistory(7)
      const transitions = history.take(12)
      await store.exclusive(() => store.commit(transitions.slice(0, 8)))
      await store.checkpoint()
      await store.exclusive(() => store.commit(transitions.slice(8)))
      const { transition, dead, live } = eraseBlob(transitions, 3)
      await store.exclusive(() => store.commit([transition]))
      expect(store.head).toBe(transition.next)
      expect(store.status().purgePending).toBe(dead.size)
      await store.checkpoint()
      expect(store.status().purgePending).toBe(0)
      expect([...dead].filter((oid) => store.read(oid) !== undefined)).toEqual([])
      expectAllReadable(store, [{ ...transition, objects: live }])
      expect([...store.objectIds()].toSorted()).toEqual(live.map(({ oid }) => oid).toSorted())
      await store.close()
    })

    test('a transition after one that erases builds on it', async () => {
      const store = await create()
      const transitions = new TestHistory(8).take(6)
      await store.exclusive(() => store.commit(transitions))
      const erasure = eraseBlob(transitions, 2)
      const more = new TestHistory(9, erasure.transition.next).take(3)
      await store.exclusive(async () => {
        await store.stage(erasure.transition.objects)
        await store.commit([{ ...erasure.transition, objects: [] }])
        await store.commit(more)
      })
      await store.checkpoint()
      expect([...erasure.dead].filter((oid) => store.read(oid) !== undefined)).toEqual([])
      expectAllReadable(store, [{ ...erasure.transition, objects: erasure.live }, ...more])
      await store.close()
    })

    test('every object is listed once, in any place', async () => {
      const store = await create()
      const transitions = new TestHistory(10).take(9)
      for (const start of [0, 3, 6]) {
        const batch = transitions.slice(start, start + 3)
        await store.exclusive(() => store.commit(batch))
        if (start < 6) await store.checkpoint()
      }
      const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
      expect([...store.objectIds()].toSorted()).toEqual([...new Set(oids)].toSorted())
      await store.close()
    })

    test('the dead is reclaimable until a checkpoint, the unreachable for longer', async () => {
      const store = await create()
      const transitions = new TestHistory(13).take(8)
      await store.exclusive(() => store.commit(transitions))
      await store.checkpoint()
      expect(store.reclaimable().erased).toEqual({ objects: 0, bytes: 0 })
      const { transition, dead } = eraseBlob(transitions, 2)
      const [extra] = new TestHistory(14).next().objects
      if (extra === undefined) throw new Error()
      const objects = [...transition.objects, extra]
      await store.exclusive(() => store.commit([{ ...transition, objects }]))
      expect(store.reclaimable().erased.objects).toBe(dead.size)
      expect(store.reclaimable().erased.bytes).toBeGreaterThan(700)
      expect((await store.findUnreachable()).objects).toBe(1)
      expect(store.reclaimable().erased).toEqual({ objects: 0, bytes: 0 })
      await store.close()
    })

    test('a transition that erases carelessly is a programming error', async () => {
      const store = await create()
      const transitions = new TestHistory(11).take(4)
      await store.exclusive(() => store.commit(transitions))
      const { transition, dead } = eraseBlob(transitions, 1)
      const [after] = new TestHistory(12, transition.next).take(1)
      const [brought] = transition.objects
      if (after === undefined || brought === undefined) throw new Error()
      for (const batch of [
        [transition, after],
        [{ ...transition, dead: new Set([...dead, brought.oid]) }],
      ]) {
        const attempt = store.exclusive(() => store.commit(batch))
        await expect(attempt).rejects.toThrow('Internal error')
      }
      expect(store.head).toBe(transition.expected)
      expect(store.status().purgePending).toBe(0)
      expectAllReadable(store, transitions)
      await store.close()
    })

    test('a closed store refuses everything but closing again', async () => {
      const store = await create()
      await store.close()
      await store.close()
      expect(() => store.read(missingOid)).toThrow('closed')
      expect(() => store.refresh()).toThrow('closed')
      await expect(store.exclusive(async () => 1)).rejects.toMatchObject({ code: 'store_closed' })
      await expect(store.checkpoint()).rejects.toMatchObject({ code: 'store_closed' })
    })
  })
}

/** Every object of the transitions reads back with its type and bytes. */
export function expectAllReadable(store: ObjectStore, transitions: readonly Transition[]): void {
  for (const { oid, type, body } of transitions.flatMap(({ objects }) => objects)) {
    const found = store.read(oid)
    const same = found?.type === type && equalBytes(found.body, body)
    expect({ oid, same }).toEqual({ oid, same: true })
  }
}
