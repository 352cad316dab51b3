// The snapshot that a device keeps between runs: opening continues from it, and the newest of
// several processes' snapshots is kept.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import type { OwnFiles } from '../../../src/store/local/own-files.ts'
import type { SealOwner } from '../../../src/store/local/sealed-cache.ts'
import {
  findCachedHead,
  findState,
  findWritten,
  writeState,
} from '../../../src/store/local/state-cache.ts'
import type { CurrentVersion, LiveMemory } from '../../../src/store/snapshot/live-memory.ts'
import { memoriesBelow } from '../../../src/store/snapshot/path-tree.ts'
import { SharedMap } from '../../../src/store/snapshot/shared-map.ts'
import { type CommitEffect, Snapshot } from '../../../src/store/snapshot/snapshot.ts'
import { ownDirectory } from '../../support/own-files.ts'
import { author, newStore, reopen } from '../../support/stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test(
  'opening what a killed process has written reads no long history',
  { tags: 'slow' },
  async () => {
    /** Bytes that are read to open a store of `count` commits and three that no cache has. */
    async function bytesRead(count: number): Promise<number> {
      const made = await newStore()
      for (let n = 0; n < count; n += 1) {
        await made.store.as(author).apply([{ type: 'create', path: `/${n}`, content: 'x\n' }])
        await made.store.as(author).apply([{ type: 'delete', path: `/${n}` }])
      }
      await made.store.close()
      const alive = await reopen(made.place)
      for (const path of ['/a', '/b', '/c']) {
        await alive.as(author).apply([{ type: 'create', path, content: 'x\n' }])
      }
      let bytes = 0
      const disk: Disk = {
        ...systemDisk,
        read: (fd, into, position) => {
          const length = systemDisk.read(fd, into, position)
          bytes += length
          return length
        },
      }
      const opened = await reopen(made.place, { disk })
      expect((await opened.read('/c'))?.content).toBe('x\n')
      await alive.close()
      await opened.close()
      return bytes
    }
    const [few, many] = [await bytesRead(10), await bytesRead(400)]
    expect(many).toBeLessThan(3 * few)
  },
)

test('a process that is behind does not overwrite a newer snapshot', async () => {
  const { store: behind, place } = await newStore()
  await behind.as(author).apply([{ type: 'create', path: '/a', content: 'x\n' }])
  const ahead = await reopen(place)
  for (const path of ['/b', '/c', '/d']) {
    await ahead.as(author).apply([{ type: 'create', path, content: 'x\n' }])
  }
  await ahead.close()
  const [device = ''] = readdirSync(`${place.directory}/gitlocket/cache`)
  const state = `${place.directory}/gitlocket/cache/${device}/state`
  const written = readFileSync(state)
  await behind.close()
  expect(readFileSync(state)).toEqual(written)
  const again = await reopen(place)
  expect(await again.maintenance.verify()).toMatchObject({ commits: 5, versions: 4 })
  await again.close()
})

test('a snapshot is read back unchanged', async () => {
  const owner = await ownerOf('5'.repeat(32))
  const path = `${temporaryDirectory()}/cache/state`
  const files = ownDirectory({ state: path, 'state-changes': `${path}-changes` })
  const written = sampleSnapshot()
  const counted = { commit: 'cd'.repeat(20), commits: 12 }
  await writeState(owner, files, { snapshot: written, counted }, undefined)
  const { keyring, settings } = written
  const reader = { readKeyring: () => keyring, readSettings: () => settings }
  const found = await findState(owner, files, reader)
  expect(found?.counted).toEqual(counted)
  expect(found?.snapshot.head).toEqual(written.head)
  expect(found?.snapshot.devices).toEqual(written.devices)
  expect(found?.snapshot.redacted).toEqual(written.redacted)
  expect(new Map(found?.snapshot.current)).toEqual(new Map(written.current))
  expect(pathsOf(found?.snapshot)).toEqual(pathsOf(written))
  expect(await findWritten(owner, files)).toMatchObject({ commit: written.head.commit, height: 11 })
  const cached = await findCachedHead(owner, files)
  expect(cached).toEqual({ commit: written.head.commit, redacted: [...written.redacted] })
  for (const other of [await ownerOf('5'.repeat(32)), { ...owner, storeId: '6'.repeat(32) }]) {
    expect(await findState(other, files, reader)).toBeUndefined()
  }
})

