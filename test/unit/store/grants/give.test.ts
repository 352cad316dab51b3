// Grants at a path remote: given, listed and ended, and what their holders find there, which syncs
// make again when something would be missing.

import { beforeEach, expect, test } from 'vitest'
import { toHex } from '../../../../src/bytes.ts'
import type { Start } from '../../../../src/format/start.ts'
import { type MemoryStore, openGranted } from '../../../../src/index.ts'
import { openStart } from '../../../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, openWraps, parseGrant } from '../../../../src/keys/wraps.ts'
import type { SyncReport } from '../../../../src/store/sync/report.ts'
import { bareRemote, type Clone, idOf, joinClone, put } from '../../../support/clones.ts'
import { author, contentsOf, leastStretch, newStore, reopen } from '../../../support/stores.ts'
import { git, gitBytes, temporaryDirectory } from '../../../support/temporary.ts'

const HOUR = 3_600_000
let now = 1_700_000_000_000
const clock = (): number => now
let remote: string
let clone: Clone

beforeEach(async () => {
  now = 1_700_000_000_000
  const { store, place } = await newStore({ clock })
  remote = bareRemote()
  await store.remotes.add('origin', remote)
  clone = { store, place }
  await put(clone, '/a.md')
})

function refs(): readonly string[] {
  return git(['for-each-ref', '--format=%(refname)', 'refs/gitlocket'], remote)
    .split('\n')
    .filter(Boolean)
}

function sync({ store }: Clone = clone): Promise<SyncReport> {
  return store.as(author).sync()
}

/** What the holder of a text finds at the remote. */
function open(text: string): Start | undefined {
  const grant = parseGrant(text)
  const read = (kind: string): Uint8Array =>
    gitBytes(['cat-file', 'blob', `refs/gitlocket/${kind}/${grant.name}`], remote)
  const epoch = openWraps(decodeWraps(read('wraps')), grant.granterKey, grantKeysOf(grant))
  return epoch && openStart(read('baseline'), epoch, grant.granterKey, grant.storeId)
}

function paths(start: Start | undefined): readonly string[] {
  const found = (start?.state.memories ?? []).flatMap(({ value }) => value?.live?.path ?? [])
  return found.toSorted()
}

test('the holder of a text finds a start of the head that the remote shows', async () => {
  const given = await clone.store.as(author).grants.give({ label: 'nightly' })
  expect(given).toMatchObject({ role: 'writer', label: 'nightly' })
  expect(given.url).toBe(`${remote}#${(await clone.store.status()).address}`)
  expect(given.expiresAt).toBe(now + 8 * HOUR)
  const start = open(given.text)
  expect(paths(start)).toEqual(['/a.md'])
  expect(start?.state.commit).toBe(git(['rev-parse', 'main'], remote).trim())
  const { signing } = grantKeysOf(parseGrant(given.text))
  expect(start?.state.grants).toMatchObject([{ key: signing.publicKey, value: { role: 'writer' } }])
  expect(await clone.store.grants.list()).toEqual([
    {
      grantId: given.grantId,
      label: 'nightly',
      role: 'writer',
      grantedBy: idOf(clone),
      isOwn: true,
      givenAt: now,
      expiresAt: given.expiresAt,
      endedAt: undefined,
      status: 'active',
    },
  ])
})

test('a grant that is given while others write and sync has what its holder needs', async () => {
  const done = new AbortController()
  const { signal } = done
  const write = async (): Promise<void> => {
    for (let at = 0; !signal.aborted && at < 400; at += 1) await put(clone, '/busy.md', `${at}`)
  }
  const syncMore = async (): Promise<void> => {
    for (let at = 0; !signal.aborted && at < 40; at += 1) await sync()
  }
  const others = [write(), syncMore()]
  const texts: string[] = []
  for (let at = 0; at < 4; at += 1) {
    texts.push((await clone.store.as(author).grants.give()).text)
    for (const text of texts) {
      const { signing } = grantKeysOf(parseGrant(text))
      const keys = open(text)?.state.grants.map(({ key }) => toHex(key))
      expect(keys).toContain(toHex(signing.publicKey))
    }
  }
  done.abort()
  await Promise.all(others)
})

