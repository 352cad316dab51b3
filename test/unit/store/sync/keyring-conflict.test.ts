// Keyrings that changed apart (FORMAT §7.2, §9.3): nothing joins them. A member follows the remote,
// an owner keeps its own side, each with one command; memories of both are kept.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import { formatId } from '../../../../src/format/id.ts'
import { formatDeviceCard, generateIdentity } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  alone,
  admit,
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

/** Two owners and a writer in step. */
const members = worldsOf(async (url) => {
  const a = await firstClone(url)
  await put(a, '/notes.md', 'one\ntwo\nthree\n')
  await sync(a)
  const b = await joinClone(a, url)
  await syncAll([a, b])
  const identity = await generateIdentity()
  await a.store.as(author).devices.add(formatDeviceCard(identity), 'writer', alone)
  await sync(a)
  const w = await joinClone(a, url, { identity })
  await syncAll([a, b, w])
  return { a, b, w }
})

const takeTheirs = ({ store }: Clone) => store.as(author).sync({ takeTheirs: true })
const repair = ({ store }: Clone) => store.as(author).sync({ repair: true })

/** A and B each let a device in, and write; A is first at the remote. */
async function apart(): ReturnType<typeof members> {
  const world = await members()
  const { a, b } = world
  await put(b, '/before.md', 'before\n')
  await admit(a, 'reader')
  await put(a, '/of-a.md', 'a\n')
  await put(a, '/notes.md', 'one\ntwo\n3\n')
  await sync(a)
  await admit(b, 'reader')
  await put(b, '/of-b.md', 'b\n')
  await put(b, '/notes.md', '1\ntwo\nthree\n')
  return world
}

describe('keyrings that diverged', () => {
  test('are reported with the changes of each side; writes still work', async () => {
    const { a, b, remote } = await apart()
    const before = await headOf(b)
    const { code, message } = await failureOf(sync(b))
    expect(code).toBe('keyring_conflict')
    expect(message).toMatch(`Here: ${idOf(b)} added dev_`)
    expect(message).toMatch(`There: ${idOf(a)} added dev_`)
    expect(await headOf(b)).toBe(before)
    await put(b, '/still.md', 'still\n')
    await expect(sync(b)).rejects.toMatchObject({ code: 'keyring_conflict' })
    await sync(a)
    checkWithGit(remote)
  })

  test('are settled with the remote’s, and no write is lost', async () => {
    const { a, b, w, remote } = await apart()
    await put(w, '/of-w.md', 'w\n')
    await sync(w)
    const report = await takeTheirs(b)
    expect(report.hasRepeated).toBe(true)
    expect(report.late.map(({ kind }) => kind)).toEqual(['keyring'])
    expect(await contentsOf(b.store)).toEqual({
      '/notes.md': '1\ntwo\n3\n',
      '/before.md': 'before\n',
      '/of-a.md': 'a\n',
      '/of-b.md': 'b\n',
      '/of-w.md': 'w\n',
    })
    await syncAll([a, b, w])
    expect(new Set(await Promise.all([a, b, w].map(headOf))).size).toBe(1)
    for (const { store } of [a, b, w]) await store.maintenance.verify()
    const { data } = await a.store.history.versions({ path: '/before.md' })
    expect(data.map(({ deviceId }) => deviceId)).toEqual([idOf(b)])
    checkWithGit(remote)
    await b.store.close()
  })

  test('are settled with ours if an owner repairs, and the other side follows', async () => {
    const { a, b, w } = await apart()
    const report = await repair(b)
    expect(report.hasRepeated).toBe(true)
    expect(report.late.map(({ kind }) => kind)).toEqual(['keyring'])
    const all = {
      '/notes.md': '1\ntwo\n3\n',
      '/before.md': 'before\n',
      '/of-a.md': 'a\n',
      '/of-b.md': 'b\n',
    }
    expect(await contentsOf(b.store)).toEqual(all)
    await expect(sync(a)).rejects.toMatchObject({
      code: 'keyring_conflict',
      message: expect.stringContaining('only if an owner tells you to'),
    })
    await takeTheirs(a)
    expect(await contentsOf(a.store)).toEqual(all)
    await syncAll([a, b, w])
    expect(new Set(await Promise.all([a, b, w].map(headOf))).size).toBe(1)
  })

  test('can be kept by an owner only', async () => {
    const { a, b, w, remote } = await members()
    const fork = bareRemote()
    await admit(a, 'reader')
    await a.store.remotes.add('fork', fork)
    await a.store.as(author).sync({ remote: 'fork' })
    await w.store.remotes.add('fork', fork)
    await w.store.as(author).sync({ remote: 'fork' })
    await admit(b, 'reader')
    await sync(b)
    await put(w, '/of-w.md', 'w\n')
    const failed = w.store.as(author).sync({ remote: 'origin', repair: true })
    await expect(failed).rejects.toMatchObject({ code: 'keyring_conflict' })
    await w.store.as(author).sync({ remote: 'origin', takeTheirs: true })
    expect(await contentsOf(w.store)).toMatchObject({ '/of-w.md': 'w\n' })
    expect(await headOf(w)).toBe(await remoteHead(remote, b))
  })
})

/** The head that another member takes from a remote. */
async function remoteHead(_: string, clone: Clone): Promise<string> {
  await sync(clone)
  return headOf(clone)
}

