// T71: neither a read-only console, nor a reader's, nor a page that sends arbitrary requests
// changes anything: the page does not do the refusing. A plan is carried out exactly as it was
// shown, or not at all.

import { describe, expect, test } from 'vitest'
import { operations } from '../../src/operations/console/operations.ts'
import { memberSubject } from '../../src/operations/console/subject.ts'
import { admit, bareRemote, firstClone, joinClone, sync } from '../support/clones.ts'
import { askerOf, consoleUser } from '../support/console.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

const effects = Object.entries(operations).filter(([, { effect }]) => effect !== 'read')

describe('T71: read-only', () => {
  test('refuses every operation that has an effect, before it reads its input', async () => {
    const { store } = await newStore()
    await store.as(author).write('/a.md', 'text')
    const { head } = await store.status()
    const subject = memberSubject(consoleUser(store, { access: 'read_only' }))
    expect(effects.length).toBeGreaterThan(12)
    for (const [name] of effects) {
      const asked = subject.ask(name, {}, {})
      await expect(asked, name).rejects.toMatchObject({ code: 'read_only' })
    }
    expect((await store.status()).head).toBe(head)
  })

  test('lets nothing that writes be called a question', async () => {
    const { store } = await newStore()
    const {
      memories: [memory],
    } = await store.as(author).write('/a.md', 'text')
    const before = await store.status()
    const user = consoleUser(store, {
      writer: () => {
        throw new Error('a question asked for a writer')
      },
    })
    const ask = askerOf(memberSubject({ ...user, access: 'read_only' }))
    const { memoryId = '', versionId = '' } = memory ?? {}
    const at = before.head
    await ask('store.overview', {})
    await ask('memories.tree', { at, deleted: true })
    await ask('memory.show', { memoryId, at })
    await ask('memory.versions', { memoryId })
    await ask('memory.blame', { memoryId })
    await ask('version.show', { versionId })
    await ask('moment.density', { stretches: 10 })
    await ask('moment.find', { position: 1 })
    await ask('moment.compare', { from: at })
    await ask('timeline.groups', { filter: {}, timeZone: 'UTC' })
    await ask('sessions.list', { by: 'actor' })
    await ask('merges.list', {})
    await ask('redaction.plan', { select: { memoryId } })
    await ask('redaction.proof', {})
    await ask('devices.list', {})
    await ask('sync.remotes', {})
    await ask('audit.verify', {})
    await ask('settings.show', {})
    await ask('guard.check', {})
    expect((await store.status()).head).toBe(before.head)
    expect((await store.status()).commits).toBe(before.commits)
  })
})

describe('T71: roles', () => {
  test("refuses a reader's console anything beyond its role", { tags: 'slow' }, async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await first.store.as(author).write('/a.md', 'text')
    const identity = await admit(first, 'reader')
    await sync(first)
    const reader = await joinClone(first, url, { identity })
    const before = await contentsOf(reader.store)
    const ask = askerOf(memberSubject(consoleUser(reader.store)))
    const {
      memories: [memory],
    } = await ask('memories.tree', {})
    expect(memory?.path).toBe('/a.md')
    const { memoryId = '' } = memory ?? {}
    const shown = await ask('memory.show', { memoryId })
    const expectedSha256 = shown.state === 'live' ? shown.sha256 : ''
    const denied = { code: 'permission_denied' }
    await expect(ask('memory.create', { path: '/b', content: '' })).rejects.toMatchObject(denied)
    const change = { memoryId, content: 'other', expectedSha256 }
    await expect(ask('memory.update', change)).rejects.toMatchObject(denied)
    const removal = { memoryId, expectedSha256 }
    await expect(ask('memory.delete', removal)).rejects.toMatchObject(denied)
    await expect(ask('settings.update', { name: 'x' })).rejects.toMatchObject(denied)
    const allowance = { sha256: '0'.repeat(64), isAllowed: true }
    await expect(ask('guard.allow', allowance)).rejects.toMatchObject(denied)
    const erasure = {
      select: { memoryId },
      why: 'legal',
      confirmed: [shown.version?.versionId ?? ''],
    }
    await expect(
      ask('redaction.run', { ...erasure, why: 'legal', current: 'delete' }),
    ).rejects.toMatchObject(denied)
    expect(await contentsOf(reader.store)).toEqual(before)
    // It has looked only at a note of its own.
    await ask('merges.looked', { versionIds: [] })
  })
})