test('each grant has a secret of its own, also after its notes were lost', async () => {
  const first = await clone.store.as(author).grants.give()
  const second = await clone.store.as(author).grants.give({ role: 'reader', label: 'ci' })
  await clone.store.close()
  const { rmSync, readdirSync } = await import('node:fs')
  const state = `${clone.place.stateDirectory}/${clone.store.id}`
  const notes = readdirSync(state).filter((name) => name.endsWith('.grants'))
  expect(notes).toHaveLength(1)
  for (const name of notes) rmSync(`${state}/${name}`)
  const store = await reopen(clone.place, { clock })
  const third = await store.as(author).grants.give()
  const secrets = [first, second, third].map(({ text }) => text)
  expect(new Set(secrets).size).toBe(3)
  for (const text of secrets) expect(paths(open(text))).toEqual(['/a.md'])
  expect((await store.grants.list()).map(({ label }) => label)).toEqual(['', '', ''])
  await store.close()
})

test('an ended grant opens nothing more, and the last one takes all from the remote', async () => {
  const writer = clone.store.as(author)
  const [one, other] = [await writer.grants.give(), await writer.grants.give()]
  expect(await writer.grants.end([one.grantId])).toEqual({
    grantIds: [one.grantId],
    pending: undefined,
  })
  expect(open(one.text)).toBeUndefined()
  expect(open(other.text)).toBeDefined()
  expect(await writer.grants.end([one.grantId])).toMatchObject({ grantIds: [] })
  await writer.grants.end([other.grantId])
  expect(refs()).toEqual([])
  expect((await clone.store.grants.list()).map(({ status }) => status)).toEqual(['ended', 'ended'])
})

test('a sync makes a start again after an hour, 256 commits, or a loss', async () => {
  const { text } = await clone.store.as(author).grants.give()
  now += HOUR
  expect((await sync()).grants).toBeUndefined()
  await put(clone, '/b.md')
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  await put(clone, '/c.md')
  expect((await sync()).grants).toBeUndefined()
  now += HOUR
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  expect(paths(open(text))).toEqual(['/a.md', '/b.md', '/c.md'])
  for (let at = 0; at < 256; at += 1) await put(clone, '/many.md', `${at}`)
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  for (const lost of [...refs().map((ref) => [ref]), refs()]) {
    for (const ref of lost) git(['update-ref', '-d', ref], remote)
    expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: true })
    expect(refs()).toHaveLength(2)
  }
  expect(paths(open(text))).toContain('/many.md')
  expect((await sync()).grants).toBeUndefined()
})

test('new keys are wrapped for the grants that go on', async () => {
  const { text } = await clone.store.as(author).grants.give()
  await clone.store.as(author).keys.rotate()
  expect((await sync()).grants).toBeUndefined()
  const grant = parseGrant(text)
  const wraps = gitBytes(['cat-file', 'blob', `refs/gitlocket/wraps/${grant.name}`], remote)
  const { kid } = decodeWraps(wraps)
  expect(open(text)?.kids.includes(kid)).toBe(false)
  expect(paths(open(text))).toEqual(['/a.md'])
})

test('a grant whose time is over is ended a day later by a sync', async () => {
  const { grantId } = await clone.store.as(author).grants.give({ lastsMs: HOUR })
  now += 2 * HOUR
  expect((await sync()).grants).toBeUndefined()
  expect(await clone.store.grants.list()).toMatchObject([{ status: 'expired' }])
  now += 24 * HOUR
  expect((await sync()).grants).toMatchObject({ ended: [grantId], failure: undefined })
  expect(await clone.store.grants.list()).toMatchObject([{ status: 'ended', endedAt: now }])
  expect(refs()).toEqual([])
})

