// The holder of a grant when something is redacted that is older than its clone: the clone begins
// anew from the granter's newer start, by itself, and its unsent changes are written again.
// @module-tag slow

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../../../src/index.ts'
import { put, sync } from '../../../support/clones.ts'
import {
  create,
  expectOneHead,
  forgeStart,
  givenGrant,
  giveMore,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  showAt,
  shownAt,
  syncHolder,
  writeAs,
} from '../../../support/grant-holders.ts'
import { redact } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

const SECRET = '/secret.md'

let world: GrantWorld
let at: HolderPlace
let erased: string
beforeEach(async () => {
  world = await givenGrant()
  erased = await put(world.granter, SECRET, 'a secret\n')
  await put(world.granter, SECRET, 'clean\n')
  await sync(world.granter)
  // A start with both versions.
  await giveMore(world.granter)
  at = holderPlace()
})

async function redactBelow(): Promise<void> {
  await redact(world.granter, erased)
  await sync(world.granter)
}

test('begins anew, and writes each unsent change again as one change', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/sent.md', 'sent'))
  await syncHolder(held)
  await sync(world.granter)
  await writeAs(held, create('/one.md', 'one\n'), create('/two.md', 'two\n'))
  await writeAs(held, { type: 'edit', path: '/one.md', edit: (text) => `${text}more\n` })
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: () => 'changed\n' })
  await writeAs(held, { type: 'delete', path: '/notes/1.md' })
  const before = await contentsOf(held)
  await redactBelow()
  const report = await syncHolder(held)
  const { deviceId } = await world.granter.store.status()
  expect(report.begunAnew).toMatchObject({ deviceId, changes: 4, mayRepeat: [] })
  expect(report.sent.commits).toBe(4)
  expect(report.builtOnRedacted).toEqual([])
  expect(await contentsOf(held)).toEqual(before)
  await sync(world.granter)
  const { data } = await world.granter.store.history.versions({ session: 'agent-2' })
  expect(data).toHaveLength(6)
  const replacing = [...(report.begunAnew?.replaced.values() ?? [])]
  const written = data.filter(({ path }) => path !== '/sent.md')
  expect(new Set(replacing.map(({ versionId }) => versionId))).toEqual(
    new Set(written.map(({ versionId }) => versionId)),
  )
  const paths = ['/sent.md', '/one.md', '/two.md', '/notes/0.md', '/notes/1.md']
  expect(new Set(data.map(({ path }) => path))).toEqual(new Set(paths))
  await expectOneHead(world, held)
  expect((await syncHolder(held)).begunAnew).toBeUndefined()
  await held.close()
  const again = await hold(world, at)
  expect(await contentsOf(again)).toEqual(before)
  await writeAs(again, create('/later.md'))
  await expectOneHead(world, again)
  git(['fsck', '--strict'], at.directory)
  await again.close()
})

test('writes nothing again that it has sent, and that others have changed since', async () => {
  const held = await hold(world, at)
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: () => 'of the holder\n' })
  await syncHolder(held)
  await sync(world.granter)
  await put(world.granter, '/notes/0.md', 'of the granter\n')
  await writeAs(held, create('/unsent.md'))
  await redactBelow()
  expect((await syncHolder(held)).begunAnew?.changes).toBe(1)
  expect((await held.read('/notes/0.md'))?.content).toBe('of the granter\n')
  await expectOneHead(world, held)
  await held.close()
})

test('follows several redactions, and new keys', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/one.md'))
  await redactBelow()
  await world.granter.store.as(author).keys.rotate({ reseal: true })
  await sync(world.granter)
  expect((await syncHolder(held)).begunAnew?.changes).toBe(1)
  await writeAs(held, create('/two.md'))
  const { versionId = '' } = (await world.granter.store.read('/notes/2.md')) ?? {}
  await put(world.granter, '/notes/2.md', 'other')
  await redact(world.granter, versionId)
  await sync(world.granter)
  // It has all of so short a history since then, and can follow.
  expect((await syncHolder(held)).erased).toBe(1)
  expect(await contentsOf(held)).toMatchObject({ '/one.md': '/one.md', '/two.md': '/two.md' })
  await expectOneHead(world, held)
  await held.close()
})