describe('T71: texts that were shown', () => {
  test('an edit of a text that has moved on changes nothing', async () => {
    const { store } = await newStore()
    await store.as(author).write('/a.md', 'first')
    const ask = askerOf(memberSubject(consoleUser(store)))
    const {
      memories: [memory],
    } = await ask('memories.tree', {})
    const { memoryId = '' } = memory ?? {}
    const shown = await ask('memory.show', { memoryId })
    const expectedSha256 = shown.state === 'live' ? shown.sha256 : ''
    await store.as(author).write('/a.md', 'second')
    const failed = { code: 'precondition_failed' }
    const edit = { memoryId, content: 'third', expectedSha256 }
    await expect(ask('memory.update', edit)).rejects.toMatchObject(failed)
    const move = { memoryId, path: '/b.md', expectedSha256 }
    await expect(ask('memory.update', move)).rejects.toMatchObject(failed)
    await expect(ask('memory.delete', { memoryId, expectedSha256 })).rejects.toMatchObject(failed)
    expect(await contentsOf(store)).toEqual({ '/a.md': 'second' })
  })

  test('a plan that has become another one is not carried out', async () => {
    const { store } = await newStore()
    const ask = askerOf(memberSubject(consoleUser(store)))
    await store.as(author).write('/a.md', 'first')
    const { head: commit } = await store.status()
    await store.as(author).write('/a.md', 'second')
    const { plan } = await ask('rollback.plan', { commit })
    await store.as(author).write('/b.md', 'new')
    const before = await contentsOf(store)
    const run = ask('rollback.run', { commit, plan })
    await expect(run).rejects.toMatchObject({ code: 'precondition_failed' })
    expect(await contentsOf(store)).toEqual(before)
    const guess = ask('rollback.run', { commit, plan: '0'.repeat(64) })
    await expect(guess).rejects.toMatchObject({ code: 'precondition_failed' })
    const again = await ask('rollback.plan', { commit })
    await ask('rollback.run', { commit, plan: again.plan, reason: 'back' })
    expect(await contentsOf(store)).toEqual({ '/a.md': 'first' })
  })

  test('nothing is erased that was not confirmed', async () => {
    const { store } = await newStore()
    const ask = askerOf(memberSubject(consoleUser(store)))
    await store.as(author).write('/a.md', 'key-1')
    await store.as(author).write('/a.md', 'clean')
    const select = { text: 'key-1' }
    const { versions } = await ask('redaction.plan', { select })
    await store.as(author).write('/b.md', 'again key-1')
    const confirmed = versions.map(({ versionId }) => versionId)
    const run = ask('redaction.run', { select, why: 'leaked_secret', current: 'delete', confirmed })
    await expect(run).rejects.toMatchObject({ code: 'precondition_failed' })
    expect((await store.history.version(confirmed[0] ?? '')).content).toBe('key-1')
  })
})

describe('T71: inputs', () => {
  test('refuses input that the page never sends', async () => {
    const { store } = await newStore()
    const subject = memberSubject(consoleUser(store))
    for (const name of ['', 'constructor', '__proto__', 'toString', 'memories.Tree', 'ask']) {
      await expect(subject.ask(name, {}, {})).rejects.toMatchObject({ code: 'not_found' })
    }
    const wrong: readonly (readonly [string, unknown])[] = [
      ['memories.tree', { at: 'HEAD' }],
      ['memories.tree', { deleted: 'yes' }],
      ['memories.tree', { other: 1 }],
      ['memories.tree', null],
      ['memories.tree', []],
      ['memory.versions', { memoryId: 'mem_x', limit: 1e9 }],
      ['moment.density', { stretches: 1e9 }],
      ['moment.find', {}],
      ['moment.find', { position: 1, time: 2 }],
      ['rollback.run', { commit: 'abcdefa', plan: 'x' }],
      ['redaction.run', { select: {}, why: 'because', confirmed: [] }],
      ['devices.changeRole', { deviceId: 'dev_x', role: 'god' }],
      ['settings.update', { contentBytes: 0 }],
    ]
    for (const [name, input] of wrong) {
      const asked = subject.ask(name, input, {})
      await expect(asked, name).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })
})