test('the push of a redaction deletes all starts, and the own one is made again', async () => {
  await sync()
  const { store: second, place } = await joinClone(clone, remote, { clock })
  const other = { store: second, place }
  const theirs = await second.as(author).grants.give()
  const ours = await clone.store.as(author).grants.give()
  expect(refs()).toHaveLength(4)
  const versionId = await put(clone, '/a.md', 'secret')
  await put(clone, '/a.md', 'fine')
  await sync()
  await clone.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  expect(refs()).toHaveLength(3)
  expect(open(ours.text)?.redacted).toHaveLength(1)
  expect((await sync(other)).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  expect(open(theirs.text)?.redacted).toHaveLength(1)
})

test('an old start that is put back after a redaction is removed by any sync', async () => {
  await sync()
  const other = await joinClone(clone, remote, { clock })
  const { text } = await other.store.as(author).grants.give()
  const { name } = parseGrant(text)
  const ref = `refs/gitlocket/baseline/${name}`
  const old = git(['rev-parse', ref], remote).trim()
  await sync()
  const versionId = await put(clone, '/a.md', 'secret')
  await put(clone, '/a.md', 'fine')
  await clone.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
  await sync()
  expect(refs()).toHaveLength(1)
  git(['update-ref', ref, old], remote)
  expect((await sync()).grants).toMatchObject({ removedStarts: 1, failure: undefined })
  expect(refs()).toHaveLength(1)
  await sync(other)
  expect(refs()).toHaveLength(2)
  expect((await sync()).grants).toBeUndefined()
})

test('a survey names grants that no record ends, and a start that is not up to date', async () => {
  expect(await clone.store.grants.survey({})).toBeUndefined()
  const { grantId } = await clone.store.as(author).grants.give({ lastsMs: HOUR })
  const lacks = async () => (await clone.store.grants.survey({}))?.remotes[0]?.lacks
  expect(await lacks()).toEqual([])
  await put(clone, '/b.md')
  expect(await lacks()).toEqual([])
  now += 26 * HOUR
  expect(await clone.store.grants.survey({})).toMatchObject({
    live: 1,
    due: [grantId],
    remotes: [{ remote: 'origin', lacks: ['stale'], error: undefined }],
  })
  await sync()
  expect(await clone.store.grants.survey({})).toBeUndefined()
})

test('an owner removes the refs of a device that was removed, and no others', async () => {
  await sync()
  const gone = await joinClone(clone, remote, { clock })
  const kept = await joinClone(clone, remote, { clock })
  await gone.store.as(author).grants.give()
  const [start = '', wraps = ''] = refs()
  const oids = [start, wraps].map((ref) => git(['rev-parse', ref], remote).trim())
  await kept.store.as(author).grants.give()
  await sync()
  expect(refs()).toHaveLength(4)
  await clone.store.as(author).devices.remove([idOf(gone)])
  expect(refs()).toHaveLength(2)
  expect(refs()).not.toContain(start)
  // Someone who still may push puts them back.
  for (const both of [true, false]) {
    if (both) git(['update-ref', start, oids[0] ?? ''], remote)
    git(['update-ref', wraps, oids[1] ?? ''], remote)
    const { grants } = await sync()
    expect(grants).toMatchObject({ removedRefs: both ? 2 : 1, failure: undefined })
    expect(refs()).not.toContain(wraps)
  }
  await sync(kept)
  expect(refs()).toHaveLength(2)
  expect((await sync()).grants).toBeUndefined()
})

test('without a remote, or with one that refuses its refs, none is left', async () => {
  const { store } = await newStore()
  await expect(store.as(author).grants.give()).rejects.toMatchObject({ code: 'not_found' })
  for (const hidden of ['refs/gitlocket', 'refs/tags']) {
    git(['config', '--add', 'receive.hideRefs', hidden], remote)
  }
  await expect(clone.store.as(author).grants.give()).rejects.toMatchObject({
    code: 'push_rejected',
  })
  expect(await clone.store.grants.list()).toMatchObject([{ status: 'ended' }])
  await clone.store.close()
})

test('a start that the host refuses is sent again by the next sync', async () => {
  const { text } = await clone.store.as(author).grants.give()
  for (const hidden of ['refs/gitlocket', 'refs/tags']) {
    git(['config', '--add', 'receive.hideRefs', hidden], remote)
  }
  await put(clone, '/b.md')
  now += HOUR
  expect((await sync()).grants).toMatchObject({
    isRefreshed: false,
    failure: { code: 'push_rejected' },
  })
  git(['config', '--unset-all', 'receive.hideRefs'], remote)
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  expect(paths(open(text))).toEqual(['/a.md', '/b.md'])
})

test('a host that allows tags alone has them as tags', async () => {
  git(['config', 'receive.hideRefs', 'refs/gitlocket'], remote)
  const { text, grantId } = await clone.store.as(author).grants.give()
  const tags = (): string => git(['for-each-ref', '--format=%(refname)'], remote)
  const { name } = parseGrant(text)
  expect(tags()).toContain(`refs/tags/gitlocket-baseline-${name}`)
  expect(tags()).toContain(`refs/tags/gitlocket-wraps-${name}`)
  const sandbox = await openSandbox(text)
  expect(await contentsOf(sandbox)).toEqual({ '/a.md': '/a.md' })
  await sandbox.close()
  await put(clone, '/b.md')
  now += HOUR
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, failure: undefined })
  await clone.store.as(author).grants.end([grantId])
  expect(tags()).toBe('refs/heads/main\n')
})