test(
  'changes after all memories were written are in a file of their own',
  { tags: 'slow' },
  async () => {
    const owner = await ownerOf('5'.repeat(32))
    const path = `${temporaryDirectory()}/cache/state`
    const files = ownDirectory({ state: path, 'state-changes': `${path}-changes` })
    const before = sampleSnapshot()
    const kept = await writeState(owner, files, { snapshot: before, counted: undefined }, undefined)
    const whole = readFileSync(path)
    const snapshot = changeTo(before, 'bc'.repeat(20), changesOf(before))
    await writeState(owner, files, { snapshot, counted: undefined }, kept)
    expect(readFileSync(path)).toEqual(whole)
    const found = await readBack(owner, files, snapshot)
    expect(found?.head.commit).toBe('bc'.repeat(20))
    expect(new Map(found?.current)).toEqual(new Map(snapshot.current))
    expect(pathsOf(found)).toEqual(pathsOf(snapshot))
    expect((await findWritten(owner, files))?.commit).toBe('bc'.repeat(20))
    expect((await findCachedHead(owner, files))?.commit).toBe('bc'.repeat(20))

    // Neither file is taken for the other, and changes belong to one file of all memories.
    const changes = readFileSync(`${path}-changes`)
    writeFileSync(path, changes)
    expect(await readBack(owner, files, snapshot)).toBeUndefined()
    const other = sampleSnapshot('dc'.repeat(20))
    await writeState(owner, files, { snapshot: other, counted: undefined }, undefined)
    expect(existsSync(`${path}-changes`)).toBe(false)
    writeFileSync(`${path}-changes`, changes)
    expect((await readBack(owner, files, snapshot))?.head.commit).toBe('dc'.repeat(20))
    expect((await findWritten(owner, files))?.commit).toBe('dc'.repeat(20))
  },
)

test.each<[string, (snapshot: Snapshot, path: string) => Snapshot]>([
  ['many memories', (snapshot) => changeTo(snapshot, 'bc'.repeat(20), allOf(snapshot))],
  [
    'a redaction',
    (snapshot) => snapshot.with({ redacted: new Set([...snapshot.redacted, '0'.repeat(32)]) }),
  ],
  [
    'the file',
    (snapshot, path) => {
      rmSync(path)
      return snapshot
    },
  ],
])('all memories are written again when %s changed', async (_, change) => {
  const owner = await ownerOf('5'.repeat(32))
  const path = `${temporaryDirectory()}/cache/state`
  const files = ownDirectory({ state: path, 'state-changes': `${path}-changes` })
  const before = sampleSnapshot()
  const kept = await writeState(owner, files, { snapshot: before, counted: undefined }, undefined)
  const snapshot = change(before, path)
  await writeState(owner, files, { snapshot, counted: undefined }, kept)
  expect(existsSync(`${path}-changes`)).toBe(false)
  const found = await readBack(owner, files, snapshot)
  expect(found?.redacted).toEqual(snapshot.redacted)
  expect(new Map(found?.current)).toEqual(new Map(snapshot.current))
})

test('a redaction erases both files', async () => {
  const { store, place } = await newStore()
  await store.as(author).write('/a', 'secret')
  for (const name of 'bcdefghi') await store.as(author).write(`/${name}`, name)
  await store.close()
  const again = await reopen(place)
  await again.as(author).write('/a', 'other')
  await again.close()
  const caches = `${place.directory}/gitlocket/cache`
  const cached = () => readdirSync(caches, { recursive: true, encoding: 'utf8' })
  const states = () => cached().filter((name) => /state(?:-changes)?$/.test(name))
  expect(states()).toHaveLength(2)
  const redacting = await reopen(place)
  await redacting.as(author).redact({ select: { matching: /secret/ }, reason: 'leaked_secret' })
  await redacting.maintenance.checkpoint()
  expect(states()).toEqual([])
  await redacting.close()
  expect(states()).toHaveLength(1)
})

