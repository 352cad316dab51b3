// The ids of all versions, in files and in RAM: none is lost, damaged files are not used, and only
// commits that were not announced are read. FORMAT §6.4.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { type Disk, systemDisk } from '../../../src/disk/disk.ts'
import type { Oid } from '../../../src/git/objects/object.ts'
import { generateIdentity, type MemoryStore } from '../../../src/index.ts'
import type { HistorySource } from '../../../src/store/history/history.ts'
import type { CacheFiles } from '../../../src/store/local/sealed-cache.ts'
import {
  appendIds,
  type KeptIds,
  noIds,
  readIds,
} from '../../../src/store/local/version-id-files.ts'
import { VersionIds } from '../../../src/store/local/version-ids.ts'
import { IdIndex } from '../../../src/store/tables/id-index.ts'
import { Records } from '../../../src/store/tables/records.ts'
import { historyOf, type ReadHistory } from '../../support/histories.ts'
import { author, newStore, reopen } from '../../support/stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const SEGMENT = 16_384

async function newFiles(): Promise<CacheFiles> {
  const identity = await generateIdentity()
  const owner = { disk: systemDisk, storeId: '5'.repeat(32), identity, random: systemRandom }
  return { owner, directory: `${temporaryDirectory()}/cache` }
}

function idAt(number: number): string {
  return number.toString(16).padStart(32, '0')
}

function idsFrom(start: number, count: number): Records {
  const ids = new Records(16)
  for (let n = start; n < start + count; n += 1) ids.setHex(ids.add(), 0, idAt(n))
  return ids
}

function indexOf(...ids: readonly string[]): IdIndex {
  const index = new IdIndex()
  for (const id of ids) index.add(id)
  return index
}

/** Undefined if the files do not hold the kept ids. */
async function shown(files: CacheFiles, kept: KeptIds): Promise<string | undefined> {
  let all = ''
  const isThere = await readIds(files, kept, (ids) => {
    all += toHex(ids)
  })
  return isThere ? all : undefined
}

function expected(count: number): string {
  return Array.from({ length: count }, (_, n) => idAt(n)).join('')
}

async function appended(files: CacheFiles, ...counts: readonly number[]): Promise<KeptIds> {
  let kept = noIds
  for (const count of counts) {
    kept = (await appendIds(files, kept, idsFrom(kept.count, count))) ?? noIds
  }
  return kept
}

describe('the files', () => {
  test.each([
    [[0]],
    [[1]],
    [[SEGMENT]],
    [[SEGMENT + 1]],
    [[3 * SEGMENT]],
    [[1, 2, 3]],
    [[SEGMENT - 1, 1, 1]],
    [[5, SEGMENT, 2 * SEGMENT + 3, 1]],
  ])('give back what was appended: %j', async (counts) => {
    const files = await newFiles()
    const kept = await appended(files, ...counts)
    const count = counts.reduce((sum, one) => sum + one, 0)
    expect(kept.count).toBe(count)
    expect(await shown(files, kept)).toBe(expected(count))
  })

  test('hold the kept ids, even if another process has appended', async () => {
    const files = await newFiles()
    const kept = await appended(files, SEGMENT + 5)
    const theirs = await appendIds(files, kept, idsFrom(70_000, SEGMENT))
    expect(await shown(files, kept)).toBe(expected(SEGMENT + 5))
    const ours = await appendIds(files, kept, idsFrom(SEGMENT + 5, 2))
    expect(ours && (await shown(files, ours))).toBe(expected(SEGMENT + 7))
    expect(theirs && (await shown(files, theirs))).toBeUndefined()
  })

  test('that are missing, older or reordered are not used', { tags: 'slow' }, async () => {
    const files = await newFiles()
    const early = await appended(files, 3 * SEGMENT)
    const before = readFileSync(`${files.directory}/ids-${SEGMENT}`)
    const kept = await appended(files, 1, 3 * SEGMENT)
    expect(await shown(files, kept)).toBe(expected(3 * SEGMENT + 1))
    expect(await shown(files, early)).toBe(expected(3 * SEGMENT))
    const other = (await appendIds(files, noIds, idsFrom(9, 3 * SEGMENT))) ?? noIds
    expect(await shown(files, kept)).toBeUndefined()
    expect(await shown(files, other)).toBeDefined()
    writeFileSync(`${files.directory}/ids-${SEGMENT}`, before)
    expect(await shown(files, other)).toBeUndefined()
    rmSync(`${files.directory}/ids-${SEGMENT}`)
    expect(await shown(files, other)).toBeUndefined()
  })

  test('are not appended to if they hold other ids', async () => {
    const files = await newFiles()
    const kept = await appended(files, 10)
    await appendIds(files, noIds, idsFrom(50, 10))
    const before = readFileSync(`${files.directory}/ids-0`)
    expect(await shown(files, kept)).toBeUndefined()
    expect(await appendIds(files, kept, idsFrom(10, 1))).toBeUndefined()
    expect(readFileSync(`${files.directory}/ids-0`)).toEqual(before)
    rmSync(`${files.directory}/ids-0`)
    expect(await appendIds(files, kept, idsFrom(10, 1))).toBeUndefined()
    expect(readdirSync(files.directory)).toEqual([])
  })
})