test('merges an edit of an older text, and keeps both sides of a conflict', async () => {
  await put(world.granter, '/list.md', 'a\nb\nc\nd\ne\n')
  await sync(world.granter)
  const held = await hold(world, at)
  await writeAs(held, { type: 'edit', path: '/list.md', edit: (text) => `${text}of the holder\n` })
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: () => 'of the holder\n' })
  await writeAs(held, { type: 'rename', path: '/notes/1.md', to: '/moved/1.md' })
  await writeAs(held, { type: 'delete', path: '/notes/2.md' })
  await put(world.granter, '/list.md', 'of the granter\na\nb\nc\nd\ne\n')
  await put(world.granter, '/notes/0.md', 'of the granter\n')
  await put(world.granter, '/notes/1.md', 'edited\n')
  await put(world.granter, '/notes/2.md', 'edited\n')
  await redactBelow()
  await syncHolder(held)
  expect(await contentsOf(held)).toMatchObject({
    '/list.md': 'of the granter\na\nb\nc\nd\ne\nof the holder\n',
    '/notes/0.md': expect.stringContaining('of the granter'),
    '/moved/1.md': 'edited\n',
    '/notes/2.md': 'edited\n',
  })
  expect((await held.read('/notes/0.md'))?.content).toContain('of the holder')
  await expectOneHead(world, held)
  await held.close()
})

test('writes changes again that were merged here, and were not sent', async () => {
  const held = await hold(world, at)
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: (text) => `${text}one\n` })
  await put(world.granter, '/notes/0.md', 'first\ntext 0\n')
  await sync(world.granter)
  await held.as({ actor: { type: 'session', id: 'agent-2' } }).sync({ only: 'pull' })
  await writeAs(held, { type: 'edit', path: '/notes/0.md', edit: (text) => `${text}two\n` })
  const before = await contentsOf(held)
  await redactBelow()
  // The merge may have brought enough of the history to follow.
  expect([undefined, 2]).toContain((await syncHolder(held)).begunAnew?.changes)
  expect(await contentsOf(held)).toEqual(before)
  expect(before['/notes/0.md']).toBe('first\ntext 0\none\ntwo\n')
  await expectOneHead(world, held)
  await held.close()
})

test('a reader begins anew too', async () => {
  const reader = { ...world, ...(await giveMore(world.granter, 'reader')) }
  const held = await hold(reader, at)
  await redactBelow()
  expect((await syncHolder(held)).begunAnew?.changes).toBe(0)
  expect(await contentsOf(held)).toEqual(await contentsOf(world.granter.store))
  await held.close()
})

test('accepts a newer start of an earlier time: clocks are put back', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/unsent.md'))
  await redactBelow()
  forgeStart(world, (start) => ({ ...start, time: start.time - 3_600_000 }))
  expect((await syncHolder(held)).begunAnew?.changes).toBe(1)
  await expectOneHead(world, held)
  await held.close()
})

test('refuses the start that it has, and changes nothing', async () => {
  const held = await hold(world, at)
  await writeAs(held, create('/unsent.md'))
  const start = shownAt(world, 'start')
  await redactBelow()
  showAt(world, 'start', start)
  const needed = { code: 'history_needed', message: expect.stringContaining('has not synced') }
  await expect(syncHolder(held)).rejects.toMatchObject(needed)
  expect(readdirSync(join(at.directory, 'gitlocket')).toSorted()).not.toContain('start-next')
  await held.close()
})