describe('a redaction on the abandoned line', () => {
  test('is listed first, and not in force', async () => {
    const { a, b } = await members()
    await put(b, '/notes.md', 'clean\n')
    await admit(a, 'reader')
    await sync(a)
    await admit(b, 'reader')
    const { data } = await b.store.history.versions({ path: '/notes.md', order: 'oldest' })
    const versionIds = [data[0]?.versionId ?? '']
    await b.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
    const report = await takeTheirs(b)
    expect(report.late[0]).toMatchObject({ kind: 'redact', redacts: versionIds })
    expect(await contentsOf(b.store)).toEqual({ '/notes.md': 'clean\n' })
    await syncAll([a, b])
    expect(await headOf(a)).toBe(await headOf(b))
    await b.store.maintenance.verify()
    const again = await a.store.history.versions({ path: '/notes.md', order: 'oldest' })
    expect(again.data[0]?.redactedAt).toBeUndefined()
  })

  test('before the keyring changed is kept in force', async () => {
    const { a, b } = await members()
    await put(b, '/notes.md', 'clean\n')
    const { data } = await b.store.history.versions({ path: '/notes.md', order: 'oldest' })
    const versionIds = [data[0]?.versionId ?? '']
    await b.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
    await admit(a, 'reader')
    await put(a, '/of-a.md', 'a\n')
    await sync(a)
    await admit(b, 'reader')
    await takeTheirs(b)
    await syncAll([a, b])
    expect(await headOf(a)).toBe(await headOf(b))
    for (const { store } of [a, b]) {
      expect(await contentsOf(store)).toEqual({ '/notes.md': 'clean\n', '/of-a.md': 'a\n' })
      expect((await store.maintenance.findResidue()).found).toEqual([])
    }
  })
})

describe('an owner that keeps its own line', () => {
  /** A, first at the remote, redacts a version, lets a device in, and lowers W; B lets one in. */
  async function lines(): Promise<
    Awaited<ReturnType<typeof members>> & {
      readonly versionIds: readonly string[]
      readonly ofA: string
      readonly ofB: string
    }
  > {
    const world = await members()
    const { a, b, w } = world
    await put(a, '/notes.md', 'clean\n')
    await syncAll([a, b, w])
    const { data } = await b.store.history.versions({ path: '/notes.md', order: 'oldest' })
    const versionIds = [data[0]?.versionId ?? '']
    const ofA = await admit(a, 'reader')
    await a.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
    await a.store.as(author).devices.changeRole(idOf(w), 'reader', alone)
    await a.store.as(author).devices.rename(idOf(w), 'lowered', alone)
    await sync(a)
    const ofB = await admit(b, 'reader')
    const [inA, inB] = [ofA, ofB].map((one) => formatId('device', one.deviceId))
    return { ...world, versionIds, ofA: inA ?? '', ofB: inB ?? '' }
  }

  const redo = ['redactions', 'members'] as const
  const rolesOf = async ({ store }: Clone): Promise<Record<string, string>> => {
    const devices = await store.devices.list()
    return Object.fromEntries(devices.map(({ deviceId, role }) => [deviceId, role]))
  }

  test("gets a report of the other side's redactions", async () => {
    const { b } = await lines()
    const { message } = await failureOf(sync(b))
    expect(message).toContain('There: redacted versions: 1; ')
  })

  test('may repeat redactions and device changes of the other side', async () => {
    const { a, b, w, versionIds, ofA, ofB } = await lines()
    const report = await b.store.as(author).sync({ repair: true, redo })
    expect(report.late).toEqual([])
    expect(await rolesOf(b)).toMatchObject({
      [ofA]: 'reader',
      [ofB]: 'reader',
      [idOf(w)]: 'reader',
    })
    expect((await b.store.devices.names()).get(idOf(w))).toBe('lowered')
    await takeTheirs(a)
    await sync(b)
    for (const { store } of [a, b]) {
      const version = await store.history.version(versionIds[0] ?? '')
      expect(version?.redactedAt).toBeDefined()
      expect((await store.maintenance.findResidue()).found).toEqual([])
      await store.maintenance.verify()
    }
    expect(await headOf(a)).toBe(await headOf(b))
    expect(await rolesOf(a)).toEqual(await rolesOf(b))
  })

  test('may repeat who gives grants, which the refusal names', async () => {
    const { a, b, ofA } = await lines()
    await a.store.as(author).grants.setGivers('owners', alone)
    await sync(a)
    expect((await failureOf(sync(b))).message).toContain('let owners alone give grants')
    const report = await b.store.as(author).sync({ repair: true, redo })
    expect(report.late).toEqual([])
    expect(await b.store.status()).toMatchObject({ givers: 'owners' })
    expect(await rolesOf(b)).toHaveProperty(ofA)
    await b.store.maintenance.verify()
  })

  test('repeats only the chosen ones, and lists the rest', async () => {
    const { b, ofA } = await lines()
    const report = await b.store.as(author).sync({ repair: true, redo: ['redactions'] })
    expect(new Set(report.late.map(({ kind }) => kind))).toEqual(new Set(['keyring']))
    expect(await rolesOf(b)).not.toHaveProperty(ofA)
  })

  test("does not get the other side's passphrase, which is listed", async () => {
    const { a, b, ofA } = await lines()
    await a.store.as(author).keys.changePassphrase('a passphrase of the other line', alone)
    await sync(a)
    const report = await b.store.as(author).sync({ repair: true, redo })
    expect(new Set(report.late.map(({ kind }) => kind))).toEqual(new Set(['keyring']))
    expect(await rolesOf(b)).toHaveProperty(ofA)
  })
})