describe('the ids in the past of a head', () => {
  let store: MemoryStore
  let read: ReadHistory
  let files: CacheFiles
  /** The commits that were read. */
  let asked: Oid[]
  let source: HistorySource

  beforeEach(async () => {
    const made = await newStore()
    store = made.store
    for (let n = 0; n < 20; n += 1) {
      await store.as(author).apply([{ type: 'create', path: `/${n}`, content: 'x\n' }])
    }
    read = await historyOf(store, made.place)
    files = await newFiles()
    asked = []
    const { objects, storeId, epochs } = read.contents
    const counted = {
      read: (oid: Oid) => {
        asked.push(oid)
        return objects.read(oid)
      },
    }
    source = { objects: counted, storeId, epochs }
    return async () => {
      await read.close()
      await store.close()
    }
  })

  const commitAt = (position: number): Oid => read.history.commits.at(position)?.oid ?? ''
  const versionAt = (position: number): string => {
    return read.history.rowsAt(position)[0]?.versionId ?? ''
  }
  const fill = async () => read.history

  /** Whether an id is found, and how many commits were read for that. */
  async function ask(ids: VersionIds, head: Oid, id: string): Promise<[string, number]> {
    const before = asked.length
    const check = ids.below(source, head, fill).checkNew(indexOf(idAt(7), id))
    const answer = await check.then(
      () => 'new',
      (error: { readonly code: string }) => error.code,
    )
    return [answer, asked.length - before]
  }

  test('are read once if they were not announced', async () => {
    const ids = new VersionIds(files)
    expect(await ask(ids, commitAt(20), idAt(1))).toEqual(['new', 21])
    expect(await ask(ids, commitAt(20), versionAt(1))).toEqual(['row_version_reused', 0])
    expect(await ask(ids, commitAt(20), versionAt(20))).toEqual(['row_version_reused', 0])
    expect(await ids.save(source, commitAt(20), undefined)).toMatchObject({ count: 20 })
    expect(await ask(ids, commitAt(20), versionAt(1))).toEqual(['row_version_reused', 0])
  })

  test('are not read if they were announced', async () => {
    const ids = new VersionIds(files)
    ids.restart(commitAt(0))
    for (let n = 1; n <= 20; n += 1) ids.extend(commitAt(n - 1), commitAt(n), [versionAt(n)])
    expect(await ask(ids, commitAt(20), versionAt(1))).toEqual(['row_version_reused', 0])
    const kept = await ids.save(source, commitAt(20), undefined)
    const again = new VersionIds(files, kept && { commit: commitAt(20), kept })
    expect(await ask(again, commitAt(20), versionAt(3))).toEqual(['row_version_reused', 0])
    expect(await ask(again, commitAt(20), idAt(1))).toEqual(['new', 0])
  })

  test('are known without the files after a lookup', async () => {
    const ids = new VersionIds(files)
    expect(await ask(ids, commitAt(10), idAt(1))).toEqual(['new', 11])
    await ids.save(source, commitAt(10), undefined)
    rmSync(files.directory, { recursive: true })
    // Newer ids are known, and the filter excludes all others.
    ids.extend(commitAt(10), commitAt(11), [versionAt(11)])
    for (let n = 0; n < 5; n += 1) expect(await ask(ids, commitAt(11), idAt(n))).toEqual(['new', 0])
    expect(await ask(ids, commitAt(11), versionAt(11))).toEqual(['row_version_reused', 12])
    expect(await ask(ids, commitAt(11), versionAt(2))).toEqual(['row_version_reused', 0])
  })

  test('are read from the last announced commit on', async () => {
    const ids = new VersionIds(files)
    ids.restart(commitAt(0))
    ids.extend(commitAt(0), commitAt(1), [versionAt(1)])
    ids.extend(commitAt(17), commitAt(18), [versionAt(18)])
    expect(await ask(ids, commitAt(20), idAt(1))).toEqual(['new', 20])
    for (const n of [1, 2, 17, 18, 20]) {
      expect(await ask(ids, commitAt(20), versionAt(n))).toEqual(['row_version_reused', 0])
    }
  })

  test('are read again from git if the files or their head are missing', async () => {
    const ids = new VersionIds(files)
    await ask(ids, commitAt(20), idAt(1))
    const kept = await ids.save(source, commitAt(20), undefined)
    rmSync(files.directory, { recursive: true })
    expect(await ask(ids, commitAt(20), versionAt(1))).toEqual(['row_version_reused', 21])
    const erased = new VersionIds(files, { commit: '5'.repeat(40), kept: kept ?? noIds })
    expect((await ask(erased, commitAt(20), versionAt(1)))[0]).toBe('row_version_reused')
    const lost = new VersionIds(files, { commit: '5'.repeat(40), kept: kept ?? noIds })
    expect(await lost.save(source, commitAt(20), undefined)).toBeUndefined()
  })

  test('continue from what another process has written', async () => {
    const ours = new VersionIds(files)
    ours.restart(commitAt(0))
    for (let n = 1; n <= 10; n += 1) ours.extend(commitAt(n - 1), commitAt(n), [versionAt(n)])
    const first = await ours.save(source, commitAt(10), undefined)
    const theirs = new VersionIds(files, first && { commit: commitAt(10), kept: first })
    const kept = await theirs.save(source, commitAt(15), undefined)
    ours.extend(commitAt(10), commitAt(11), [versionAt(11)])
    const last = await ours.save(source, commitAt(20), kept && { commit: commitAt(15), kept })
    expect(last).toMatchObject({ count: 20 })
    // The ids of the other process stay in their place.
    expect(await ask(theirs, commitAt(15), versionAt(13))).toEqual(['row_version_reused', 0])
    for (let n = 1; n <= 20; n += 1) {
      expect(await ask(ours, commitAt(20), versionAt(n))).toEqual(['row_version_reused', 0])
    }
  })

  test('are rewritten if the files were found damaged', async () => {
    const ids = new VersionIds(files)
    ids.restart(commitAt(0), idsFrom(1000, SEGMENT))
    const kept = (await ids.save(source, commitAt(20), undefined)) ?? noIds
    const written = { commit: commitAt(20), kept }
    writeFileSync(`${files.directory}/ids-0`, 'damaged')
    const again = new VersionIds(files, written)
    expect((await ask(again, commitAt(20), versionAt(1)))[0]).toBe('row_version_reused')
    // As many of the history as the files have, and some more.
    again.restart(commitAt(20), idsFrom(1000, SEGMENT + 20))
    const saved = await again.save(source, commitAt(20), written)
    expect(saved && (await shown(files, saved))).toBeDefined()
  })

  test('do not refuse a version of a commit that was dropped', async () => {
    const ids = new VersionIds(files)
    ids.restart(commitAt(20))
    ids.extend(commitAt(20), 'left', [idAt(3)])
    expect(await ask(ids, 'left', idAt(3))).toEqual(['new', 0])
  })

  test('are not needed to open what a killed process has written', { tags: 'slow' }, async () => {
    /** Bytes that are read to open a store of `count` commits and three that no cache has. */
    async function bytesRead(count: number): Promise<number> {
      const made = await newStore()
      for (let n = 0; n < count; n += 1) {
        await made.store.as(author).apply([{ type: 'create', path: `/${n}`, content: 'x\n' }])
        await made.store.as(author).apply([{ type: 'delete', path: `/${n}` }])
      }
      await made.store.close()
      const alive = await reopen(made.place)
      for (const path of ['/a', '/b', '/c']) {
        await alive.as(author).apply([{ type: 'create', path, content: 'x\n' }])
      }
      let bytes = 0
      const disk: Disk = {
        ...systemDisk,
        read: (fd, into, position) => {
          const length = systemDisk.read(fd, into, position)
          bytes += length
          return length
        },
      }
      const opened = await reopen(made.place, { disk })
      expect((await opened.read('/c'))?.content).toBe('x\n')
      await alive.close()
      await opened.close()
      return bytes
    }
    const [few, many] = [await bytesRead(10), await bytesRead(400)]
    expect(many).toBeLessThan(3 * few)
  })

  test('are not overwritten by a process that is behind', async () => {
    const { store: behind, place } = await newStore()
    await behind.as(author).apply([{ type: 'create', path: '/a', content: 'x\n' }])
    const ahead = await reopen(place)
    for (const path of ['/b', '/c', '/d']) {
      await ahead.as(author).apply([{ type: 'create', path, content: 'x\n' }])
    }
    await ahead.close()
    const [device = ''] = readdirSync(`${place.directory}/gitlocket/cache`)
    const state = `${place.directory}/gitlocket/cache/${device}/state`
    const written = readFileSync(state)
    await behind.close()
    expect(readFileSync(state)).toEqual(written)
    const again = await reopen(place)
    expect(await again.maintenance.verify()).toMatchObject({ commits: 5, versions: 4 })
    await again.close()
  })

  test('are not written before the first lookup', async () => {
    expect(await new VersionIds(files).save(source, commitAt(20), undefined)).toBeUndefined()
    expect(asked).toEqual([])
  })
})
