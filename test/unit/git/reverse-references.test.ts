// Whether remaining objects refer to those that will be erased: asked of objects packed by us and
// by git, and loose, for every object alone and for sets that nothing outside of them names.
// @module-tag slow

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasReverseReference } from '../../../src/git/maintenance/unreachable.ts'
import { decodeTree, findAllLinks, type Oid } from '../../../src/git/objects/object.ts'
import { OidList } from '../../../src/git/objects/oid-list.ts'
import { deflate, encodeEntryHeader } from '../../../src/git/pack/pack-entry.ts'
import { type PackInput, writePack } from '../../../src/git/pack/pack-writer.ts'
import { assemblePack, bareRepository, history, object } from '../../support/pack-fixtures.ts'
import { git, gitBytes, sharedDirectory, temporaryDirectory } from '../../support/temporary.ts'

const { objects, head } = history(60)
const referrers = reverseReferencesOf(objects)

/** How the objects are stored. */
const storings: readonly [name: string, repack: readonly string[]][] = [
  ['packed by us', []],
  ['packed by git, with offsets', ['-adfq', '--depth=50', '--window=50']],
  ['packed by git, with oids of bases', ['-adfq', '--depth=50', '--window=50']],
  ['loose', []],
]

describe.each(storings)('objects %s', (storing, repack) => {
  const repository = sharedDirectory()
  const packs = join(repository, 'objects/pack')
  beforeAll(() => store(repository, storing, repack))

  test('are referenced if another object names them', { tags: 'slow' }, () => {
    const some = objects.filter((_, n) => n % 7 === 0)
    const wrong = some.filter(({ oid }) => {
      const expected = (referrers.get(oid)?.size ?? 0) > 0
      return hasReverseReference(systemDisk, packs, OidList.of([oid])) !== expected
    })
    expect(wrong.map(({ oid }) => oid)).toEqual([])
    expect(some.some(({ oid }) => referrers.has(oid))).toBe(true)
  })

  test('are unreferenced if all that reach one are erased with it', () => {
    const blob = objects.find(({ type }) => type === 'blob')?.oid ?? ''
    const dead = leadingTo(blob)
    expect(hasReverseReference(systemDisk, packs, OidList.of(dead))).toBe(false)
    for (const one of [...dead].filter((oid) => oid !== head).slice(0, 12)) {
      const others = [...dead].filter((oid) => oid !== one)
      const isNamed = others.some((oid) => referrers.get(oid)?.has(one))
      expect(hasReverseReference(systemDisk, packs, OidList.of(others))).toBe(isNamed)
    }
  })
})

test('a commit with more parents than its first bytes hold', async () => {
  const directory = temporaryDirectory()
  const parents = objects.filter(({ type }) => type === 'commit').map(({ oid }) => oid)
  const tree = objects.find(({ type }) => type === 'tree')?.oid ?? ''
  const lines = parents.map((oid) => `parent ${oid}\n`).join('')
  await writePack(systemDisk, directory, [
    object('commit', Buffer.from(`tree ${tree}\n${lines}author a <a@b> 1 +0000\n\nx\n`)),
  ])
  for (const oid of [tree, ...parents]) {
    expect(hasReverseReference(systemDisk, directory, OidList.of([oid]))).toBe(true)
  }
  expect(hasReverseReference(systemDisk, directory, OidList.of(['12'.repeat(20)]))).toBe(false)
})

test('a tag names its object', () => {
  const repository = temporaryDirectory()
  const packs = bareRepository(repository)
  const blob = gitBytes(['hash-object', '-w', '--stdin'], repository, 'x').toString().trim()
  const text = `object ${blob}\ntype blob\ntag t\ntagger a <a@b> 1 +0000\n\nx\n`
  gitBytes(['hash-object', '-t', 'tag', '-w', '--stdin'], repository, text)
  expect(hasReverseReference(systemDisk, packs, OidList.of([blob]))).toBe(true)
  expect(hasReverseReference(systemDisk, packs, OidList.of(['12'.repeat(20)]))).toBe(false)
})

describe('a damaged object may name anything:', () => {
  const other = OidList.of(['12'.repeat(20)])

  test('in a pack', async () => {
    const directory = temporaryDirectory()
    const { oid, body } = objects.find(({ type }) => type === 'tree') ?? object('tree', noBytes)
    const deflated = Uint8Array.from(deflate(body, 1)).fill(0, 3, 9)
    await assemblePack(directory, [
      { oid, header: encodeEntryHeader('tree', body.length), deflated },
    ])
    expect(hasReverseReference(systemDisk, directory, other)).toBe(true)
    expect(hasReverseReference(systemDisk, directory, OidList.of([oid]))).toBe(false)
  })

  test('loose', () => {
    const repository = temporaryDirectory()
    const packs = bareRepository(repository)
    const oid = gitBytes(['hash-object', '-w', '--stdin'], repository, 'x').toString().trim()
    const path = join(repository, 'objects', oid.slice(0, 2), oid.slice(2))
    systemDisk.remove(path)
    writeFileSync(path, 'damaged')
    expect(hasReverseReference(systemDisk, packs, other)).toBe(true)
  })
})

const noBytes = new Uint8Array(0)

async function store(
  repository: string,
  storing: string,
  repack: readonly string[],
): Promise<void> {
  const packs = bareRepository(repository)
  await writePack(systemDisk, packs, objects)
  if (storing === 'loose') {
    const files = systemDisk.list(packs)
    const pack = systemDisk.readFile(
      join(packs, files.find((name) => name.endsWith('.pack')) ?? ''),
    )
    for (const file of files) systemDisk.remove(join(packs, file))
    gitBytes(['unpack-objects', '-q'], repository, Buffer.from(pack ?? noBytes))
  }
  if (repack.length === 0) return
  git(['update-ref', 'refs/heads/main', head], repository)
  const offsets = storing.endsWith('oids of bases') ? 'false' : 'true'
  git(['-c', `repack.useDeltaBaseOffset=${offsets}`, 'repack', ...repack], repository)
}

/** Which objects name each. */
function reverseReferencesOf(all: readonly PackInput[]): ReadonlyMap<Oid, ReadonlySet<Oid>> {
  const found = new Map<Oid, Set<Oid>>()
  for (const { oid, type, body } of all) {
    const links = type === 'commit' ? findAllLinks(body) : undefined
    const named = type === 'tree' ? decodeTree(body).map((entry) => entry.oid) : []
    for (const name of [...named, ...(links ? [links.tree, ...links.parents] : [])]) {
      found.set(name, (found.get(name) ?? new Set()).add(oid))
    }
  }
  return found
}

/** The object, and all from which it can be reached. */
function leadingTo(oid: Oid): ReadonlySet<Oid> {
  const dead = new Set([oid])
  // The set grows while it is iterated.
  for (const one of dead) for (const referrer of referrers.get(one) ?? []) dead.add(referrer)
  return dead
}
