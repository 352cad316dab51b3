// The history on disk: reads back as written, and ignores segments that do not fit.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { generateIdentity } from '../../../src/index.ts'
import { History } from '../../../src/store/history/history.ts'
import {
  isWorthWriting,
  readHistory,
  writeHistory,
} from '../../../src/store/local/history-cache.ts'
import {
  type CacheOwner,
  findCacheBytes,
  writeCache,
} from '../../../src/store/local/sealed-cache.ts'
import {
  appendMade,
  commitsOf,
  type MadeCommit,
  makeHistory,
  memoryNamed,
  oidAt,
  versionAt,
  versionsOf,
  versionValues,
} from '../../support/histories.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const SEGMENT = 1500

async function place(): Promise<{ owner: CacheOwner; directory: string }> {
  const identity = await generateIdentity()
  const owner = { disk: systemDisk, storeId: '5'.repeat(32), identity, random: systemRandom }
  return { owner, directory: `${temporaryDirectory()}/cache` }
}

/** Every kind of record and row, over and over. */
function made(height: number): MadeCommit {
  const session = `sess_${height % 7}`
  const memory = String(height % 97)
  switch (height % 11) {
    case 1:
      return { kind: 'settings', actor: undefined }
    case 2:
      return {
        kind: 'redact',
        redacts: [versionAt(height - 2, String((height - 2) % 97)), versionAt(0, '0')],
        reason: 'legal',
      }
    case 3:
      return { rows: [{ memory, path: undefined }], note: 'é\u{1f600}\n' }
    case 4:
      return { rows: [{ memory }, { memory: `and ${memory}` }], session, time: 8.64e15 }
    case 5:
      return { rows: [{ memory, operation: 'deleted', path: `/${memory}` }] }
    case 6:
      return { rows: [{ memory, operation: 'deleted', path: undefined }] }
    case 7:
      return { rows: [], actor: { type: 'service_account', id: 'robot' } }
    default:
      return { rows: [{ memory }], session }
  }
}

function history(count: number): History {
  return makeHistory(Array.from({ length: count }, (_, height) => made(height)))
}

/** All but the origin, as text: comparing this many values takes seconds. */
function valuesOf(of: History): string {
  const chains = Array.from({ length: 97 }, (_, n) => {
    return of.ofMemory(memoryNamed(String(n))).map(({ versionId }) => versionId)
  })
  const rows = Array.from(of.versions, (entry) => {
    return { ...versionValues(entry), commit: entry.commit.position }
  })
  const redaction = of.findRedaction(versionAt(0, '0'))?.position
  return JSON.stringify({ commits: commitsOf(of), rows, chains, redaction })
}

async function readBack(at: { owner: CacheOwner; directory: string }): Promise<History> {
  const { owner, directory } = at
  const found = new History()
  await readHistory(owner, directory, found)
  return found
}

/** Includes the time, because inodes are reused. */
function writtenAt(directory: string): Record<string, bigint> {
  const statusOf = (name: string) => statSync(`${directory}/${name}`, { bigint: true })
  return Object.fromEntries(readdirSync(directory).map((name) => [name, statusOf(name).mtimeNs]))
}

