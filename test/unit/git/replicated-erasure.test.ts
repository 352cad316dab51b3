// An erasure where several servers share a store: the log, its base and all replicas lose the
// bytes.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ObjectStore, Transition } from '../../../src/git/object-store.ts'
import { openReplicatedStore } from '../../../src/git/replica/replicated-store.ts'
import { expectAllReadable } from '../../contract/object-store.contract.ts'
import { eraseBlob, testSecret } from '../../support/erasure.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'
import { VolatileLog } from '../../support/volatile-shared-log.ts'

function open(log: VolatileLog, directory: string = temporaryDirectory()): Promise<ObjectStore> {
  return openReplicatedStore({ directory, log: log.server(), secret: testSecret })
}

async function commit(store: ObjectStore, ...transitions: readonly Transition[]): Promise<void> {
  await store.exclusive(() => store.commit(transitions))
}

test('an erasure leaves nothing in the log, in the base and in any replica', async () => {
  const log = new VolatileLog()
  const [directoryA, directoryB] = [temporaryDirectory(), temporaryDirectory()]
  const [a, b] = [await open(log, directoryA), await open(log, directoryB)]
  const transitions = new TestHistory(40).take(12)
  await commit(a, ...transitions)
  await b.renew?.()
  await a.compact()
  const { transition, dead, live } = eraseBlob(transitions, 3)
  const erased = transitions
    .flatMap(({ objects }) => objects)
    .filter(({ oid, type }) => dead.has(oid) && type === 'blob')
  expect(erased.length).toBeGreaterThan(0)
  await a.exclusive(async () => {
    await a.stage(transition.objects)
    await a.commit([{ ...transition, objects: [] }])
  })
  await a.checkpoint()
  expect(log.rows.size).toBe(0)
  expect([...log.parts.keys()]).toEqual([log.base?.id])
  await b.renew?.()
  expect(b.head).toBe(transition.next)
  await b.checkpoint()
  for (const store of [a, b]) {
    expect([...dead].filter((oid) => store.read(oid) !== undefined)).toEqual([])
    expectAllReadable(store, [{ ...transition, objects: live }])
  }
  await a.close()
  await b.close()
  const kept = [...log.parts.values()].flatMap((parts) => [...parts.values()])
  for (const directory of [directoryA, directoryB]) kept.push(...filesBelow(directory))
  for (const { body } of erased) {
    const part = Buffer.from(body.subarray(100, 300))
    expect(kept.some((bytes) => Buffer.from(bytes).includes(part))).toBe(false)
  }
})

test('an erasure of a server that died is ended by the next checkpoint of another', async () => {
  const log = new VolatileLog()
  const [a, b] = [await open(log), await open(log)]
  const transitions = new TestHistory(41).take(8)
  await commit(a, ...transitions)
  const { transition, dead } = eraseBlob(transitions, 2)
  await a.exclusive(() => a.commit([transition]))
  await b.renew?.()
  expect(log.rows.size).toBe(2)
  await b.checkpoint()
  expect(log.rows.size).toBe(0)
  expect([...dead].filter((oid) => b.read(oid) !== undefined)).toEqual([])
  await a.renew?.()
  const { number } = log.base ?? { number: 0 }
  await a.checkpoint()
  expect(log.base?.number).toBe(number)
  await a.close()
  await b.close()
})

test('an erasure refuses packs that were received before it, on every server', async () => {
  const log = new VolatileLog()
  const [a, b] = [await open(log), await open(log)]
  const transitions = new TestHistory(42).take(8)
  await commit(a, ...transitions)
  await b.renew?.()
  const waiting = b.exchange.incoming()
  const pack = await a.exchange.pack([transitions[2]?.next])
  await waiting.receive(pack.chunks())
  const { transition } = eraseBlob(transitions, 2)
  await a.exclusive(() => a.commit([transition]))
  await a.checkpoint()
  await expect(waiting.accept()).rejects.toMatchObject({ code: 'ref_conflict' })
  expect([...log.parts.keys()]).toEqual([log.base?.id])
  await a.close()
  await b.close()
})

function filesBelow(directory: string): Uint8Array[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
}
