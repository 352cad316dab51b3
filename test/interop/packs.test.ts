// Packs in both directions: ours read by stock git and isomorphic-git, theirs read by us, and both
// merged. Stock git checks every byte; isomorphic-git is a second opinion.
// @module-tag slow

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { packObjects, readObject } from 'isomorphic-git'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { mergePacks, planMerge } from '../../src/git/maintenance/pack-merge.ts'
import { PackSet } from '../../src/git/pack/pack-set.ts'
import { writePack } from '../../src/git/pack/pack-writer.ts'
import { bareRepository, type History, history, listObjects } from '../support/pack-fixtures.ts'
import { full } from '../support/seed.ts'
import { git, gitBytes, temporaryDirectory } from '../support/temporary.ts'

const commits = full ? 2000 : 200
const story = history(commits)
const sound = {
  complaints: '',
  objects: new Set(story.objects.map(({ oid }) => oid)).size,
  commits,
}

interface Repository {
  readonly directory: string
  readonly packs: string
}

/** A repository whose whole history is in packs of ours, `parts` of them. */
async function ourRepository(
  parts: number,
  { head, objects }: History = story,
): Promise<Repository> {
  const directory = temporaryDirectory()
  const packs = bareRepository(directory)
  const size = Math.ceil(objects.length / parts)
  for (let start = 0; start < objects.length; start += size) {
    await writePack(systemDisk, packs, objects.slice(start, start + size))
  }
  git(['update-ref', 'refs/heads/main', head], directory)
  return { directory, packs }
}

function packNames(packs: string): string[] {
  const files = systemDisk.list(packs).filter((name) => name.endsWith('.pack'))
  return files.map((name) => name.slice(0, -'.pack'.length))
}

/** What stock git makes of the repository: complaints, objects and commits. */
function judgement(directory: string): { complaints: string; objects: number; commits: number } {
  return {
    complaints: git(['fsck', '--strict', '--full', '--no-dangling'], directory),
    objects: listObjects(directory).length,
    commits: Number(git(['rev-list', '--count', 'main'], directory)),
  }
}

/** The oids of all objects that we do not read just as `git cat-file` does. */
function mismatches({ directory, packs }: Repository, open?: PackSet): string[] {
  const oids = listObjects(directory)
  const set = open ?? new PackSet(systemDisk, packs)
  set.rescan()
  const batch = gitBytes(['cat-file', '--batch'], directory, `${oids.join('\n')}\n`)
  const wrong: string[] = []
  let at = 0
  for (const oid of oids) {
    const start = batch.indexOf(0x0a, at) + 1
    const [, type, size] = batch.toString('latin1', at, start - 1).split(' ')
    const found = set.read(oid)
    at = start + Number(size) + 1
    const same = found?.type === type && batch.subarray(start, at - 1).equals(found?.body ?? batch)
    if (!same) wrong.push(oid)
  }
  set.close()
  return wrong
}

describe('stock git reads our packs', () => {
  test('index-pack --strict makes the very index that we wrote', async () => {
    const { directory, packs } = await ourRepository(1)
    const [name = ''] = packNames(packs)
    const index = join(directory, 'index')
    git(['index-pack', '--strict', '-o', index, join(packs, `${name}.pack`)], directory)
    expect(readFileSync(index).equals(readFileSync(join(packs, `${name}.idx`)))).toBe(true)
  })

  test('verify-pack, fsck --strict, cat-file and log accept them', { tags: 'slow' }, async () => {
    const { directory, packs } = await ourRepository(3)
    for (const name of packNames(packs)) git(['verify-pack', join(packs, `${name}.idx`)], directory)
    expect(judgement(directory)).toEqual(sound)
    for (const { oid, type, body } of story.objects.slice(-20)) {
      expect(gitBytes(['cat-file', type, oid], directory).equals(body)).toBe(true)
    }
  })

  test('they are about as small as its own', async () => {
    const { directory, packs } = await ourRepository(1)
    const size = () =>
      packNames(packs).map((name) => readFileSync(join(packs, `${name}.pack`)).length)
    const ours = size()[0] ?? 0
    git(['repack', '-adfq', '--depth=50'], directory)
    expect(ours).toBeLessThan((size()[0] ?? 0) * 1.1)
  })

  test('gc packs them again without loss', { tags: 'slow' }, async () => {
    const { directory } = await ourRepository(4)
    git(['gc', '--quiet', '--prune=now'], directory)
    expect(judgement(directory)).toEqual(sound)
  })

  test('clone transfers them', { tags: 'slow' }, async () => {
    const { directory } = await ourRepository(2)
    const clone = temporaryDirectory()
    git(['clone', '--quiet', '--bare', `file://${directory}`, '.'], clone)
    expect(judgement(clone)).toEqual(sound)
  })

  test("fsck --strict accepts packs merged from ours and git's", { tags: 'slow' }, async () => {
    const { directory, packs } = await ourRepository(4)
    const [first = '', second = '', ...others] = packNames(packs)
    await mergePacks(systemDisk, packs, [first, second])
    git(['config', 'repack.useDeltaBaseOffset', 'false'], directory)
    git(['repack', '-adfq', '--depth=250'], directory)
    await writePack(systemDisk, packs, story.objects.slice(100, 200))
    git(['multi-pack-index', 'write'], directory)
    await mergePacks(systemDisk, packs, packNames(packs))
    expect(packNames(packs)).toHaveLength(1)
    expect(others.length).toBeGreaterThan(0)
    git(['index-pack', '--strict', join(packs, `${packNames(packs)[0]}.pack`)], directory)
    expect(judgement(directory)).toEqual(sound)
    expect(mismatches({ directory, packs })).toEqual([])
  })
})

