// Grants and the rights of their granters: those that a change of members ends, the right to give
// grants, and the states of a list.

import { beforeEach, describe, expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../../src/git/disk-store/disk-object-store.ts'
import type { MemoryStore } from '../../../../src/index.ts'
import { beginGrant, endGrants } from '../../../../src/store/grants/grants.ts'
import { openSession } from '../../../../src/store/session/open-session.ts'
import type { StoreSession } from '../../../../src/store/session/session.ts'
import {
  admit,
  bareRemote,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
} from '../../../support/clones.ts'
import { author, reopen } from '../../../support/stores.ts'

const HOUR = 3_600_000

let remote: string
let owner: Clone
let writer: Clone

beforeEach(async () => {
  remote = bareRemote()
  owner = await firstClone(remote)
  await put(owner, '/a.md')
  await sync(owner)
  writer = await joinAs('writer')
})

async function joinAs(role: 'writer' | 'owner'): Promise<Clone> {
  const identity = await admit(owner, role)
  await sync(owner)
  return joinClone(owner, remote, { identity })
}

function give({ store }: Clone, label: string) {
  return store.as(author).grants.give({ label })
}

async function statuses({ store }: Pick<Clone, 'store'> = owner) {
  return (await store.grants.list()).map(({ status, endedAt }) => [status, endedAt !== undefined])
}

describe('a change of members', () => {
  test('tells the grants that it ends before and after, oldest first', async () => {
    const first = await give(writer, 'one')
    const second = await give(writer, 'two')
    await give(owner, 'own')
    await sync(owner)
    const id = idOf(writer)
    const told = [first, second].map(({ grantId, role, expiresAt }) => {
      return { grantId, label: undefined, role, grantedBy: id, expiresAt }
    })
    const { grants } = owner.store
    for (const role of ['reader', 'auditor'] as const) {
      expect(await grants.endedBy({ roles: new Map([[id, role]]) })).toEqual(told)
    }
    expect(await grants.endedBy({ removed: [id] })).toEqual(told)
    expect(await grants.endedBy({ givers: 'owners' })).toEqual(told)
    for (const none of [{ roles: new Map([[id, 'owner' as const]]) }, {}, { removed: [] }]) {
      expect(await grants.endedBy(none)).toEqual([])
    }
    expect(await statuses()).toEqual(Array.from({ length: 3 }, () => ['active', false]))
    const { devices } = owner.store.as(author)
    expect((await devices.changeRole(id, 'owner')).endsGrants).toEqual([])
    expect((await devices.changeRole(id, 'reader')).endsGrants).toEqual(told)
    expect((await devices.changeRole(id, 'reader')).endsGrants).toEqual([])
  })

  test('tells the labels of the grants of the device itself', async () => {
    const other = await joinAs('owner')
    const { grantId } = await give(other, 'mine')
    const roles = new Map([[idOf(other), 'reader' as const]])
    expect(await other.store.grants.endedBy({ roles })).toMatchObject([{ grantId, label: 'mine' }])
    const changed = await other.store.as(author).devices.changeRole(idOf(other), 'reader')
    expect(changed.endsGrants).toMatchObject([{ grantId, label: 'mine' }])
  })

  test('ends the grants of a removed device, also those that it learns by its sync', async () => {
    const { grantId } = await give(writer, 'unknown to the owner')
    expect(await owner.store.grants.endedBy({ removed: [idOf(writer)] })).toEqual([])
    const removed = await owner.store.as(author).devices.remove([idOf(writer)])
    expect(removed.endsGrants).toMatchObject([{ grantId, grantedBy: idOf(writer) }])
    expect(await statuses()).toEqual([['granter_inactive', false]])
  })

  test('ends them for good: a device that is raised again gets none back', async () => {
    await give(writer, 'leaked')
    const { devices } = owner.store.as(author)
    await devices.changeRole(idOf(writer), 'reader')
    await devices.changeRole(idOf(writer), 'writer')
    await sync(writer)
    for (const clone of [owner, writer]) {
      expect(await statuses(clone)).toEqual([['granter_inactive', false]])
    }
    await give(writer, 'after')
    await sync(owner)
    expect(await statuses()).toEqual([
      ['granter_inactive', false],
      ['active', false],
    ])
    const reopened = await reopen(owner.place)
    expect(await statuses({ store: reopened })).toEqual(await statuses())
    await reopened.close()
  })

  test.each([
    ['a wrong id', { removed: ['x'] }],
    ['a wrong role', { roles: new Map([['dev_', 'god']]) }],
    ['wrong givers', { givers: 'readers' }],
    ['an id instead of a list', { removed: 'dev_x' }],
  ])('is refused with %s', async (_, change) => {
    await expect(owner.store.grants.endedBy(change as object)).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })
})

describe('the right to give grants', () => {
  const setGivers = (store: MemoryStore, givers: 'owners' | 'owners and writers') =>
    store.as(author).grants.setGivers(givers)

  test('is left to owners with new keys, and writers get it back', async () => {
    const { grantId } = await give(writer, 'by a writer')
    const own = await give(owner, 'by an owner')
    const { epochs, givers } = await owner.store.status()
    expect(givers).toBe('owners and writers')
    const left = await setGivers(owner.store, 'owners')
    expect(left).toMatchObject({
      pending: undefined,
      residualAccess: undefined,
      endsGrants: [{ grantId, grantedBy: idOf(writer) }],
    })
    expect(await owner.store.status()).toMatchObject({ givers: 'owners', epochs: epochs + 1 })
    expect((await setGivers(owner.store, 'owners')).commit).toBeUndefined()
    // It is at the remote already.
    await sync(writer)
    const { head, givers: there } = await writer.store.status()
    expect(there).toBe('owners')
    await expect(give(writer, 'more')).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringMatching(/^Only owners may give grants/),
    })
    expect((await writer.store.status()).head).toBe(head)
    expect(
      (await owner.store.grants.list()).map(({ grantId: id, status }) => [id, status]),
    ).toEqual([
      [grantId, 'granter_inactive'],
      [own.grantId, 'active'],
    ])
    await give(owner, 'more of an owner')
    const opened = await setGivers(owner.store, 'owners and writers')
    expect(opened).toMatchObject({ pending: undefined, endsGrants: [] })
    expect((await setGivers(owner.store, 'owners and writers')).commit).toBeUndefined()
    expect(await owner.store.status()).toMatchObject({ givers, epochs: epochs + 1 })
    await give(writer, 'again')
    await sync(owner)
    expect((await statuses()).map(([status]) => status)).toEqual([
      'granter_inactive',
      'active',
      'active',
      'active',
    ])
    await owner.store.maintenance.verify()
  })

  test('is changed by owners, which a report tells', async () => {
    await expect(setGivers(writer.store, 'owners')).rejects.toMatchObject({
      code: 'permission_denied',
    })
    await expect(
      owner.store.as(author).grants.setGivers(JSON.parse('"readers"')),
    ).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await setGivers(owner.store, 'owners')
    await setGivers(owner.store, 'owners and writers')
    const { access } = await owner.store.maintenance.report()
    expect(access.map(({ action }) => action).slice(-3)).toEqual([
      { type: 'grants_left_to_owners' },
      { type: 'epoch_began' },
      { type: 'grants_opened_to_writers' },
    ])
  })
})

