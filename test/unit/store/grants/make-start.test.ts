// A start holds the state of the store's own snapshot and of an older one, the floor, and a holder
// opens it with nothing but the keys of wraps.

import { expect, test } from 'vitest'
import { toHex } from '../../../../src/bytes.ts'
import type { StartMemory } from '../../../../src/format/start.ts'
import { openDiskObjectStore } from '../../../../src/git/disk-store/disk-object-store.ts'
import { openStart } from '../../../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, grantOf, openWraps } from '../../../../src/keys/wraps.ts'
import { makeStartOf, makeWrapsOf } from '../../../../src/store/grants/make-start.ts'
import { openSession } from '../../../../src/store/session/open-session.ts'
import type { StoreSession } from '../../../../src/store/session/session.ts'
import type { Snapshot } from '../../../../src/store/snapshot/snapshot.ts'
import { snapshotAt } from '../../../../src/store/verify/snapshot-at.ts'
import { inSlices } from '../../../../src/time-slice.ts'
import { bareRemote, type Clone, joinClone, syncAll } from '../../../support/clones.ts'
import { author, newStore, reopen, type TestPlace } from '../../../support/stores.ts'

const DAY = 24 * 60 * 60 * 1000
let now = 1_700_000_000_000
const clock = (): number => now

async function firstClone(): Promise<Clone & { readonly remote: string }> {
  const { store, place } = await newStore({ clock })
  const remote = bareRemote()
  await store.remotes.add('origin', remote)
  return { store, place, remote }
}

async function write({ store }: Clone, path: string, content = path): Promise<string> {
  const isThere = (await store.read(path)) !== undefined
  const edit = { type: 'edit', path, edit: () => content } as const
  const change = isThere ? edit : ({ type: 'create', path, content } as const)
  return (await store.as(author).apply([change])).versionIds[0] ?? ''
}

async function sessionOf({
  directory,
  stateDirectory,
  identity,
}: TestPlace): Promise<StoreSession> {
  const objects = await openDiskObjectStore({ directory })
  const place = { directory, stateDirectory, identity, clock }
  return (await openSession(objects, place)).session
}

async function made(...request: Parameters<typeof makeStartOf>): Promise<Uint8Array> {
  const bytes = await makeStartOf(...request)
  if (bytes === undefined) throw new Error('no start was made')
  return bytes
}

/** Version, path and state of each memory. */
function memoriesOf({ current }: Snapshot): readonly unknown[] {
  return [...current]
    .map(([memoryId, { versionId, operation, created, live }]) => {
      return { memoryId, versionId, operation, created, path: live?.path, sha256: live?.sha256 }
    })
    .toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
}

function describe(memories: readonly StartMemory[]): readonly unknown[] {
  return memories.flatMap(({ memoryId, value }) => {
    if (value === undefined) return []
    const { versionId, operation, created, live } = value
    const sha256 = live && toHex(live.sha256)
    return { memoryId, versionId, operation, created, path: live?.path, sha256 }
  })
}

/** The memories at the floor: those of the state, with the ones that differ in their place. */
function atFloor(
  state: readonly StartMemory[],
  floor: readonly StartMemory[],
): readonly StartMemory[] {
  const merged = new Map([...state, ...floor].map((memory) => [memory.memoryId, memory]))
  return [...merged.values()].toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
}

test('states the memories at the head, and at a head a day older as the floor', async () => {
  const first = await firstClone()
  for (const path of ['/a.md', '/b.md', '/c.md']) await write(first, path)
  await first.store.as(author).sync()
  const second = await joinClone(first, first.remote, { clock })
  now += 3 * DAY
  // Two sides, which a merge joins: no floor can lie on one of them.
  await write(first, '/b.md', 'left')
  await write(second, '/new.md')
  await syncAll([first, second])
  now += 2 * DAY
  await write(first, '/last.md')
  await first.store.as(author).apply([{ type: 'delete', path: '/c.md' }])
  const redacted = await write(first, '/a.md', 'secret')
  await write(first, '/a.md', 'fine')
  await first.store.as(author).redact({ select: { versionIds: [redacted] }, reason: 'legal' })
  await first.store.close()
  const session = await sessionOf(first.place)
  const { publicKey } = first.place.identity.signing
  const { snapshot, history, epoch } = await session.planning(async () => ({
    snapshot: session.snapshot,
    history: await session.historyNow(),
    epoch: session.currentEpoch(),
  }))
  const { state, floor, ...start } = openStart(
    await made(session, 7),
    epoch,
    publicKey,
    session.storeId,
  )
  expect(start).toMatchObject({ counter: 7, time: now, redacted: [...snapshot.redacted] })
  expect(state).toMatchObject(snapshot.head)
  expect(describe(state.memories)).toEqual(memoriesOf(snapshot))
  expect(state.devices.map(({ deviceId }) => deviceId)).toEqual(
    [...snapshot.devices].map(([deviceId]) => deviceId),
  )
  const entry = history.commits.at(history.commits.length - 1)
  const at = history.findCommit(floor?.commit ?? '', floor?.height ?? 0)
  expect(at?.time).toBeLessThanOrEqual((entry?.time ?? 0) - DAY)
  expect(at && history.isMerge(at)).toBe(true)
  const then = await inSlices(snapshotAt(session.contents, history, at?.position ?? 0))
  expect(floor).toMatchObject(then.head)
  expect(describe(atFloor(state.memories, floor?.memories ?? []))).toEqual(memoriesOf(then))
  expect(floor?.keyring).toBeUndefined()
  expect(floor?.memories.length).toBeLessThan(state.memories.length)
  // A start of an earlier head, which a remote still shows.
  const shown = { commit: floor?.commit ?? '', height: floor?.height ?? 0 }
  const earlier = openStart(await made(session, 8, shown), epoch, publicKey, session.storeId)
  expect(earlier.state).toMatchObject(then.head)
  expect(describe(earlier.state.memories)).toEqual(memoriesOf(then))
  expect(await makeStartOf(session, 9, { ...shown, commit: '0'.repeat(40) })).toBeUndefined()
  await session.close()
})

test('the floor of a young store is genesis; a new store has no floor', async () => {
  const first = await firstClone()
  await first.store.close()
  const { publicKey } = first.place.identity.signing
  const session = await sessionOf(first.place)
  const opened = async (one: StoreSession): Promise<ReturnType<typeof openStart>> => {
    const epoch = await one.planning(async () => one.currentEpoch())
    return openStart(await made(one, 1), epoch, publicKey, one.storeId)
  }
  expect((await opened(session)).floor).toBeUndefined()
  await session.close()
  const store = await reopen(first.place)
  await write({ ...first, store }, '/a.md')
  await store.close()
  const later = await sessionOf(first.place)
  const { floor } = await opened(later)
  expect(floor).toMatchObject({ height: 0, memories: [{ value: undefined }] })
  await later.close()
})

test('only the holders of the given grants find the keys in the wraps', async () => {
  const first = await firstClone()
  await first.store.close()
  const session = await sessionOf(first.place)
  const { identity } = first.place
  const keysOf = (number: number) => grantKeysOf(grantOf(identity, session.storeId, number))
  const blob = await makeWrapsOf(session, [0, 2])
  const wraps = decodeWraps(blob)
  const { publicKey } = identity.signing
  const epoch = await session.planning(async () => session.currentEpoch())
  expect(openWraps(wraps, publicKey, keysOf(2))).toEqual(epoch)
  expect(openWraps(wraps, publicKey, keysOf(1))).toBeUndefined()
  await session.close()
})
