// A pack without some of its objects, checked by stock git: every delta, however its base moved or
// went, and the index with it.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { filterPacks } from '../../../src/git/maintenance/pack-job.ts'
import { OidList } from '../../../src/git/objects/oid-list.ts'
import { makeDelta } from '../../../src/git/pack/delta.ts'
import {
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
} from '../../../src/git/pack/pack-entry.ts'
import { PackSet } from '../../../src/git/pack/pack-set.ts'
import { type PackInput, writePack } from '../../../src/git/pack/pack-writer.ts'
import {
  assemblePack,
  bareRepository,
  history,
  listObjects,
  noise,
  object,
  type RawEntry,
  unreadable,
} from '../../support/pack-fixtures.ts'
import {
  copyDirectory,
  git,
  gitBytes,
  sharedDirectory,
  temporaryDirectory,
} from '../../support/temporary.ts'
import { seededBytes } from '../../support/transitions.ts'

const { objects } = history(80)
const unique = [...new Map(objects.map((entry) => [entry.oid, entry])).values()]

/** Which objects go. */
const choices: readonly [name: string, choose: (random: number, entry: PackInput) => boolean][] = [
  ['one in a hundred', (random) => random < 0.01],
  ['every third', (random) => random < 0.33],
  ['nearly all', (random) => random < 0.95],
  ['all trees', (_, { type }) => type === 'tree'],
  ['half of the trees', (random, { type }) => type === 'tree' && random < 0.5],
  ['all commits and blobs', (_, { type }) => type !== 'tree'],
]

/** How the pack was made. */
const packings: readonly [name: string, arguments_: readonly string[]][] = [
  ['by us', []],
  ['by git, with offsets', ['-adfq', '--depth=50', '--window=50']],
  ['by git, with oids of bases', ['-adfq', '--depth=50', '--window=50']],
]

describe.each(packings)('a pack made %s', (packing, arguments_) => {
  const template = sharedDirectory()
  beforeAll(() => makePack(template, packing, arguments_))

  test.each(choices)('without %s', { tags: 'slow' }, async (_, choose) => {
    const repository = temporaryDirectory()
    copyDirectory(template, repository)
    const packs = join(repository, 'objects/pack')
    const random = seededBytes(3)
    const dead = unique.filter((entry) => choose((random(1)[0] ?? 0) / 256, entry))
    const live = unique.filter((entry) => !dead.includes(entry))
    await filterPacks(systemDisk, packs, OidList.of(dead.map(({ oid }) => oid)))
    const set = new PackSet(systemDisk, packs)
    set.rescan()
    expect([...set.objectIds()].toSorted()).toEqual(live.map(({ oid }) => oid).toSorted())
    expect(unreadable(set, live)).toEqual([])
    set.close()
    for (const name of systemDisk.list(packs).filter((file) => file.endsWith('.pack'))) {
      git(['index-pack', '--verify', join(packs, name)], repository)
      git(['verify-pack', join(packs, name.replace('.pack', '.idx'))], repository)
    }
    expect(listObjects(repository).filter(Boolean)).toHaveLength(live.length)
  })
})

test(
  'an entry longer than the window, and one at either end, are copied whole',
  { tags: 'slow' },
  async () => {
    const directory = temporaryDirectory()
    const blobs = [5_000_000, 10, 3_000_000, 20].map((length, n) => {
      return object('blob', noise(`blob ${n}`, length))
    })
    for (const gone of blobs) {
      await writePack(systemDisk, directory, blobs)
      await filterPacks(systemDisk, directory, OidList.of([gone.oid]))
      const set = new PackSet(systemDisk, directory)
      set.rescan()
      expect(unreadable(set, blobs)).toEqual([gone.oid])
      expect(set.packs()).toHaveLength(1)
      set.close()
      for (const file of systemDisk.list(directory)) rmSync(join(directory, file))
    }
  },
)

test('a delta whose header gets shorter moves the entries after it', async () => {
  const directory = temporaryDirectory()
  const base = object('tree', noise('base', 2000))
  const filler = object('blob', noise('filler', 300_000))
  const targets = [1, 2, 3].map((n) => {
    return object('tree', Buffer.concat([base.body, noise(`end ${n}`, 40)]))
  })
  const head = entryOf(base)
  const gap = entryOf(filler)
  const entries: RawEntry[] = [head, gap]
  let offset = 12 + sizeOf(head) + sizeOf(gap)
  for (const target of targets) {
    const delta = makeDelta(base.body, target.body)
    const header = encodeOffsetDeltaHeader(delta.length, offset - 12)
    const entry = { oid: target.oid, header, deflated: deflate(delta, 1) }
    entries.push(entry)
    offset += sizeOf(entry)
  }
  await assemblePack(directory, entries)
  await filterPacks(systemDisk, directory, OidList.of([filler.oid]))
  const set = new PackSet(systemDisk, directory)
  set.rescan()
  expect(unreadable(set, [base, ...targets])).toEqual([])
  const [pack] = set.packs()
  const shorter = targets.length
  expect(pack?.bytes).toBe(offset - sizeOf(gap) - shorter + 20)
  set.close()
})

test('a damaged pack is refused and kept', async () => {
  const directory = temporaryDirectory()
  const { name } = await writePack(systemDisk, directory, unique)
  const index = join(directory, `${name}.idx`)
  const bytes = systemDisk.readFile(index) ?? new Uint8Array(0)
  bytes[2000] = (bytes[2000] ?? 0) ^ 1
  const fd = systemDisk.open(index, 'r+')
  systemDisk.write(fd, bytes, 0)
  systemDisk.close(fd)
  const attempt = filterPacks(systemDisk, directory, OidList.of([unique[0]?.oid ?? '']))
  await expect(attempt).rejects.toMatchObject({ code: 'pack_corrupt' })
  expect(systemDisk.list(directory)).toEqual([`${name}.idx`, `${name}.pack`])
})

async function makePack(
  repository: string,
  packing: string,
  arguments_: readonly string[],
): Promise<void> {
  const packs = bareRepository(repository)
  const { head } = history(80)
  await writePack(systemDisk, packs, objects)
  if (arguments_.length === 0) return
  git(['update-ref', 'refs/heads/main', head], repository)
  git(['repack', ...arguments_], repository)
  git(['update-ref', '-d', 'refs/heads/main'], repository)
  if (packing.endsWith('oids of bases')) repackWithoutOffsets(repository, packs)
}

function repackWithoutOffsets(repository: string, packs: string): void {
  const oids = listObjects(repository).join('\n')
  const pack = gitBytes(['pack-objects', '--stdout', '--window=50', '-q'], repository, oids)
  for (const file of systemDisk.list(packs)) systemDisk.remove(join(packs, file))
  git(['index-pack', '--stdin'], repository, pack)
  expect(git(['count-objects', '-v'], repository)).toMatch(/packs: 1/)
}

function entryOf({ oid, type, body }: PackInput): RawEntry {
  return { oid, header: encodeEntryHeader(type, body.length), deflated: deflate(body, 0) }
}

function sizeOf({ header, deflated }: RawEntry): number {
  return header.length + deflated.length
}