/** Without the remote: in a session of its own, while the store is closed. */
async function apart<T>(
  { place, store }: Clone,
  time: number,
  work: (session: StoreSession) => Promise<T>,
): Promise<{ readonly clone: Clone; readonly result: T }> {
  await store.close()
  const { directory, stateDirectory, identity } = place
  const objects = await openDiskObjectStore({ directory })
  const clock = (): number => time
  const opened = await openSession(objects, { directory, stateDirectory, identity, clock })
  const result = await work(opened.session)
  await opened.session.close()
  return { clone: { place, store: await reopen(place) }, result }
}

/** Begins the first grant of this device once more, as if its notes were an old copy. */
async function beginAgain(session: StoreSession): Promise<string> {
  await session.grantNotes.change((now) => ({ ...now, next: 0, given: [] }))
  const terms = { role: 'writer', lastsMs: HOUR, label: 'again' } as const
  return (await beginGrant(session, terms, author)).grantId
}

describe('a grant that is begun again after its end', () => {
  test('is active, and ended by a later end alone', async () => {
    const { grantId } = await give(writer, 'first')
    await writer.store.as(author).grants.end([grantId])
    expect(await statuses(writer)).toEqual([['ended', true]])
    const { clone, result } = await apart(writer, Date.now(), beginAgain)
    expect(result).toBe(grantId)
    expect(await clone.store.grants.list()).toMatchObject([
      { grantId, status: 'active', endedAt: undefined, label: 'again' },
    ])
    expect((await clone.store.as(author).grants.end([grantId])).grantIds).toEqual([grantId])
    expect(await statuses(clone)).toEqual([['ended', true]])
    await clone.store.close()
  })

  test.each([
    ['earlier', -HOUR],
    ['later', HOUR],
  ])('has ended by an end of another device that it did not know of, %s', async (_, byMs) => {
    const { grantId } = await give(writer, 'first')
    await sync(owner)
    const now = Date.now()
    const ofOwner = await apart(owner, now + byMs, (s) => endGrants(s, [grantId], author))
    const ofWriter = await apart(writer, now, async (session) => {
      await endGrants(session, [grantId], author)
      return beginAgain(session)
    })
    expect(await statuses(ofWriter.clone)).toEqual([['active', false]])
    await sync(ofWriter.clone)
    await sync(ofOwner.clone)
    await sync(ofWriter.clone)
    for (const { clone } of [ofOwner, ofWriter]) {
      const [grant] = await clone.store.grants.list()
      expect(grant).toMatchObject({ grantId, status: 'ended' })
      const far = Math.abs((grant?.endedAt ?? 0) - (now + byMs))
      expect(far).toBeLessThan(HOUR / 2)
      await clone.store.close()
    }
  })

  test('on the merged side is active where the other side has no end', async () => {
    const { grantId } = await give(writer, 'first')
    await sync(owner)
    const { clone } = await apart(writer, Date.now(), async (session) => {
      await endGrants(session, [grantId], author)
      return beginAgain(session)
    })
    await put(owner, '/meanwhile.md')
    await sync(clone)
    await sync(owner)
    for (const one of [owner, clone]) expect(await statuses(one)).toEqual([['active', false]])
    await clone.store.close()
  })
})
