// What `compact` makes, before stock git: every object as it was, in one pack that its strictest
// checks accept.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unwatched } from '../../src/async.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { compactPacks } from '../../src/git/maintenance/pack-merge.ts'
import { PackSet } from '../../src/git/pack/pack-set.ts'
import { writePack } from '../../src/git/pack/pack-writer.ts'
import { bareRepository, frame, history, listObjects, object } from '../support/pack-fixtures.ts'
import { full, sample } from '../support/seed.ts'
import { git, gitBytes, temporaryDirectory } from '../support/temporary.ts'

const commits = full ? 3000 : 250
const story = history(commits, 'history', frame)

interface Repository {
  readonly directory: string
  readonly packs: string
}

/** A repository whose whole history is in `parts` packs of ours. */
async function repository(parts: number): Promise<Repository> {
  const directory = temporaryDirectory()
  const packs = bareRepository(directory)
  const size = Math.ceil(story.objects.length / parts)
  for (let start = 0; start < story.objects.length; start += size) {
    await writePack(systemDisk, packs, story.objects.slice(start, start + size))
  }
  git(['update-ref', 'refs/heads/main', story.head], directory)
  return { directory, packs }
}

function packNames(packs: string): string[] {
  const files = systemDisk.list(packs).filter((name) => name.endsWith('.idx'))
  return files.map((name) => name.slice(0, -'.idx'.length))
}

async function compact({ packs }: Repository): Promise<void> {
  await compactPacks(systemDisk, packs, packNames(packs), unwatched)
}

/** Every object with its type and its bytes, as stock git reads them. */
function contents({ directory }: Repository): Buffer {
  return gitBytes(['cat-file', '--batch-all-objects', '--batch'], directory)
}

function expectSound({ directory, packs }: Repository): void {
  const names = packNames(packs)
  expect(names).toHaveLength(1)
  const [name = ''] = names
  expect(systemDisk.list(packs)).toEqual([`${name}.idx`, `${name}.pack`])
  git(
    ['index-pack', '--strict', '-o', join(directory, 'check.idx'), `${packs}/${name}.pack`],
    directory,
  )
  git(['verify-pack', `${packs}/${name}.idx`], directory)
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
}

/** One of ours with an object of its own, so that there is something to merge. */
async function addPack({ packs }: Repository): Promise<void> {
  const content = Buffer.from(`stray beside ${packNames(packs).join()}`)
  await writePack(systemDisk, packs, [object('blob', content)])
}

describe('stock git', () => {
  test('finds every object byte for byte in a valid pack', { tags: 'slow' }, async () => {
    const place = await repository(5)
    const before = contents(place)
    await compact(place)
    expectSound(place)
    expect(contents(place).equals(before)).toBe(true)
    expect(Number(git(['rev-list', '--count', 'main'], place.directory))).toBe(commits)
  })

  test('clones and collects a compacted store', { tags: 'slow' }, async () => {
    const place = await repository(3)
    const before = contents(place)
    await compact(place)
    const clone = temporaryDirectory()
    git(['clone', '--quiet', '--bare', `file://${place.directory}`, '.'], clone)
    expect(git(['fsck', '--strict', '--full'], clone)).toBe('')
    expect(contents({ directory: clone, packs: '' }).equals(before)).toBe(true)
    git(['gc', '--quiet', '--prune=now'], place.directory)
    expect(contents(place).equals(before)).toBe(true)
  })
})

describe('packs of stock git become one pack', () => {
  const ways: readonly (readonly [string, readonly (readonly string[])[]])[] = [
    ['repack -adf with long chains', [['repack', '-adfq', '--depth=250', '--window=50']]],
    ['gc --aggressive', [['gc', '--aggressive', '--quiet']]],
    [
      'deltas by name',
      [
        ['config', 'repack.useDeltaBaseOffset', 'false'],
        ['repack', '-adfq', '--depth=60'],
      ],
    ],
    [
      'no compression',
      [
        ['config', 'core.compression', '0'],
        ['repack', '-adFq'],
      ],
    ],
    ['a multi-pack-index with a bitmap', [['multi-pack-index', 'write', '--bitmap']]],
    ['a bitmap', [['repack', '-adbq']]],
    ['a reverse index', [['-c', 'pack.writeReverseIndex=true', 'repack', '-adq']]],
    ['a commit-graph', [['commit-graph', 'write', '--reachable']]],
  ]
  test.each(sample(ways, 2))('%s', { tags: 'slow' }, async (_, commands) => {
    const place = await repository(3)
    for (const command of commands) git(command, place.directory)
    await addPack(place)
    const before = contents(place)
    await compact(place)
    expectSound(place)
    expect(contents(place).equals(before)).toBe(true)
  })

  test('tags, links, submodules, merges and unreachable objects', { tags: 'slow' }, async () => {
    const place = await repository(1)
    const { directory } = place
    git(['tag', '-a', '-m', 'a tag', 'v1', 'main'], directory)
    const blob = git(['hash-object', '-w', '--stdin'], directory, 'text').trim()
    const link = `120000 blob ${blob}\tlink\n`
    const others = `160000 commit ${story.head}\tmodule\n100755 blob ${blob}\tprogram\n`
    const tree = git(['mktree'], directory, link + others).trim()
    const side = git(['commit-tree', '-m', 'side', tree], directory).trim()
    const parents = ['-p', 'main', '-p', side]
    const merge = git(['commit-tree', '-m', 'merge', ...parents, tree], directory).trim()
    git(['update-ref', 'refs/heads/main', merge], directory)
    await addPack(place)
    const before = contents(place)
    await compact(place)
    const tag = git(['rev-parse', 'v1'], directory).trim()
    // A store has no tags: a loose one remains loose.
    expect(
      statSync(join(directory, 'objects', tag.slice(0, 2), tag.slice(2))).size,
    ).toBeGreaterThan(0)
    expect(contents(place).equals(before)).toBe(true)
    git(['repack', '-adkq'], directory)
    await addPack(place)
    const repacked = contents(place)
    await compact(place)
    expectSound(place)
    expect(contents(place).equals(repacked)).toBe(true)
  })
})

test('a set that is open reads on while its packs go', async () => {
  const place = await repository(4)
  const set = new PackSet(systemDisk, place.packs)
  set.rescan()
  await compact(place)
  const oids = listObjects(place.directory)
  const unread = (): string[] => oids.filter((oid) => set.read(oid) === undefined)
  expect(unread()).toEqual([])
  set.rescan()
  expect(set.packs()).toHaveLength(1)
  expect(unread()).toEqual([])
  set.close()
})
