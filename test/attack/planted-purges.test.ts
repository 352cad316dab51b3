// T37: lists of objects to erase (`gitlocket/purge-…`) and journals that an attacker plants in the
// directory of a store, without a key. A list is an order to erase, and the next checkpoint used to
// carry it out: one planted file could delete every memory. FORMAT §10.2.

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { encodeBatch } from '../../src/git/journal/journal-frame.ts'
import { OidList } from '../../src/git/objects/oid-list.ts'
import { encodeIntent, type PurgeIntent } from '../../src/git/purge/purge-intent.ts'
import { createStore, generateIdentity, openStore } from '../../src/index.ts'
import { journalSecretOf } from '../../src/store/local/sealed-cache.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import { copySite, expectWhole, list, type Site, use } from '../support/planted-lists.ts'
import { author } from '../support/stores.ts'
import { git, sharedDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const nobody = new Uint8Array(32)

const root = sharedDirectory()
let site: Site
beforeAll(async () => {
  const identity = await generateIdentity()
  site = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  const { store } = await createStore(site)
  await store.as(author).write('/a.md', 'one\n')
  await store.as(author).write('/a.md', 'two\n')
  await store.as(author).write('/b.md', 'b\n')
  await store.close()
})

/** A copy of the closed store, with a list that names all of it. */
function planted(intent: Partial<PurgeIntent>, secret: Uint8Array): Site {
  const at = copySite(site)
  const dead = OidList.of(objectsIn(at))
  const [next, expected] = [headOf(at), git(['rev-parse', 'main~1'], at.directory).trim()]
  plant(at, encodeIntent({ expected, next, packs: [], dead, ...intent }, secret))
  return at
}

function plant({ directory }: Site, bytes: Uint8Array): void {
  writeFileSync(join(directory, list), bytes)
}

function headOf({ directory }: Site): string {
  return git(['rev-parse', 'main'], directory).trim()
}

/** The blobs, which a history of commits and trees alone does not miss. */
function objectsIn({ directory }: Site, type = 'blob'): readonly string[] {
  const rows = git(['cat-file', '--batch-all-objects', '--batch-check'], directory)
  return rows.split('\n').flatMap((row) => (row.includes(` ${type} `) ? row.slice(0, 40) : []))
}

async function foreignIn(at: Site): Promise<number> {
  const store = await openStore(at)
  const { storage } = await store.status()
  await store.close()
  return storage.foreignPurges
}

describe('T37: a planted list without the code of this device', () => {
  test('erases no live memory, and is reported', { tags: 'slow' }, async () => {
    const at = planted({}, nobody)
    expect(await use(at)).toBe('accepted')
    await expectWhole(at)
    expect(await foreignIn(at)).toBe(1)
  })

  test('removes no pack for a transition that was never committed', async () => {
    const packs = readdirSync(`${site.directory}/objects/pack`)
      .filter((name) => name.endsWith('.pack'))
      .map((name) => name.slice(0, -'.pack'.length))
    const at = planted({ expected: headOf(site), next: '12'.repeat(20), packs }, nobody)
    expect(await use(at)).toBe('accepted')
    await expectWhole(at)
  })

  test('is moved aside by a repair', { tags: 'slow' }, async () => {
    const at = planted({}, nobody)
    const { damages } = await repairStore(at)
    expect(damages).toEqual([{ file: list, problem: 'this device has not written it' }])
    expect(await foreignIn(at)).toBe(0)
    expect(await use(at)).toBe('accepted')
    await expectWhole(at)
  })
})

describe('T37: a list of this device that names reachable objects', () => {
  test.each(['blob', 'tree', 'commit'])('journal_corrupt: a %s', { tags: 'slow' }, async (type) => {
    const dead = OidList.of(objectsIn(site, type).slice(0, 1))
    const at = planted({ dead }, journalSecretOf(site.identity))
    expect(await use(at)).toBe('journal_corrupt')
    expect(await repairedProblem(at)).toBe('it would erase what the history needs')
    await expectWhole(at)
  })
})

test('T37: a list of another identity in the same directory is not obeyed', async () => {
  const other = await generateIdentity()
  const at = planted({}, journalSecretOf(other))
  expect(await use(at)).toBe('accepted')
  await expectWhole(at)
})

describe('T37: a planted journal', () => {
  test.each<[target: string, next: (at: Site) => string]>([
    ['an older commit', (at) => git(['rev-parse', 'main~1'], at.directory).trim()],
    ['what is no commit', (at) => objectsIn(at)[0] ?? ''],
    ['a missing commit', () => '12'.repeat(20)],
  ])(
    'that moves the branch to %s is refused, and erases nothing',
    { tags: 'slow' },
    async (_, next) => {
      const at = copySite(site)
      const origin = { generation: 1, salt: new Uint8Array(16).fill(1) }
      const { bytes } = encodeBatch(origin, { start: 0, durable: 0 }, [])
      const transition = { expected: headOf(at), next: next(at), objects: [] }
      const place = { start: bytes.length, durable: bytes.length }
      const frame = encodeBatch(origin, place, [transition]).bytes
      const path = `${at.directory}/gitlocket/journal-a`
      writeFileSync(path, Buffer.concat([bytes, frame, new Uint8Array(4096)]))
      expect(await verdictOf(() => use(at))).not.toBe('accepted')
      rmSync(path)
      expect(await use(at)).toBe('accepted')
      await expectWhole(at)
    },
  )
})

/** The report of a repair about the list, which it removes. */
async function repairedProblem(at: Site): Promise<string | undefined> {
  const { damages } = await repairStore(at)
  expect((await repairStore(at)).damages).toEqual([])
  return damages.find(({ file }) => file === list)?.problem
}
