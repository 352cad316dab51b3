// T85: a holder, or another account that can push, keeps no access after a grant has ended, gives
// no holder another start, and has no start describe redacted versions. FORMAT §12, §13.
// @module-tag slow

import { beforeEach, expect, test } from 'vitest'
import { gitHash } from '../../src/crypto/sha1.ts'
import { openEnvelope, memoryContext } from '../../src/format/envelope.ts'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { type MemoryStore, openGranted } from '../../src/index.ts'
import { openStart } from '../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, openWraps, parseGrant } from '../../src/keys/wraps.ts'
import { makeStartOf } from '../../src/store/grants/make-start.ts'
import { openSession } from '../../src/store/session/open-session.ts'
import {
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
} from '../support/clones.ts'
import { forgeStart, refOf } from '../support/grant-holders.ts'
import { author, contentsOf, leastStretch } from '../support/stores.ts'
import { git, gitBytes, temporaryDirectory } from '../support/temporary.ts'

let remote: string
let clone: Clone

beforeEach(async () => {
  remote = bareRemote()
  clone = await firstClone(remote)
  await put(clone, '/a.md')
  await sync(clone)
})

function give({ store }: Clone = clone) {
  return store.as(author).grants.give()
}

function begin(grant: string): Promise<MemoryStore> {
  const root = temporaryDirectory()
  const places = { directory: `${root}/store`, stateDirectory: `${root}/state` }
  return openGranted({ ...places, grant, url: remote, stretch: leastStretch })
}

function blobAt(kind: 'start' | 'wraps', text: string): Uint8Array {
  return gitBytes(['cat-file', 'blob', refOf({ grant: text }, kind)], remote)
}

function refs(): readonly string[] {
  return git(['for-each-ref', '--format=%(refname)'], remote).split('\n')
}

function showBytes(ref: string, bytes: Uint8Array): void {
  const oid = git(['hash-object', '-w', '--stdin'], remote, bytes).trim()
  git(['update-ref', ref, oid], remote)
}

function keysIn(text: string, wraps = blobAt('wraps', text)) {
  const grant = parseGrant(text)
  return openWraps(decodeWraps(wraps), grant.granterKey, grantKeysOf(grant))
}

async function redactOnce(): Promise<void> {
  const versionId = await put(clone, '/a.md', 'secret')
  await put(clone, '/a.md', 'fine')
  await clone.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
}

/** A start that a device makes of its newest head, as if it had pushed it. */
async function startBy({ place: { directory, stateDirectory, identity } }: Clone) {
  const objects = await openDiskObjectStore({ directory })
  const { session } = await openSession(objects, { directory, stateDirectory, identity })
  const bytes = await makeStartOf(session, 2 ** 50)
  await session.close()
  if (bytes === undefined) throw new Error('no start was made')
  return bytes
}

test('its honest twin: a holder begins from the start of the granter', async () => {
  const { text } = await give()
  const sandbox = await begin(text)
  expect(await contentsOf(sandbox)).toEqual({ '/a.md': '/a.md' })
  await sandbox.close()
})

test('the thief of an ended grant finds no later keys, and opens no later start', async () => {
  const [stolen, kept] = [await give(), await give()]
  const before = keysIn(stolen.text)
  await clone.store.as(author).grants.end([stolen.grantId])
  await clone.store.as(author).keys.rotate()
  await put(clone, '/later.md')
  await sync(clone)
  expect(keysIn(stolen.text)).toBeUndefined()
  const start = blobAt('start', kept.text)
  const { granterKey, storeId } = parseGrant(kept.text)
  if (before === undefined) throw new Error('the grant was not live')
  expect(() => openStart(start, before, granterKey, storeId)).toThrow(
    expect.objectContaining({ code: 'envelope_epoch' }),
  )
  await expect(begin(stolen.text)).rejects.toMatchObject({ code: 'grant_keys_missing' })
})

test('old wraps and an old start that are put back begin nothing after the end', async () => {
  const { text, grantId } = await give()
  const other = await give()
  const [wraps, start] = [blobAt('wraps', text), blobAt('start', text)]
  await clone.store.as(author).grants.end([grantId])
  showBytes(refOf({ grant: text }, 'wraps'), wraps)
  showBytes(refOf({ grant: text }, 'start'), start)
  // The head of the remote ends the grant.
  await expect(begin(text)).rejects.toMatchObject({ code: 'grant_expired' })
  // The granter's next sync takes them back.
  expect((await sync(clone)).grants).toMatchObject({ isRefreshed: true, wereLost: true })
  expect(keysIn(text)).toBeUndefined()
  expect(keysIn(other.text)).toBeDefined()
})

test('a removed granter has nothing made for its grants any more', async () => {
  const other = await joinClone(clone, remote)
  const { text } = await give(other)
  const [start, wraps] = [blobAt('start', text), blobAt('wraps', text)]
  await clone.store.as(author).devices.remove([idOf(other)])
  await put(clone, '/later.md')
  await sync(clone)
  // Its refs are removed; the host keeps their blobs, and puts them back.
  expect(refs().join()).not.toContain(parseGrant(text).name)
  showBytes(refOf({ grant: text }, 'start'), start)
  showBytes(refOf({ grant: text }, 'wraps'), wraps)
  await sync(other).catch(() => undefined)
  expect(gitHash('blob', blobAt('wraps', text))).toBe(gitHash('blob', wraps))
  await expect(begin(text)).rejects.toMatchObject({ code: 'wrong_key' })
})

