// Repairs of stores that lack more than one file: directories, packed refs, and the lists of
// objects that a redaction has still to erase. All remaining files are kept, git accepts the
// repository again, and redacted texts are erased although their list is lost.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { repairStore } from '../../src/store/repair/repair.ts'
import type { RepairReport } from '../../src/store/repair/report.ts'
import {
  copyOfWorld,
  type DamagedWorld,
  damagedWorld,
  harm,
  harms,
} from '../support/damaged-stores.ts'
import { full, seed } from '../support/seed.ts'
import { author, contentsOf, reopen, type TestPlace } from '../support/stores.ts'
import { git, sharedDirectory } from '../support/temporary.ts'

const root = sharedDirectory()
let world: DamagedWorld

beforeAll(async () => {
  world = await damagedWorld(root)
})

function repair(place: TestPlace, from?: string): Promise<RepairReport> {
  const { directory, stateDirectory, identity } = place
  return repairStore({ directory, stateDirectory, identity, from })
}

async function expectWhole(place: TestPlace, contents = world.contents): Promise<void> {
  const store = await reopen(place)
  expect(await contentsOf(store)).toEqual(contents)
  await store.maintenance.verify()
  await store.close()
  git(['fsck', '--strict', '--no-dangling'], place.directory)
  expect(await repair(place)).toMatchObject({ sound: true, toErase: 0 })
}

function remove({ directory }: TestPlace, names: readonly string[]): void {
  for (const name of names) rmSync(`${directory}/${name}`, { recursive: true })
}

describe('A repository that is half deleted', () => {
  const lost = [
    'objects',
    'refs',
    'HEAD config refs',
    'HEAD config refs objects',
    'HEAD config refs gitlocket',
    'HEAD gitlocket',
  ]
  test.each(lost)('is mended from a copy without %s', { tags: 'slow' }, async (names) => {
    const place = copyOfWorld(world)
    remove(place, names.split(' '))
    const report = await repair(place, world.copy)
    expect(report).toMatchObject({ whole: true, sound: false, missing: [], detached: [] })
    await expectWhole(place)
  })

  test(
    'keeps unsent commits if only the journal and its packs are left',
    { tags: 'slow' },
    async () => {
      const place = copyOfWorld(world)
      remove(place, ['HEAD', 'config', 'refs'])
      expect(await repair(place)).toMatchObject({ whole: true, saved: { elsewhere: 0 } })
      await expectWhole(place)
    },
  )
})

describe('Packed refs', () => {
  const garbage = ['\u0001\u0002 nothing', 'refs/tags/kept refs', '^', '']
  test.each(garbage)(
    'with the line %j are mended, and what can be read is kept',
    { tags: 'slow' },
    async (line) => {
      const place = copyOfWorld(world)
      const main = git(['rev-parse', 'main'], place.directory).trim()
      const packed = `${place.directory}/packed-refs`
      writeFileSync(
        packed,
        `# pack-refs with: peeled fully-peeled sorted \n${line}\n${main} refs/tags/kept\n`,
      )
      const { whole, damages, aside } = await repair(place)
      expect({ whole, files: damages.map(({ file }) => file) }).toEqual({
        whole: true,
        files: ['packed-refs'],
      })
      expect(git(['rev-parse', 'kept'], place.directory).trim()).toBe(main)
      expect(existsSync(`${place.directory}/${aside}/packed-refs`)).toBe(true)
      await expectWhole(place)
    },
  )

  test('that are valid are left unchanged', async () => {
    const place = copyOfWorld(world)
    git(['tag', '--annotate', '--message=x', 'kept', 'main'], place.directory)
    git(['pack-refs', '--all'], place.directory)
    const before = readFileSync(`${place.directory}/packed-refs`, 'utf8')
    expect(before).toContain('^')
    expect(await repair(place)).toMatchObject({ sound: true })
    expect(readFileSync(`${place.directory}/packed-refs`, 'utf8')).toBe(before)
  })
})

describe('A list of objects that a redaction has to erase', () => {
  /** A store that has redacted `/packed/1.md`, next to all of its files from before. */
  async function notErased(): Promise<{ place: TestPlace; versionId: string }> {
    const place = copyOfWorld(world)
    const store = await reopen(place)
    const [version] = (await store.history.versions({ path: '/packed/1.md' })).data
    const versionId = version?.versionId ?? ''
    await store.as(author).apply([{ type: 'delete', path: '/packed/1.md' }])
    await store.maintenance.compact()
    const packs = `${place.directory}/objects/pack`
    const before = `${place.directory}/../before`
    cpSync(packs, before, { recursive: true })
    await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
    await store.close()
    for (const name of readdirSync(before)) {
      if (!existsSync(`${packs}/${name}`)) cpSync(`${before}/${name}`, `${packs}/${name}`)
    }
    return { place, versionId }
  }

  test(
    'is made again if it is damaged, and everything on it is erased',
    { tags: 'slow' },
    async () => {
      const { place: whole, versionId } = await notErased()
      for (const how of full ? harms : [harms[seed % harms.length] ?? 'flip']) {
        if (how === 'remove') continue
        const place = copyOfWorld({ place: whole })
        const list = `${place.directory}/gitlocket/purge-0123456789abcdef`
        writeFileSync(list, Buffer.alloc(200, 0x47))
        harm(list, how, 0.5)
        const report = await repair(place)
        expect(report, how).toMatchObject({ whole: true, missing: [] })
        expect(report.damages.map(({ file }) => file)).toEqual(['gitlocket/purge-0123456789abcdef'])
        expect(report.toErase).toBeGreaterThan(0)
        const store = await reopen(place)
        const contents = await contentsOf(store)
        expect((await store.maintenance.findResidue()).found).not.toEqual([])
        await store.maintenance.compact()
        expect(await store.maintenance.findResidue()).toMatchObject({ found: [], pending: 0 })
        expect((await store.history.version(versionId)).content).toBeUndefined()
        await store.close()
        await expectWhole(place, contents)
      }
    },
  )

  test('that names no remaining object is moved to the damaged files', async () => {
    const place = copyOfWorld(world)
    const list = `${place.directory}/gitlocket/purge-0123456789abcdef`
    writeFileSync(list, 'GLP1')
    expect(await repair(place)).toMatchObject({ whole: true, toErase: 0 })
    expect(existsSync(list)).toBe(false)
    await expectWhole(place)
  })
})