type Versions = CommitEffect['memories']

/** One memory moves, another one takes its path, one is deleted and one is new. */
function changesOf(snapshot: Snapshot): Versions {
  const [first, second, third] = [...snapshot.current.live()]
  if (first === undefined || second === undefined || third === undefined) throw new Error('None')
  const moved = { ...second, live: { ...second.live, path: first.live.path } }
  const memoryId = 'e'.repeat(32)
  return new Map<string, CurrentVersion>([
    [first.live.memoryId, { ...first, live: { ...first.live, path: '/moved' } }],
    [second.live.memoryId, moved],
    [third.live.memoryId, { ...third, live: undefined, operation: 'deleted' }],
    [memoryId, { ...third, live: { ...third.live, memoryId, path: '/new' } }],
  ])
}

function allOf({ current }: Snapshot): Versions {
  const rows = [...current.live()].map(({ live, ...version }): [string, CurrentVersion] => {
    return [live.memoryId, { ...version, live: { ...live, size: 1 } }]
  })
  return new Map(rows)
}

function pathsOf(snapshot: Snapshot | undefined): readonly LiveMemory[] {
  return snapshot === undefined ? [] : [...memoriesBelow(snapshot.paths.root)]
}

function changeTo(snapshot: Snapshot, commit: string, memories: Versions): Snapshot {
  const head = { ...snapshot.head, commit, height: snapshot.head.height + 1 }
  const nothing = { devices: new Map(), grants: new Map() }
  return snapshot.apply({ head, memories, ...nothing, keyring: undefined, settings: undefined })
}

async function readBack(
  owner: SealOwner,
  files: OwnFiles,
  { keyring, settings }: Snapshot,
): Promise<Snapshot | undefined> {
  const reader = { readKeyring: () => keyring, readSettings: () => settings }
  return (await findState(owner, files, reader))?.snapshot
}

async function ownerOf(storeId: string): Promise<SealOwner> {
  return { storeId, identity: await generateIdentity(), random: systemRandom }
}

/** Live memories of two epochs, deletions and redactions, more than one part has. */
function sampleSnapshot(commit: string = 'ab'.repeat(20)): Snapshot {
  const record = new Uint8Array(32).fill(3)
  const head = { commit, record, height: 11, tree: 'ef'.repeat(20) }
  const device = { sequence: 7, record, time: 8.64e15, forked: true }
  const directory = { number: 0, previous: undefined, devices: [], removed: [], recovery: [] }
  const rest = { quota: 0, givers: 'owners', founderRandom: undefined } as const
  const keyring = {
    record,
    oid: 'ac'.repeat(20),
    kid: '1'.repeat(32),
    archived: [],
    directory: { ...directory, ...rest },
  }
  const limits = { contentBytes: 1, memories: 1 }
  const value = { name: '', description: '', metadata: {}, archivedAt: undefined, limits }
  const oid = 'ad'.repeat(20)
  const settings = { oid, value, record, height: 1, updated: 2, created: 1 }
  const devices = SharedMap.of([['9'.repeat(32), device] as const])
  const memories: [string, CurrentVersion][] = []
  const redacted = new Set<string>()
  for (let n = 0; n < 1200; n += 1) {
    const memoryId = n.toString(16).padStart(32, '0')
    const versionId = n.toString(16).padStart(32, 'f')
    const [created, kid] = [n * 1e10, n % 2 === 0 ? '1'.repeat(32) : '2'.repeat(32)]
    const ids = { memoryId, versionId, blob: n.toString(16).padStart(40, 'b') }
    const text = { path: `/é/${n}`, size: n, sha256: n.toString(16).padStart(64, 'c') }
    const live = { ...ids, ...text, created, updated: created + n, kid }
    const operation = (['created', 'modified', 'deleted'] as const)[n % 3] ?? 'deleted'
    const isGone = operation === 'deleted' || n % 5 === 0
    memories.push([memoryId, { versionId, operation, created, live: isGone ? undefined : live }])
    if (n % 2 === 0) redacted.add(versionId)
  }
  return Snapshot.of({ head, keyring, settings }, { memories, devices, redacted })
}