test('what a holder wrote is selected by its grant, and undone', async () => {
  const { text, grantId } = await clone.store.as(author).grants.give()
  const sandbox = await openSandbox(text)
  await sandbox.as(author).write('/a.md', 'of the sandbox')
  await sandbox.as(author).write('/new.md', 'of the sandbox')
  await sandbox.as(author).sync()
  await sandbox.close()
  await put(clone, '/own.md')
  await sync()
  const { data } = await clone.store.history.versions({ grantId })
  expect(data.map(({ path, deviceId }) => [path, deviceId])).toEqual([
    ['/new.md', grantId],
    ['/a.md', grantId],
  ])
  const { steps } = await clone.store.as(author).undo({ grantId })
  expect(steps).toHaveLength(2)
  expect(await contentsOf(clone.store)).toEqual({ '/a.md': '/a.md', '/own.md': '/own.md' })
  await expect(clone.store.history.versions({ grantId: 'ci' })).rejects.toMatchObject({
    code: 'invalid_input',
  })
})

test('a holder lists no grants of others, gives none, and leaves the starts alone', async () => {
  const { text } = await clone.store.as(author).grants.give()
  const versionId = await put(clone, '/a.md', 'secret')
  await put(clone, '/a.md', 'fine')
  await clone.store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
  await sync()
  const before = refs()
  const sandbox = await openSandbox(text)
  await sandbox.as(author).write('/new.md', 'of the sandbox')
  expect((await sandbox.as(author).sync()).grants).toBeUndefined()
  await expect(sandbox.as(author).grants.give()).rejects.toMatchObject({
    code: 'permission_denied',
  })
  expect(refs()).toEqual(before)
  await sandbox.close()
})

function openSandbox(grant: string): Promise<MemoryStore> {
  const root = temporaryDirectory()
  const places = { directory: `${root}/store`, stateDirectory: `${root}/state` }
  return openGranted({ ...places, grant, url: remote, clock, stretch: leastStretch })
}

test('owners end what others gave, writers only what they gave', async () => {
  await sync()
  const other = await joinClone(clone, remote, { clock })
  const ours = await clone.store.as(author).grants.give()
  await sync(other)
  const theirs = await other.store.as(author).grants.give()
  await clone.store.as(author).devices.changeRole(idOf(other), 'writer')
  await sync(other)
  await expect(other.store.as(author).grants.end([ours.grantId])).rejects.toMatchObject({
    code: 'permission_denied',
  })
  await clone.store.as(author).grants.end([theirs.grantId])
  await sync(other)
  expect(refs()).toHaveLength(2)
  expect(await other.store.grants.list()).toMatchObject([
    { status: 'active', isOwn: false, label: undefined },
    { status: 'ended', isOwn: true },
  ])
  await clone.store.as(author).devices.changeRole(idOf(other), 'reader')
  await sync(other)
  await expect(other.store.as(author).grants.give()).rejects.toMatchObject({
    code: 'permission_denied',
  })
})

test.each([
  ['a role above a writer', { role: 'owner' }],
  ['no time', { lastsMs: 0 }],
  ['a hundred days', { lastsMs: 100 * 24 * HOUR }],
  ['a label with a line break', { label: 'a\nb' }],
  ['a label that is too long', { label: 'x'.repeat(65) }],
  ['a remote that does not exist', { remote: 'nowhere' }],
])('refuses %s', async (_, request) => {
  const give = clone.store.as(author).grants.give(request as object)
  await expect(give).rejects.toMatchObject({
    code: expect.stringMatching(/invalid_input|not_found/),
  })
  expect(await clone.store.grants.list()).toEqual([])
})

test('a start is signed again once a day, even if nothing has moved', async () => {
  const { text } = await clone.store.as(author).grants.give({ lastsMs: 20 * 24 * HOUR })
  now += 24 * HOUR - 1
  expect((await sync()).grants).toBeUndefined()
  now += 1
  expect((await sync()).grants).toMatchObject({ isRefreshed: true, wereLost: false })
  expect(open(text)?.time).toBe(now)
  now += HOUR
  expect((await sync()).grants).toBeUndefined()
  expect(paths(open(text))).toEqual(['/a.md'])
  // A clock that was put back signs nothing older.
  now -= 30 * HOUR
  expect((await sync()).grants).toBeUndefined()
})

test('a server signs what it shows again once a day, even if nothing has moved', async () => {
  await clone.store.as(author).grants.give({ lastsMs: 20 * 24 * HOUR })
  const shown = async (): Promise<string> => {
    const { directory } = await clone.store.maintenance.serve([])
    return git(['for-each-ref', 'refs/gitlocket'], directory)
  }
  const first = await shown()
  expect(first).toContain('refs/gitlocket/baseline/')
  now += 24 * HOUR - 1
  expect(await shown()).toBe(first)
  now += 1
  expect(await shown()).not.toBe(first)
})