describe('a memory that was redacted', () => {
  const first = 'a secret\nb\nc\nd\ne\n'

  async function givenEdit(edit: (text: string) => string): Promise<MemoryStore> {
    erased = await put(world.granter, '/list.md', first)
    await sync(world.granter)
    await giveMore(world.granter)
    const held = await hold(world, at)
    await writeAs(held, { type: 'edit', path: '/list.md', edit })
    return held
  }

  test('keeps an edit next to the erased text, without it, and reports it', async () => {
    const held = await givenEdit((text) => `${text}of the holder\n`)
    await put(world.granter, '/list.md', first.replace('a secret\n', ''))
    await redactBelow()
    const { begunAnew, erased: count } = await syncHolder(held)
    expect(count).toBe(1)
    expect((await held.read('/list.md'))?.content).toBe('b\nc\nd\ne\nof the holder\n')
    const { versionId } = (await held.read('/list.md')) ?? {}
    expect(begunAnew?.mayRepeat).toMatchObject([{ path: '/list.md', versionId }])
    expect(begunAnew?.mayRepeat[0]?.redactedVersionIds).toEqual([erased])
    await expectOneHead(world, held)
    await held.close()
  })

  test('outlives its removal, and is reported', async () => {
    const held = await givenEdit((text) => text.replace('e', 'of the holder'))
    const request = { select: { versionIds: [erased] }, reason: 'legal' as const }
    await world.granter.store.as(author).redact({ ...request, current: 'delete' })
    await sync(world.granter)
    const { begunAnew } = await syncHolder(held)
    const { versionId, content } = (await held.read('/list.md')) ?? {}
    expect(content).toContain('of the holder')
    expect(begunAnew?.mayRepeat).toMatchObject([{ path: '/list.md', versionId }])
    await expectOneHead(world, held)
    await held.close()
  })

  test('is erased from the disk, with the whole earlier line', async () => {
    await givenEdit((text) => text).then((store) => store.close())
    const held = await hold(world, at)
    await writeAs(held, create('/unsent.md'))
    const stored = (): readonly string[] =>
      git(['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'], at.directory)
        .trim()
        .split('\n')
    const main = git(['rev-parse', 'main'], at.directory).trim()
    const before = new Set(stored())
    await put(world.granter, '/list.md', 'clean\n')
    await redactBelow()
    await syncHolder(held)
    const after = stored()
    expect(before).toContain(main)
    expect(after).not.toContain(main)
    const reached = git(['rev-list', '--objects', '--no-object-names', 'main'], at.directory)
    const needed = new Set(reached.trim().split('\n'))
    expect(after.filter((oid) => before.has(oid) && !needed.has(oid))).toEqual([])
    expect(readFileSync(join(at.directory, 'shallow'), 'utf8').trim().split('\n')).toHaveLength(1)
    await held.history.fetchAll()
    expect((await held.maintenance.findResidue()).found).toEqual([])
    await held.close()
  })
})

test('other handles of the same clone follow, read and write on', async () => {
  const [one, two] = [await hold(world, at), await hold(world, at)]
  await writeAs(one, create('/one.md'))
  await writeAs(two, create('/two.md'))
  await two.history.versions({ session: 'agent-2' })
  await redactBelow()
  expect((await syncHolder(one)).begunAnew?.changes).toBe(2)
  expect((await two.read('/one.md'))?.content).toBe('/one.md')
  expect((await two.history.versions({ session: 'agent-2' })).data).toHaveLength(2)
  await writeAs(two, create('/three.md'))
  expect((await syncHolder(two)).begunAnew).toBeUndefined()
  await syncHolder(one)
  await expectOneHead(world, one, two)
  await Promise.all([one.close(), two.close()])
  const again = await hold(world, at)
  expect(await contentsOf(again)).toMatchObject({ '/two.md': '/two.md', '/three.md': '/three.md' })
  await again.close()
})

test('handles that begin anew at once write each change once', async () => {
  const stores = [await hold(world, at), await hold(world, at), await hold(world, at)]
  for (const [n, store] of stores.entries()) await writeAs(store, create(`/${n}.md`))
  await redactBelow()
  const reports = await Promise.all(stores.map((store) => syncHolder(store)))
  expect(reports.filter(({ begunAnew }) => begunAnew !== undefined)).toHaveLength(1)
  await expectOneHead(world, ...stores)
  expect(Object.keys(await contentsOf(world.granter.store))).toEqual(
    expect.arrayContaining(['/0.md', '/1.md', '/2.md']),
  )
  const { data } = await world.granter.store.history.versions({ session: 'agent-2' })
  expect(data).toHaveLength(3)
  await Promise.all(stores.map((store) => store.close()))
})