describe('we read the packs of stock git', () => {
  test.each([
    ['repack -adf --depth=250', [['repack', '-adfq', '--depth=250']]],
    ['gc', [['gc', '--quiet']]],
    [
      'repack with deltas by name',
      [
        ['config', 'repack.useDeltaBaseOffset', 'false'],
        ['repack', '-adfq', '--depth=250'],
      ],
    ],
    [
      'repack without compression',
      [
        ['config', 'core.compression', '0'],
        ['repack', '-adFq'],
      ],
    ],
    ['repack --geometric=2 and a multi-pack-index', [['repack', '-dq', '--geometric=2', '-m']]],
    ['a bitmap', [['repack', '-adbq']]],
  ])('after %s', { tags: 'slow' }, async (_, commands) => {
    const { directory, packs } = await ourRepository(3)
    for (const command of commands) git(command, directory)
    expect(mismatches({ directory, packs })).toEqual([])
  })

  test('with an index that keeps every offset but the first in 64 bits', async () => {
    const { directory, packs } = await ourRepository(1)
    const [name = ''] = packNames(packs)
    const index = join(packs, `${name}.idx`)
    rmSync(index)
    const options = ['--index-version=2,0x20', '-o', index, join(packs, `${name}.pack`)]
    git(['index-pack', ...options], directory)
    expect(mismatches({ directory, packs })).toEqual([])
  })

  test('next to a pack with an index of version 1, which is left to git', async () => {
    const { directory, packs } = await ourRepository(1)
    const old = temporaryDirectory()
    copyFileSync(join(packs, `${packNames(packs)[0]}.pack`), join(old, 'pack-old.pack'))
    git(['index-pack', '--index-version=1', join(old, 'pack-old.pack')], old)
    for (const file of ['pack-old.pack', 'pack-old.idx'])
      copyFileSync(join(old, file), join(packs, file))
    const set = new PackSet(systemDisk, packs)
    set.rescan()
    expect(set.damaged()).toEqual(['pack-old'])
    expect(mismatches({ directory, packs }, set)).toEqual([])
  })

  test('while it repacks under a set that is open', { tags: 'slow' }, async () => {
    const repository = await ourRepository(3)
    const set = new PackSet(systemDisk, repository.packs)
    set.rescan()
    git(['repack', '-adfq'], repository.directory)
    expect(set.read(story.head)?.type).toBe('commit')
    expect(mismatches(repository, set)).toEqual([])
  })
})

describe('planMerge', () => {
  test.each([[[1, 1, 3, 20]], [[2, 3]], [[1, 2, 4, 8]], [[5, 1, 20]], [[1, 2, 4, 8, 9, 40]]])(
    'merges the same as git repack --geometric=2, from packs of %j objects',
    async (sizes) => {
      const directory = temporaryDirectory()
      const packs = bareRepository(directory)
      const blobs = story.objects.filter(({ type }) => type === 'blob')
      for (const size of sizes) await writePack(systemDisk, packs, blobs.splice(0, size))
      const set = new PackSet(systemDisk, packs)
      set.rescan()
      const planned = planMerge(set.packs()).toSorted()
      const before = packNames(packs)
      set.close()
      git(['repack', '-dq', '--geometric=2'], directory)
      const after = new Set(packNames(packs))
      expect(before.filter((name) => !after.has(name)).toSorted()).toEqual(planned)
    },
  )
})

describe('isomorphic-git', () => {
  test('reads our packs', { tags: 'slow' }, async () => {
    const { directory } = await ourRepository(2)
    const cache = {}
    for (const { oid, type, body } of story.objects.slice(0, 100)) {
      const found = await readObject({ fs, gitdir: directory, oid, format: 'content', cache })
      expect(found.type).toBe(type)
      expect(Buffer.from(body).equals(Buffer.from(asBytes(found.object)))).toBe(true)
    }
  })

  test('writes packs that we read', { tags: 'slow' }, async () => {
    const { directory, packs } = await ourRepository(1)
    const oids = story.objects.slice(0, 60).map(({ oid }) => oid)
    const { packfile } = await packObjects({ fs, gitdir: directory, oids })
    const other = temporaryDirectory()
    const otherPacks = bareRepository(other)
    mkdirSync(otherPacks, { recursive: true })
    const path = join(otherPacks, 'pack-iso.pack')
    writeFileSync(path, packfile ?? '')
    git(['index-pack', path], other)
    expect(mismatches({ directory: other, packs: otherPacks })).toEqual([])
    expect(packNames(packs)).toHaveLength(1)
  })
})

function asBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new Error('Expected bytes')
}
