// T19: the lists of what a redaction erases (`gitlocket/purge-…`), forged or replayed by an
// attacker who can write to the disk; and erased objects that are restored outside the history.
// Such an attacker can delete the store as well, but a list must not make us do it. FORMAT §10.2.
// @module-tag slow

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { OidList } from '../../src/git/objects/oid-list.ts'
import { encodeIntent } from '../../src/git/purge/purge-intent.ts'
import {
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  openStore,
} from '../../src/index.ts'
import { journalSecretOf } from '../../src/store/local/sealed-cache.ts'
import { flipBit } from '../support/forge-seal.ts'
import { contents, copySite, expectWhole, list, type Site, use } from '../support/planted-lists.ts'
import { author, contentsOf } from '../support/stores.ts'
import { copyDirectory, git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'

/** A closed store in which `/a.md` had a version `one` before, as it was and without that one. */
const root = sharedDirectory()
let identity: Identity
let genuine: Uint8Array
let packsBefore: string
let site: Site
beforeAll(async () => {
  identity = await generateIdentity()
  site = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  const disk: Disk = {
    ...systemDisk,
    rename(from, to) {
      if (/purge-[0-9a-f]{16}$/.test(to)) genuine = systemDisk.readFile(from) ?? new Uint8Array()
      systemDisk.rename(from, to)
    },
  }
  const { store } = await createStore({ ...site, disk })
  await store.as(author).apply([{ type: 'create', path: '/a.md', content: 'one\n' }])
  await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => 'two\n' }])
  await store.as(author).apply([{ type: 'create', path: '/b.md', content: 'b\n' }])
  await store.maintenance.checkpoint()
  packsBefore = `${root}/packs`
  copyDirectory(`${site.directory}/objects/pack`, packsBefore)
  await store.as(author).redact({ select: { matching: /one/ }, reason: 'leaked_secret' })
  await store.close()
})

/** Every object of the store. */
function liveIn({ directory }: Site): readonly string[] {
  const rows = git(['cat-file', '--batch-all-objects', '--batch-check'], directory)
  return rows
    .trim()
    .split('\n')
    .map((row) => row.slice(0, 40))
}

test('T19: a list of a transition of another history erases nothing', async () => {
  const at = copySite(site)
  const unknown = '12'.repeat(20)
  const dead = OidList.of(liveIn(at).slice(0, 3))
  const intent = { expected: unknown, next: unknown, packs: [], dead }
  writeFileSync(join(at.directory, list), encodeIntent(intent, journalSecretOf(identity)))
  await use(at).catch(() => undefined)
  rmSync(join(at.directory, list), { force: true })
  await expectWhole(at)
})

describe('T19: a list that is damaged is refused, and nothing is lost', () => {
  test.each<[name: string, damage: (bytes: Uint8Array) => Uint8Array]>([
    ['empty', () => new Uint8Array(0)],
    ['cut off', (bytes) => bytes.subarray(0, -1)],
    ['longer', (bytes) => Buffer.concat([bytes, Uint8Array.of(0)])],
    ['zeros', (bytes) => bytes.map(() => 0)],
    ['a bit of its head', flipBit(8 * 10)],
    ['a bit of its objects', flipBit(8 * 60)],
    ['a bit of its checksum', (bytes) => flipBit(8 * (bytes.length - 1))(bytes)],
  ])('journal_corrupt: %s', async (_, damage) => {
    const at = copySite(site)
    writeFileSync(join(at.directory, list), damage(genuine))
    expect(await use(at)).toBe('journal_corrupt')
    rmSync(join(at.directory, list))
    await expectWhole(at)
  })
})

describe('T19: a genuine list that is replayed', () => {
  test('after the purge, erases nothing more', async () => {
    const at = copySite(site)
    writeFileSync(join(at.directory, list), genuine)
    expect(await use(at)).toBe('accepted')
    expect(existsSync(join(at.directory, list))).toBe(false)
    await expectWhole(at)
  })

  test('in another store of the same device, erases nothing', async () => {
    const folder = temporaryDirectory()
    const at = { directory: `${folder}/store`, stateDirectory: `${folder}/state`, identity }
    const { store } = await createStore(at)
    const changes = Object.entries(contents).map(([path, content]) => {
      return { type: 'create', path, content } as const
    })
    await store.as(author).apply(changes)
    await store.close()
    writeFileSync(join(at.directory, list), genuine)
    await use(at).catch(() => undefined)
    rmSync(join(at.directory, list), { force: true })
    await expectWhole(at)
  })
})

describe('T13: erased objects that are restored outside the history', () => {
  test('is not shown, and the proof of absence finds it', async () => {
    const at = copySite(site)
    copyDirectory(packsBefore, `${at.directory}/objects/pack`)
    const store = await openStore(at)
    await store.maintenance.verify()
    expect(await contentsOf(store)).toEqual(contents)
    expect(await oldContents(store)).not.toContain('one\n')
    expect((await store.maintenance.findResidue()).found.length).toBeGreaterThan(0)
    await store.close()
  })

  test('are not found without that', async () => {
    const at = copySite(site)
    const store = await openStore(at)
    const { versions, found } = await store.maintenance.findResidue()
    expect([versions, found]).toEqual([1, []])
    await store.close()
  })
})

test('T13: a directory of erased history that a write needs again', async () => {
  const folder = temporaryDirectory()
  const at = { directory: `${folder}/store`, stateDirectory: `${folder}/state`, identity }
  const { store } = await createStore(at)
  const creation = (path: string) => ({ type: 'create', path, content: path }) as const
  // Sixteen lie flat, the seventeenth divides them: again after the erased one (FORMAT §2.1).
  await store.as(author).apply(Array.from({ length: 16 }, (_, index) => creation(`/${index}`)))
  const { versionIds } = await store.as(author).apply([creation('/erased')])
  await store.as(author).apply([{ type: 'delete', path: '/erased' }])
  await Promise.all([
    store.as(author).redact({ select: { versionIds }, reason: 'leaked_secret' }),
    store.as(author).apply([creation('/beside')]),
  ])
  await store.maintenance.verify()
  await store.close()
  git(['fsck', '--strict', '--full'], at.directory)
})

async function oldContents(store: MemoryStore): Promise<readonly (string | undefined)[]> {
  const { data: versions } = await store.history.versions()
  return Promise.all(
    versions.map(async (one) => (await store.history.version(one.versionId)).content),
  )
}
