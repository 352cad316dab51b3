// The snapshot that a device keeps between runs: opening continues from it, and the newest one of
// several processes stays.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { type Disk, systemDisk } from '../../../src/disk/disk.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import type { CacheOwner } from '../../../src/store/local/sealed-cache.ts'
import {
  findCachedHead,
  findState,
  findWritten,
  writeState,
} from '../../../src/store/local/state-cache.ts'
import { Snapshot } from '../../../src/store/snapshot/snapshot.ts'
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

test('a snapshot is read as it was written', async () => {
  const owner = await ownerOf('5'.repeat(32))
  const path = `${temporaryDirectory()}/cache/state`
  const written = sampleSnapshot()
  const counted = { commit: 'cd'.repeat(20), commits: 12 }
  await writeState(owner, path, { snapshot: written, counted })
  const { keyring, settings } = written
  const reader = { readKeyring: () => keyring, readSettings: () => settings }
  const found = await findState(owner, path, reader)
  expect(found?.counted).toEqual(counted)
  expect(found?.snapshot.head).toEqual(written.head)
  expect(found?.snapshot.devices).toEqual(written.devices)
  expect(found?.snapshot.redacted).toEqual(written.redacted)
  expect([...(found?.snapshot.current ?? [])]).toEqual([...written.current])
  expect(found?.snapshot.paths).toEqual(written.paths)
  expect(findWritten(owner, path)).toMatchObject({ commit: written.head.commit, height: 11 })
  const cached = await findCachedHead(owner, path)
  expect(cached).toEqual({ commit: written.head.commit, redacted: [...written.redacted] })
  for (const other of [await ownerOf('5'.repeat(32)), { ...owner, storeId: '6'.repeat(32) }]) {
    expect(await findState(other, path, reader)).toBeUndefined()
  }
})

async function ownerOf(storeId: string): Promise<CacheOwner> {
  return { disk: systemDisk, storeId, identity: await generateIdentity(), random: systemRandom }
}

/** Live memories of two epochs, deletions and redactions, more than one part has. */
function sampleSnapshot(): Snapshot {
  const record = new Uint8Array(32).fill(3)
  const head = { commit: 'ab'.repeat(20), record, height: 11, tree: 'ef'.repeat(20) }
  const device = { sequence: 7, record, time: 8.64e15, forked: true }
  const directory = { number: 0, previous: [], devices: [], removed: [], recovery: [], gone: [] }
  const quota = { quota: 0, quotaSet: 0, founderRandom: undefined }
  const keyring = {
    record,
    oid: 'ac'.repeat(20),
    kid: '1'.repeat(32),
    archived: [],
    directory: { ...directory, ...quota },
  }
  const limits = { contentBytes: 1, memories: 1 }
  const value = { name: '', description: '', metadata: {}, archivedAt: undefined, limits }
  const oid = 'ad'.repeat(20)
  const settings = { oid, value, record, height: 1, updated: 2, created: 1 }
  const snapshot = new Snapshot(head, keyring, settings)
  snapshot.devices.set('9'.repeat(32), device)
  for (let n = 0; n < 1200; n += 1) {
    const memoryId = n.toString(16).padStart(32, '0')
    const versionId = n.toString(16).padStart(32, 'f')
    const [created, kid] = [n * 1e10, n % 2 === 0 ? '1'.repeat(32) : '2'.repeat(32)]
    const ids = { memoryId, versionId, blob: n.toString(16).padStart(40, 'b') }
    const text = { path: `/é/${n}`, size: n, sha256: n.toString(16).padStart(64, 'c') }
    const live = { ...ids, ...text, created, updated: created + n, kid }
    const operation = (['created', 'modified', 'deleted'] as const)[n % 3] ?? 'deleted'
    const isGone = operation === 'deleted' || n % 5 === 0
    snapshot.current.set(memoryId, {
      versionId,
      operation,
      created,
      live: isGone ? undefined : live,
    })
    if (!isGone) snapshot.paths.add(live)
    if (n % 2 === 0) snapshot.redacted.add(versionId)
  }
  return snapshot
}