describe('the cache of a history', () => {
  test.each([256, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 300])(
    'gives %i commits back as they were',
    { tags: 'slow' },
    async (count) => {
      const at = await place()
      const written = history(count)
      await writeHistory(at.owner, at.directory, written)
      const found = await readBack(at)
      expect(valuesOf(found)).toBe(valuesOf(written))
      expect([written.cachedCommits, found.cachedCommits]).toEqual([count, count])
      expect([isWorthWriting(written), isWorthWriting(found)]).toEqual([false, false])
    },
  )

  test('is written for few commits of many rows, and again for half as many more', async () => {
    const at = await place()
    const large = (height: number, count: number): MadeCommit => {
      const rows = Array.from({ length: count }, (_, row) => ({ memory: `${height} ${row}` }))
      return { rows }
    }
    const written = makeHistory([made(0), large(1, 254)])
    expect(isWorthWriting(written)).toBe(false)
    appendMade(written, large(2, 745))
    await writeHistory(at.owner, at.directory, written)
    expect(valuesOf(await readBack(at))).toBe(valuesOf(written))
    appendMade(written, large(3, 499))
    expect(isWorthWriting(written)).toBe(false)
    appendMade(written, large(4, 2))
    expect(isWorthWriting(written)).toBe(true)
  })

  test('is not written for few commits', async () => {
    const at = await place()
    await writeHistory(at.owner, at.directory, history(255))
    expect(systemDisk.list(at.directory)).toEqual([])
  })

  test('grows by its last segment', async () => {
    const at = await place()
    const written = history(SEGMENT + 300)
    await writeHistory(at.owner, at.directory, written)
    const before = writtenAt(at.directory)
    for (let n = 0; n < 300; n += 1) appendMade(written, made(written.commits.length))
    await writeHistory(at.owner, at.directory, written)
    const after = writtenAt(at.directory)
    expect(after['versions-0']).toBe(before['versions-0'])
    expect(Object.keys(after)).toEqual(Object.keys(before))
    expect(valuesOf(await readBack(at))).toBe(valuesOf(written))
  })

  test(
    'is rewritten after a redaction from the first changed segment',
    { tags: 'slow' },
    async () => {
      const at = await place()
      const written = history(3 * SEGMENT)
      await writeHistory(at.owner, at.directory, written)
      const before = writtenAt(at.directory)
      const from = SEGMENT + 11
      const heights = commitsOf(written)
        .slice(from)
        .map(({ height }) => height)
      const rewritten = new Map(heights.map((height) => [height, oidAt(height, 'new')]))
      const gone = versionsOf(written).find(({ commit }) => commit.height >= from)?.versionId ?? ''
      written.applyRedaction(rewritten, new Set([gone]))
      expect(isWorthWriting(written)).toBe(true)
      await writeHistory(at.owner, at.directory, written)
      const after = writtenAt(at.directory)
      expect(Object.keys(after).filter((name) => after[name] === before[name])).toEqual([
        'versions-0',
      ])
      const found = await readBack(at)
      expect(valuesOf(found)).toBe(valuesOf(written))
      expect(found.find(gone)?.path).toBeUndefined()
    },
  )

  test('that shrank has no leftover segment', async () => {
    const at = await place()
    const written = history(2 * SEGMENT + 300)
    await writeHistory(at.owner, at.directory, written)
    written.truncate(SEGMENT + 5)
    await writeHistory(at.owner, at.directory, written)
    expect(Object.keys(writtenAt(at.directory)).toSorted()).toEqual(['versions-0', 'versions-1500'])
    expect(valuesOf(await readBack(at))).toBe(valuesOf(written))
  })

  test.each([
    { gone: 'versions-0', left: 0 },
    { gone: 'versions-1500', left: SEGMENT },
  ])(
    'without $gone ends at $left, and is whole after the next write',
    { tags: 'slow' },
    async ({ gone, left }) => {
      const at = await place()
      const written = history(2 * SEGMENT + 300)
      await writeHistory(at.owner, at.directory, written)
      rmSync(`${at.directory}/${gone}`)
      expect((await readBack(at)).commits).toHaveLength(left)
      for (let n = 0; n < 256; n += 1) appendMade(written, made(written.commits.length))
      await writeHistory(at.owner, at.directory, written)
      expect(valuesOf(await readBack(at))).toBe(valuesOf(written))
    },
  )

  test('of another release is ignored and replaced', async () => {
    const at = await place()
    for (const start of [0, 8192]) {
      const path = `${at.directory}/versions-${start}`
      const file = { version: 1, after: '', commits: [] }
      await writeCache(at.owner, { path, role: 'versions', generation: start }, file)
    }
    expect((await readBack(at)).commits).toHaveLength(0)
    await writeHistory(at.owner, at.directory, history(300))
    expect(Object.keys(writtenAt(at.directory))).toEqual(['versions-0'])
    expect((await readBack(at)).commits).toHaveLength(300)
  })

  test('of another device is ignored', async () => {
    const at = await place()
    await writeHistory(at.owner, at.directory, history(300))
    const { owner } = await place()
    expect((await readBack({ owner, directory: at.directory })).commits).toHaveLength(0)
  })

  test('of another store is ignored', async () => {
    const at = await place()
    await writeHistory(at.owner, at.directory, history(300))
    const owner = { ...at.owner, storeId: '6'.repeat(32) }
    expect((await readBack({ ...at, owner })).commits).toHaveLength(0)
  })

  test.each<[what: string, harm: (bytes: Buffer, other: Buffer) => Uint8Array]>([
    ['truncated', (bytes) => bytes.subarray(0, -1)],
    ['cut to nothing', () => Buffer.alloc(0)],
    [
      'changed in its last byte',
      (bytes) => bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)),
    ],
    ['another one', (_, other) => other],
  ])('ends before a segment that is %s', { tags: 'slow' }, async (_, harm) => {
    const at = await place()
    await writeHistory(at.owner, at.directory, history(2 * SEGMENT + 300))
    const [path, other] = [`${at.directory}/versions-${SEGMENT}`, `${at.directory}/versions-0`]
    writeFileSync(path, harm(readFileSync(path), readFileSync(other)))
    const found = await readBack(at)
    expect(found.commits).toHaveLength(SEGMENT)
    expect(valuesOf(found)).toBe(valuesOf(history(SEGMENT)))
  })

  test('holds no text that a redaction has erased or a merge has moved away', async () => {
    const at = await place()
    const written = history(300)
    const erased = versionsOf(written).find(({ path }) => path !== undefined)
    const [gone, path = ''] = [erased?.versionId ?? '', erased?.path]
    const same = versionsOf(written).filter((entry) => entry.path === path)
    written.applyRedaction(new Map(), new Set([gone, ...same.map(({ versionId }) => versionId)]))
    appendMade(written, { rows: [{ memory: 'later', path: '/later.md' }] })
    written.truncate(300)
    await writeHistory(at.owner, at.directory, written)
    const place0 = { path: `${at.directory}/versions-0`, role: 'versions', generation: 0 } as const
    const plain = findCacheBytes(at.owner, place0, (bytes) => Buffer.from(bytes).toString('latin1'))
    expect(plain).toContain('/')
    expect([path, '/later.md'].filter((text) => plain?.includes(text))).toEqual([])
    expect(valuesOf(await readBack(at))).toBe(valuesOf(written))
  })

  test('is appended only to the commit that it was written after', async () => {
    const at = await place()
    await writeHistory(at.owner, at.directory, history(2 * SEGMENT))
    const other = history(SEGMENT)
    other.applyRedaction(new Map([[SEGMENT - 1, oidAt(SEGMENT - 1, 'new')]]), new Set())
    rmSync(`${at.directory}/versions-0`)
    const elsewhere = `${at.directory}/../other`
    await writeHistory(at.owner, elsewhere, other)
    systemDisk.rename(`${elsewhere}/versions-0`, `${at.directory}/versions-0`)
    expect((await readBack(at)).commits).toHaveLength(SEGMENT)
  })
})
