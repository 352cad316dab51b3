// A head that brings back versions that are redacted here, and is not taken over (FORMAT §10.2):
// they are erased nevertheless.

import { describe, expect, test } from 'vitest'
import {
  alone,
  admit,
  bareRemote,
  firstClone,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { create, edit, leak, redact } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'

describe('versions that a refused head brought back are erased:', () => {
  test('by a removed device, alone on its side', { tags: 'slow' }, async () => {
    const remote = bareRemote()
    const a = await firstClone(remote)
    await sync(a)
    const removed = await joinClone(a, remote)
    await syncAll([a, removed])
    await create(removed, '/key.txt', 'sk-leaked')
    await edit(removed, '/key.txt', 'revoked')
    await syncAll([removed, a])
    const { data: versions } = await a.store.history.versions({ path: '/key.txt', order: 'oldest' })
    await a.store.as(author).devices.remove([idOf(removed)], alone)
    await redact(a, versions[0]?.versionId ?? '')
    expect((await a.store.maintenance.findResidue()).found).toEqual([])
    await create(removed, '/late.md')
    await sync(removed)
    const { late } = await sync(a)
    expect(late.flatMap((one) => one.versions.map(({ path }) => path))).toEqual(['/late.md'])
    expect(await contentsOf(a.store)).toEqual({ '/key.txt': 'revoked' })
    expect((await a.store.maintenance.findResidue()).found).toEqual([])
  })

  test.each([
    ['permission_denied', 'by a stale clone, at a reader, who merges nothing'],
    ['keyring_conflict', 'by a clone whose keyring another one has to join'],
  ])('%s: %s', { tags: 'slow' }, async (code) => {
    const isReader = code === 'permission_denied'
    const [remote, other] = [bareRemote(), bareRemote()]
    const a = await firstClone(remote)
    const versionId = await leak(a)
    await sync(a)
    const stale = await joinClone(a, remote)
    await syncAll([a, stale])
    const identity = await admit(a, isReader ? 'reader' : 'writer')
    await syncAll([a, stale])
    const c = await joinClone(a, remote, { identity })
    await redact(a, versionId)
    if (!isReader) await a.store.as(author).keys.changePassphrase('correct horse battery', alone)
    await syncAll([a, c])
    expect((await c.store.maintenance.findResidue()).found).toEqual([])

    await stale.store.remotes.add('other', other)
    await create(stale, '/unsent.md')
    if (!isReader) await admit(stale, 'reader')
    await stale.store.as(author).sync({ remote: 'other' })
    await c.store.remotes.add('other', other)
    expect(await failureOf(c.store.as(author).sync({ remote: 'other' }))).toMatchObject({ code })
    expect((await c.store.maintenance.findResidue()).found).toEqual([])
  })
})