test('a member with all keys cannot put its start in the place of another', async () => {
  const other = await joinClone(clone, remote)
  const { text } = await give()
  await put(other, '/of-the-member.md')
  await other.store.close()
  showBytes(refOf({ grant: text }, 'start'), await startBy(other))
  await expect(begin(text)).rejects.toMatchObject({ code: 'device_signature_invalid' })
  expect((await sync(clone)).grants).toMatchObject({ isRefreshed: true, wereLost: true })
  const sandbox = await begin(text)
  expect(await contentsOf(sandbox)).toEqual({ '/a.md': '/a.md' })
  await sandbox.close()
})

test('a push with a redaction leaves no start that describes the version', async () => {
  const other = await joinClone(clone, remote)
  const theirs = await give(other)
  const { text } = await give()
  await redactOnce()
  await sync(clone)
  expect(refs()).not.toContain(refOf({ grant: theirs.text }, 'start'))
  const grant = parseGrant(text)
  const keys = keysIn(text)
  const start = keys && openStart(blobAt('start', text), keys, grant.granterKey, grant.storeId)
  expect(start?.redacted).toHaveLength(1)
  const now = await clone.store.read('/a.md')
  expect(start?.state.memories).toHaveLength(1)
  expect(start?.floor?.memories.map(({ value }) => value?.live?.path)).toEqual([undefined])
  expect(now?.content).toBe('fine')
})

test('a start of another device that lacks a redaction is removed by any sync', async () => {
  const other = await joinClone(clone, remote)
  const { text } = await give(other)
  const old = blobAt('start', text)
  await redactOnce()
  await sync(clone)
  showBytes(refOf({ grant: text }, 'start'), old)
  expect((await sync(clone)).grants).toMatchObject({ removedStarts: 1 })
  expect(refs()).not.toContain(refOf({ grant: text }, 'start'))
})

test('a start of its own that lacks a redaction is made again if it was put back', async () => {
  const other = await joinClone(clone, remote)
  const { text } = await give()
  await sync(other)
  const [old, kept] = [blobAt('start', text), await put(other, '/a.md', 'secret')]
  await put(other, '/a.md', 'fine')
  await other.store.as(author).redact({ select: { versionIds: [kept] }, reason: 'legal' })
  await sync(other)
  expect(refs()).not.toContain(refOf({ grant: text }, 'start'))
  showBytes(refOf({ grant: text }, 'start'), old)
  expect((await sync(clone)).grants).toMatchObject({ isRefreshed: true })
  const { granterKey, storeId } = parseGrant(text)
  const keys = keysIn(text)
  expect(keys && openStart(blobAt('start', text), keys, granterKey, storeId).redacted).toHaveLength(
    1,
  )
})

test('a start of another device that is older than one seen before is removed', async () => {
  const other = await joinClone(clone, remote)
  const { text } = await give(other)
  await redactOnce()
  await sync(clone)
  await sync(other)
  const old = blobAt('start', text)
  await sync(clone)
  await give(other)
  expect((await sync(clone)).grants).toBeUndefined()
  showBytes(refOf({ grant: text }, 'start'), old)
  expect((await sync(clone)).grants).toMatchObject({ removedStarts: 1 })
  expect(refs()).not.toContain(refOf({ grant: text }, 'start'))
})

test.each(['signed', 'forged'])(
  'a start that a member has %s is not taken for a newer one of another',
  async (how) => {
    const other = await joinClone(clone, remote)
    const member = await joinClone(clone, remote)
    const { text, grantId } = await give(other)
    await redactOnce()
    await sync(clone)
    await sync(other)
    const honest = blobAt('start', text)
    const { identity } = member.place
    const { publicKey } = (how === 'signed' ? member : other).place.identity.signing
    const signer = { ...identity, signing: { ...identity.signing, publicKey } }
    const world = { url: remote, granter: other, grant: text, grantId }
    const place = { ...member.place, identity: signer }
    forgeStart(world, (start) => ({ ...start, counter: 2 ** 50 }), { place })
    await sync(clone)
    showBytes(refOf({ grant: text }, 'start'), honest)
    expect((await sync(clone)).grants).toBeUndefined()
    expect(blobAt('start', text)).toEqual(honest)
  },
)

test('a start that was fetched into a clone is found as residue after a redaction', async () => {
  const versionId = await put(clone, '/a.md', 'secret')
  const { text } = await give()
  const oid = gitHash('blob', blobAt('start', text))
  await clone.store.as(author).write('/a.md', 'fine')
  git(['fetch', '--quiet', remote, refOf({ grant: text }, 'start')], clone.place.directory)
  expect((await clone.store.maintenance.findResidue()).found).toEqual([])
  await clone.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
  expect((await clone.store.maintenance.findResidue()).found).toContainEqual({
    place: 'object',
    objectId: oid,
    versionId,
  })
})

test('a start is opened as nothing else, and nothing else as a start', async () => {
  const { text } = await give()
  const keys = keysIn(text)
  if (keys === undefined) throw new Error('the grant was not live')
  const start = blobAt('start', text)
  const context = memoryContext(keys, '0'.repeat(32))
  for (const bytes of [start, start.subarray(40)]) {
    expect(() => openEnvelope('memory', keys.memory, context, bytes)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^envelope_/) }),
    )
  }
  const { granterKey, storeId } = parseGrant(text)
  const tree = git(['ls-tree', '-r', await headOf(clone)], remote)
  const blobs = [...tree.matchAll(/ blob (\w+)\t/g)].map(([, oid = '']) => oid)
  for (const oid of blobs) {
    const bytes = gitBytes(['cat-file', 'blob', oid], remote)
    expect(() => openStart(bytes, keys, granterKey, storeId)).toThrow(
      expect.objectContaining({ code: 'baseline_malformed' }),
    )
  }
})
