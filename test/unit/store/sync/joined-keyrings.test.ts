// Owners who change the keyring concurrently (FORMAT §7.2): real clones around a bare remote, each
// on a machine of its own.

import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../../../src/format/id.ts'
import {
  auditStore,
  generateIdentity,
  type Identity,
  openStore,
  type Role,
  type SyncReport,
} from '../../../../src/index.ts'
import { type World, worldsOf } from '../../../support/clone-templates.ts'
import {
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
import { sample } from '../../../support/seed.ts'
import { author, contentsOf, reopen } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

/** Three owners and a writer. */
type Trio = World<'a' | 'b' | 'c' | 'w'>

const trio = worldsOf(async (url) => {
  const a = await firstClone(url)
  await put(a, '/notes.md', 'one\n')
  const identity = await admit(a, 'writer')
  await sync(a)
  const [b, c] = [await joinClone(a, url), await joinClone(a, url)]
  const w = await joinClone(a, url, { identity })
  await syncAll([a, b, c, w])
  return { a, b, c, w }
})

async function redact({ store }: Clone, versionId: string | undefined): Promise<void> {
  const select = { versionIds: [versionId ?? ''] }
  await store.as(author).redact({ select, reason: 'leaked_secret' })
}

async function rolesOf({ store }: Clone): Promise<ReadonlyMap<string, Role | 'removed'>> {
  const devices = await store.devices.list()
  return new Map(devices.map((one) => [one.deviceId, one.removed ? 'removed' : one.role]))
}

/** All clones have one head, verify from genesis, and git agrees. */
async function expectWhole(remote: string, ...clones: readonly Clone[]): Promise<void> {
  const heads = await Promise.all(clones.map(headOf))
  expect(new Set(heads).size).toBe(1)
  // The heads are the same, so that the first and some others stand for all.
  for (const { store, place } of new Set([...clones.slice(0, 1), ...sample(clones, 2)])) {
    await store.maintenance.verify()
    await store.maintenance.checkpoint()
    checkWithGit(place.directory)
  }
  checkWithGit(remote)
  const [first] = clones
  const signers = `${temporaryDirectory()}/allowed_signers`
  writeFileSync(signers, (await first?.store.maintenance.allowedSigners()) ?? '')
  git(['-c', `gpg.ssh.allowedSignersFile=${signers}`, 'verify-commit', 'main'], remote)
}

describe('two owners who each admit a device', () => {
  const [mine, yours] = ['added by a', 'added by b']

  async function joined(): Promise<Trio & { readonly added: readonly Identity[] }> {
    const world = await trio()
    const added: Identity[] = []
    for (const [name, owner] of [
      [mine, world.a],
      [yours, world.b],
    ] as const) {
      added.push(await admit(owner, 'writer'))
      await put(owner, '/notes.md', `one\n${name}\n`)
    }
    return { ...world, added }
  }

  test(
    'have both of them, in one history that every clone verifies',
    { tags: 'slow' },
    async () => {
      const { remote, a, b, c, w, added } = await joined()
      await sync(a)
      const report = await sync(b)
      expect(report.keyrings).toEqual({ removed: [], lowered: [], passphrases: 0, dropped: 0 })
      await syncAll([a, b, c, w])
      await expectWhole(remote, a, b, c, w)
      for (const identity of added) {
        expect((await rolesOf(a)).get(formatId('device', identity.deviceId))).toBe('writer')
        const device = await joinClone(a, remote, { identity })
        await sync(a)
        expect(await contentsOf(device.store)).toEqual(await contentsOf(a.store))
        await put(device, `/by-${identity.deviceId.slice(0, 4)}.md`, 'new here\n')
        await sync(device)
      }
      await syncAll([a, b, c, w])
      await expectWhole(remote, a, b, c, w)
    },
  )

  test(
    'have what both wrote merged in the same commit, which may be redacted',
    { tags: 'slow' },
    async () => {
      const { remote, a, b, c } = await joined()
      await sync(a)
      const report = await sync(b)
      expect(report.outcomes).toMatchObject([{ path: '/notes.md' }])
      await syncAll([a, b, c])
      const lines = (await a.store.read('/notes.md'))?.content.split('\n')
      expect(lines?.toSorted()).toEqual(['', mine, yours, 'one'])
      const { data: versions } = await a.store.history.versions({ path: '/notes.md' })
      expect(versions[0]?.commit).toBe(report.merge)
      await put(a, '/notes.md', 'clean\n')
      await redact(a, versions[0]?.versionId)
      await syncAll([a, b, c])
      await expectWhole(remote, a, b, c)
      expect((await c.store.maintenance.findResidue()).found).toEqual([])
      const { data: gone } = await c.store.history.versions({ redacted: true })
      expect(gone.map(({ versionId }) => versionId)).toEqual([versions[0]?.versionId])
    },
  )

  test(
    'open it beside it, from the cache, and from nothing but the repository',
    { tags: 'slow' },
    async () => {
      const { a, b } = await joined()
      await sync(a)
      const beside = await reopen(b.place)
      await sync(b)
      const before = await contentsOf(b.store)
      expect(await contentsOf(beside)).toEqual(before)
      await beside.close()
      await b.store.close()
      const again = await reopen(b.place)
      expect(await contentsOf(again)).toEqual(before)
      await put({ ...b, store: again }, '/after.md', 'after\n')
      await again.close()
      const fresh = await openStore({ ...b.place, stateDirectory: temporaryDirectory() })
      expect(await contentsOf(fresh)).toEqual({ ...before, '/after.md': 'after\n' })
      await fresh.close()
    },
  )
})

describe('a device that one owner removes while another admits one', () => {
  test('stays removed, and the new one is there', { tags: 'slow' }, async () => {
    const { remote, a, b, c, w } = await trio()
    await a.store.as(author).devices.remove([idOf(w)])
    const identity = await admit(b, 'reader')
    await put(b, '/b.md', 'b\n')
    await sync(b)
    const { keyrings } = await sync(a)
    expect(keyrings).toEqual({ removed: [idOf(w)], lowered: [], passphrases: 0, dropped: 0 })
    await syncAll([a, b, c])
    await expectWhole(remote, a, b, c)
    await c.store.maintenance.verify({ threads: 2 })
    const roles = await rolesOf(c)
    expect(roles.get(idOf(w))).toBe('removed')
    expect(roles.get(formatId('device', identity.deviceId))).toBe('reader')
    await expect(sync(w)).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test('leaves out what it wrote late, and what others wrote stays', { tags: 'slow' }, async () => {
    const { remote, a, b, c, w } = await trio()
    await a.store.as(author).devices.remove([idOf(w)])
    await admit(b, 'reader')
    await put(b, '/b.md', 'b\n')
    await sync(b)
    await sync(w)
    await put(w, '/late.md', 'late\n')
    await sync(w)
    await sync(a)
    await syncAll([a, b, c])
    await expectWhole(remote, a, b, c)
    expect(Object.keys(await contentsOf(a.store))).toEqual(['/notes.md', '/b.md'])
  })
})

describe('roles and passphrases that two owners set apart', () => {
  test('become the lower role, and two passphrases', { tags: 'slow' }, async () => {
    const { remote, a, b, c, w } = await trio()
    await a.store.as(author).devices.changeRole(idOf(w), 'owner')
    await a.store.as(author).keys.changePassphrase('the first of two')
    await b.store.as(author).devices.changeRole(idOf(w), 'reader')
    await b.store.as(author).keys.changePassphrase('the second of two')
    await sync(a)
    const { keyrings } = await sync(b)
    const lowered = [{ deviceId: idOf(w), role: 'reader' }]
    expect(keyrings).toEqual({ removed: [], lowered, passphrases: 2, dropped: 0 })
    await syncAll([a, b, c, w])
    await expectWhole(remote, a, b, c, w)
    const { entries } = await auditStore({ ...c.place })
    const ofJoin = entries.find(({ parents, kind }) => parents.length === 2 && kind === 'keyring')
    expect(ofJoin?.access).toEqual({
      added: [],
      changed: lowered,
      renamed: [],
      removed: [],
      recoveryAdded: ['passphrase', 'passphrase'],
      recoveryRemoved: [],
      isNewEpoch: true,
    })
  })
})

describe('a secret that let a machine in and was replaced since', () => {
  test.each(['passphrase', 'recovery key'])(
    'a %s does not keep an owner apart',
    { tags: 'slow' },
    async (secret) => {
      const { remote, a, b, c, w } = await trio()
      const me = a.store.as(author)
      const passphrase = 'the first of two'
      const made = secret === 'passphrase' ? undefined : await me.keys.makeRecoveryKey()
      if (made === undefined) await me.keys.changePassphrase(passphrase)
      await sync(a)
      const key = made === undefined ? { passphrase } : { recoveryKey: made.recoveryKey }
      const url = `${remote}#${a.store.id}`
      const d = await joinClone(a, url, { identity: await generateIdentity(), ...key })
      await sync(a)
      if (made === undefined) await me.keys.changePassphrase('the second of two')
      else await me.keys.makeRecoveryKey()
      await sync(a)
      const identity = await admit(c, 'writer')
      const { keyrings } = await sync(c)
      expect(keyrings).toMatchObject({ removed: [], lowered: [] })
      await syncAll([a, b, c, w, d])
      await expectWhole(remote, a, b, c, w, d)
      const roles = await rolesOf(a)
      const added = formatId('device', identity.deviceId)
      expect([roles.get(idOf(d)), roles.get(added)]).toEqual([
        made === undefined ? 'writer' : 'owner',
        'writer',
      ])
    },
  )
})

describe('owners who remove each other', () => {
  test(
    'cannot join, and go on; a third owner stays with whichever it met first',
    { tags: 'slow' },
    async () => {
      const { remote, a, b, c } = await trio()
      const other = bareRemote()
      await b.store.remotes.add('other', other)
      await a.store.as(author).devices.remove([idOf(b)])
      await b.store.as(author).devices.remove([idOf(a)])
      await sync(a)
      await expect(sync(b)).rejects.toMatchObject({ code: 'invalid_input' })
      await b.store.as(author).sync({ remote: 'other' })
      await expect(b.store.as(author).sync({ remote: 'origin' })).rejects.toMatchObject({
        code: 'wrong_key',
      })
      await put(b, '/b.md', 'goes on\n')
      await b.store.as(author).sync({ remote: 'other' })
      await sync(c)
      await c.store.remotes.add('other', other)
      const meeting = c.store.as(author).sync({ remote: 'other' })
      await expect(meeting).rejects.toMatchObject({ code: 'keyring_conflict' })
      await expect(meeting).rejects.toThrow('had lost the right to do so on the other side')
      await c.store.as(author).sync({ remote: 'origin' })
      await expectWhole(remote, c)
      expect(await c.store.read('/b.md')).toBeUndefined()
    },
  )
})

describe('keyrings that changed apart and meet at', () => {
  test(
    'a writer are a conflict that names who can join them; local changes go on',
    { tags: 'slow' },
    async () => {
      const { a, b, w } = await trio()
      const other = bareRemote()
      for (const { store } of [b, w]) await store.remotes.add('other', other)
      await admit(a, 'reader')
      await admit(b, 'reader')
      await sync(a)
      await b.store.as(author).sync({ remote: 'other' })
      await w.store.as(author).sync({ remote: 'origin' })
      const meeting = w.store.as(author).sync({ remote: 'other' })
      await expect(meeting).rejects.toMatchObject({ code: 'keyring_conflict' })
      await expect(meeting).rejects.toThrow(idOf(a))
      await put(w, '/w.md', 'goes on\n')
      await w.store.as(author).sync({ remote: 'origin' })
      await b.store.as(author).sync({ remote: 'origin' })
      await b.store.as(author).sync({ remote: 'other' })
      await w.store.as(author).sync({ remote: 'other' })
      expect((await b.store.read('/w.md'))?.content).toBe('goes on\n')
    },
  )

  test(
    'two owners concurrently are joined twice, and those joins once more',
    { tags: 'slow' },
    async () => {
      const { remote, a, b, c, w } = await trio()
      const other = bareRemote()
      for (const { store } of [a, b, c, w]) await store.remotes.add('other', other)
      await admit(a, 'reader')
      await admit(b, 'reader')
      await sync2(a, 'origin')
      await sync2(b, 'other')
      // Neither knows of the other's join.
      expect(
        (await a.store.as(author).sync({ remote: 'other', only: 'pull' })).keyrings,
      ).toBeDefined()
      expect(
        (await b.store.as(author).sync({ remote: 'origin', only: 'pull' })).keyrings,
      ).toBeDefined()
      expect(await headOf(a)).not.toBe(await headOf(b))
      await sync2(a, 'origin')
      expect((await sync2(b, 'origin')).keyrings).toMatchObject({ removed: [], lowered: [] })
      for (const clone of [a, c, w]) await sync2(clone, 'origin')
      await expectWhole(remote, a, b, c, w)
      await a.store.as(author).keys.changePassphrase(null)
      for (const clone of [a, b, c, w]) await sync2(clone, 'origin')
      await expectWhole(remote, a, b, c, w)
    },
  )

  test('redactions of both sides leave the same commits everywhere', { tags: 'slow' }, async () => {
    const { remote, a, b, c, w } = await trio()
    const secrets = ['/a.md', '/b.md']
    for (const path of secrets) {
      await put(a, path, 'secret\n')
      await put(a, path, 'clean\n')
    }
    await syncAll([a, b, c, w])
    for (const [index, clone] of [a, b].entries()) {
      await admit(clone, 'reader')
      const { data: versions } = await clone.store.history.versions({ path: secrets[index] ?? '' })
      await redact(clone, versions.at(-1)?.versionId)
    }
    await syncAll([a, b, c, w])
    await expectWhole(remote, a, b, c, w)
    expect((await c.store.history.versions({ redacted: true })).data).toHaveLength(2)
  })
})

describe('a device that is added by an owner who was removed on the other side', () => {
  async function unauthorized(): Promise<Trio & { readonly n: Clone }> {
    const world = await trio()
    const { a, b, c, remote } = world
    await a.store.as(author).devices.remove([idOf(b)])
    const identity = await admit(b, 'owner')
    await sync(b)
    const n = await joinClone(a, remote, { identity })
    await put(n, '/n.md', 'let in\n')
    await sync(n)
    await sync(c)
    const meeting = sync(a)
    await expect(meeting).rejects.toMatchObject({ code: 'keyring_conflict' })
    await expect(meeting).rejects.toThrow(idOf(b))
    return { ...world, n }
  }

  test(
    'is dropped by a repair, also from clones that had taken it over',
    { tags: 'slow' },
    async () => {
      const { remote, a, c, w, n } = await unauthorized()
      await put(a, '/a.md', 'goes on\n')
      await a.store.as(author).sync({ repair: true })
      await syncAll([a, c, w])
      await expectWhole(remote, a, c, w)
      expect(Object.keys(await contentsOf(c.store)).toSorted()).toEqual(['/a.md', '/notes.md'])
      expect((await rolesOf(c)).has(idOf(n))).toBe(false)
      await expect(sync(n)).rejects.toMatchObject({ code: 'wrong_key' })
    },
  )

  test('is left for users to decide once others have built on it', { tags: 'slow' }, async () => {
    const { a, c } = await unauthorized()
    await put(c, '/c.md', 'built on it\n')
    await sync(c)
    const repairing = a.store.as(author).sync({ repair: true })
    await expect(repairing).rejects.toMatchObject({ code: 'keyring_conflict' })
  })
})

function sync2({ store }: Clone, remote: string): Promise<SyncReport> {
  return store.as(author).sync({ remote })
}
