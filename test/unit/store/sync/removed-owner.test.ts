// A removed owner that does not know of its removal and changes the keyring (FORMAT §7.2, §7.4);
// and syncs in which redactions have changed the ids of common commits.

import { describe, expect, test } from 'vitest'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  alone,
  admit,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { patience } from '../../../support/patience.ts'
import { sample } from '../../../support/seed.ts'
import { author, contentsOf } from '../../../support/stores.ts'

/** Redacts all versions of a memory but the newest, which is written first. */
async function replaceAndRedact(clone: Clone, path: string, content: string): Promise<void> {
  const { data: versions } = await clone.store.history.versions({ path })
  await put(clone, path, content)
  const versionIds = versions.map(({ versionId }) => versionId)
  await clone.store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' })
}

/** Three owners in step, with /notes.md of two versions. */
const threeOwners = worldsOf(async (url) => {
  const first = await firstClone(url)
  await put(first, '/notes.md', 'one\n')
  await put(first, '/notes.md', 'two\n')
  await sync(first)
  const removed = await joinClone(first, url)
  const third = await joinClone(first, url)
  await syncAll([first, removed, third])
  return { first, removed, third }
})

describe('a removed owner that changes the keyring on top of', () => {
  const late: readonly (readonly [name: string, act: (clone: Clone) => Promise<unknown>])[] = [
    ['its writes', (clone) => put(clone, '/poison.md', 'late\n')],
    ['its redactions', (clone) => replaceAndRedact(clone, '/notes.md', 'gone\n')],
  ]
  test.each(sample(late, 2))(
    '%s is not merged, and a repair leaves all of it out',
    { tags: 'slow' },
    async (_, act) => {
      const { first, removed, third } = await threeOwners()
      await first.store.as(author).devices.remove([idOf(removed)], alone)
      await act(removed)
      await removed.store.as(author).keys.rotate(alone)
      await sync(removed)
      const conflict = expect.objectContaining({ code: 'keyring_conflict' })
      await expect(sync(first)).rejects.toEqual(conflict)
      const report = await first.store.as(author).sync({ repair: true })
      expect(report.late.length).toBeGreaterThan(1)
      await syncAll([first, third])
      for (const { store } of [first, third]) {
        expect(await contentsOf(store)).toEqual({ '/notes.md': 'two\n' })
        const { data: versions } = await store.history.versions({})
        expect(versions.filter(({ redactedAt }) => redactedAt !== undefined)).toEqual([])
        expect(versions.length).toBe(2)
      }
    },
  )

  test('nothing else cannot remove others either', { tags: 'slow' }, async () => {
    const { first, removed, third } = await threeOwners()
    await first.store.as(author).devices.remove([idOf(removed)], alone)
    await sync(first)
    const other = bareRemote()
    await removed.store.as(author).devices.remove([idOf(first)], alone)
    for (const { store } of [removed, third]) await store.remotes.add('other', other)
    await removed.store.as(author).sync({ remote: 'other' })
    await third.store.as(author).sync({ remote: 'origin' })
    await expect(third.store.as(author).sync({ remote: 'other' })).rejects.toMatchObject({
      code: 'keyring_conflict',
    })
    await third.store.as(author).sync({ remote: 'origin' })
    await sync(first)
    expect(await headOf(first)).toBe(await headOf(third))
  })
})

test(
  'commits of others above a late redaction are left out, and they restore them',
  { tags: 'slow' },
  async () => {
    const { first, removed, third } = await threeOwners()
    await first.store.as(author).devices.remove([idOf(removed)], alone)
    await put(third, '/innocent.md', 'yes\n')
    await syncAll([third, removed])
    await replaceAndRedact(removed, '/notes.md', 'gone\n')
    await sync(removed)
    expect((await sync(first)).late.length).toBeGreaterThan(0)
    expect(await contentsOf(first.store)).toEqual({ '/notes.md': 'two\n' })
    await expect(sync(third)).rejects.toMatchObject({ code: 'rolled_back' })
    await third.store.as(author).sync({ repair: true })
    await sync(first)
    for (const { store } of [first, third]) {
      expect(await contentsOf(store)).toEqual({ '/notes.md': 'two\n', '/innocent.md': 'yes\n' })
      await store.maintenance.verify()
    }
    expect(await headOf(first)).toBe(await headOf(third))
  },
)

test(
  'a device that adopted late work, and those it let in, follow a repair elsewhere',
  { tags: 'slow' },
  async () => {
    const { first, removed, third } = await threeOwners()
    await first.store.as(author).devices.remove([idOf(removed)], alone)
    await put(removed, '/late.md', 'late\n')
    await admit(removed, 'reader')
    await sync(removed)
    await sync(third)
    await first.store.as(author).sync({ repair: true })
    await expect(sync(third)).rejects.toMatchObject({ code: 'keyring_conflict' })
    await third.store.as(author).sync({ takeTheirs: true })
    await syncAll([third, first])
    expect(await contentsOf(third.store)).toEqual({ '/notes.md': 'two\n' })
    expect(await headOf(third)).toBe(await headOf(first))
  },
)

describe('a local redaction that renames commits shared with the remote', () => {
  test('a sync ends and reports the late changes', { tags: 'slow' }, async () => {
    const { first, removed, third } = await threeOwners()
    await first.store.as(author).devices.remove([idOf(removed)], alone)
    await replaceAndRedact(first, '/notes.md', 'clean\n')
    await put(third, '/innocent.md', 'yes\n')
    await syncAll([third, removed])
    await put(removed, '/late.md', 'late\n')
    await sync(removed)
    const report = await first.store
      .as(author)
      .sync({ signal: AbortSignal.timeout(patience.timeout) })
    expect(report.late.flatMap(({ versions }) => versions.map(({ path }) => path))).toEqual([
      '/late.md',
    ])
    await syncAll([third, first])
    for (const { store } of [first, third]) {
      expect(await contentsOf(store)).toEqual({ '/notes.md': 'clean\n', '/innocent.md': 'yes\n' })
      expect((await store.maintenance.findResidue()).found).toEqual([])
    }
  })

  test('keyrings that diverged from it are left', { tags: 'slow' }, async () => {
    const { first, third } = await threeOwners()
    await admit(first, 'reader')
    await replaceAndRedact(third, '/notes.md', 'clean\n')
    await third.store.as(author).keys.rotate(alone)
    await sync(third)
    await first.store.as(author).sync({ takeTheirs: true })
    await syncAll([third, first])
    expect(await headOf(first)).toBe(await headOf(third))
    expect(await contentsOf(first.store)).toEqual({ '/notes.md': 'clean\n' })
    expect((await first.store.maintenance.findResidue()).found).toEqual([])
  })
})
