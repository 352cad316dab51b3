// T22: packs of a remote that lies, breaks off, or tries to exhaust memory and disk are refused
// before they cost much, and leave nothing behind. Stock git indexes those that are kept to the
// same bytes.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatBytes, equalBytes } from '../../src/bytes.ts'
import { hasCode } from '../../src/errors.ts'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ReceiveOptions } from '../../src/git/exchange.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { encodeEntryHeader, encodePackHeader } from '../../src/git/pack/pack-entry.ts'
import { bareRepository, noise } from '../support/pack-fixtures.ts'
import {
  blob,
  blobOid,
  deltaOnOffset,
  deltaOnOid,
  inChunks,
  rawPack,
  whole,
  withTrailer,
} from '../support/raw-pack.ts'
import { full, seed } from '../support/seed.ts'
import { cleanEnvironment, temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'

const mebibyte = 1024 * 1024

interface Place {
  readonly store: ObjectStore
  readonly packs: string
}

async function emptyStore(): Promise<Place> {
  const directory = join(temporaryDirectory(), 's')
  const store = await createDiskObjectStore({ directory })
  return { store, packs: join(directory, 'objects/pack') }
}

async function expectRefused(
  pack: Uint8Array,
  problem: string | RegExp,
  options: ReceiveOptions = {},
): Promise<void> {
  const { store, packs } = await emptyStore()
  const attempt = receivePack(store.exchange, inChunks(pack, 65_000), options)
  await expect(attempt).rejects.toMatchObject({
    code: 'pack_refused',
    message: expect.stringMatching(problem),
  })
  expect(readdirSync(packs)).toEqual([])
  await store.close()
}

/** Copies `length` bytes from the start of a base of `baseSize` bytes, `times` times. */
function copies(baseSize: number, length: number, times: number): Uint8Array {
  const copy = Uint8Array.of(0xf0, length & 0xff, (length >> 8) & 0xff, length >> 16)
  return concatBytes(sized(baseSize), sized(length * times), ...Array(times).fill(copy))
}

function sized(size: number): Uint8Array {
  const bytes: number[] = []
  let rest = size
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Uint8Array.of(...bytes, rest)
}

function zeros(size: number): Uint8Array {
  return deflateSync(Buffer.alloc(size), { level: constants.Z_BEST_COMPRESSION })
}

const one = blob('one')
const tooLarge = 65 * mebibyte

describe('a pack whose frame is wrong', () => {
  test.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'ends too early'],
    ['less than a header', rawPack([]).subarray(0, 20), 'ends too early'],
    ['a page', withTrailer(Buffer.from('<!DOCTYPE html>')), 'does not start with PACK'],
    ['another version', rawPack([one]).fill(9, 7, 8), 'version'],
    [
      'a wrong trailer',
      Buffer.concat([rawPack([one]).subarray(0, -20), Buffer.alloc(20)]),
      'checksum',
    ],
    ['bytes after the trailer', Buffer.concat([rawPack([one]), Buffer.of(1)]), 'checksum'],
    ['bytes before the trailer', rawPack([one, Buffer.of(0, 0, 0)], 1), 'bytes follow'],
    ['fewer entries than declared', rawPack([one, one], 3), 'more entries than|fewer entries'],
    ['more entries than declared', rawPack([one, blob('two')], 1), 'bytes follow'],
    ['four billion entries', rawPack([one], 2 ** 32 - 1), 'more objects than allowed'],
    ['a million entries in no room', rawPack([one], 1_000_000), 'more entries than'],
  ])('%s', (_, pack, problem) => expectRefused(pack, new RegExp(problem)))

  test('every truncation of a pack', async () => {
    const pack = rawPack([one, deltaOnOffset(copies(3, 3, 2), one.length)])
    const { store, packs } = await emptyStore()
    for (let length = 0; length < pack.length; length += 1) {
      const attempt = receivePack(store.exchange, inChunks(pack.subarray(0, length), 1000))
      await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    }
    expect(readdirSync(packs)).toEqual([])
    await store.close()
  })
})

describe('a pack with an entry that is wrong', () => {
  test.each<[string, readonly Uint8Array[], string]>([
    ['type zero', [concatBytes(Uint8Array.of(0x03), zeros(3))], 'unknown type'],
    ['type five', [concatBytes(Uint8Array.of(0x53), zeros(3))], 'unknown type'],
    ['a tag', [whole('tag', 3, zeros(3))], 'tag'],
    ['a size that does not end', [new Uint8Array(40).fill(0xff)], 'larger than|does not end'],
    ['a size above every object', [whole('blob', tooLarge, zeros(9))], 'larger than any'],
    ['more data than declared', [whole('blob', 2, zeros(mebibyte))], 'does not inflate'],
    ['less data than declared', [whole('blob', 200, zeros(100))], 'shorter than it declares'],
    ['data that is no zlib stream', [whole('blob', 9, noise('x', 30))], 'does not inflate'],
    [
      'a stream that is cut off',
      [whole('blob', 900, zeros(900).subarray(0, 9))],
      'too early|inflate',
    ],
    ['an object twice', [one, one], 'twice'],
    ['an object whole and as a delta', [one, deltaOnOffset(copies(3, 3, 1), one.length)], 'twice'],
  ])('%s', (_, entries, problem) => expectRefused(rawPack(entries), new RegExp(problem)))
})

describe('a pack with a delta that is wrong', () => {
  const good = copies(3, 3, 2)
  test.each<[string, readonly Uint8Array[], string]>([
    ['before the start of the pack', [one, deltaOnOffset(good, 1000)], 'no base'],
    ['on the header of the pack', [one, deltaOnOffset(good, one.length + 12)], 'no base'],
    ['in the middle of an entry', [one, deltaOnOffset(good, one.length - 2)], 'no base'],
    ['on itself', [one, deltaOnOffset(good, 0)], 'no base'],
    ['an absurd distance', [one, Buffer.from('6f' + 'ff'.repeat(12) + '7f', 'hex')], 'absurd|base'],
    [
      'on an object that is elsewhere',
      [deltaOnOid(good, blobOid('one'))],
      'base of a delta is not',
    ],
    [
      'in a circle',
      [deltaOnOid(good, 'b'.repeat(40)), deltaOnOid(good, 'a'.repeat(40))],
      'base of a delta is not',
    ],
    [
      'for a base of another size',
      [one, deltaOnOffset(copies(4, 3, 1), one.length)],
      'another size',
    ],
    ['reading past its base', [one, deltaOnOffset(copies(3, 4, 1), one.length)], 'past its source'],
    ['overfilling', [one, deltaOnOffset(Uint8Array.of(3, 2, 0x90, 3), one.length)], 'overfills'],
    ['underfilling', [one, deltaOnOffset(Uint8Array.of(3, 9, 0x90, 3), one.length)], 'not fill'],
    [
      'the reserved instruction',
      [one, deltaOnOffset(Uint8Array.of(3, 1, 0), one.length)],
      'reserved',
    ],
    ['an empty one', [one, deltaOnOffset(new Uint8Array(0), one.length)], 'inside its header'],
    [
      'an object above every size',
      [one, deltaOnOffset(concatBytes(sized(3), sized(tooLarge)), one.length)],
      'above the size limit|too large',
    ],
  ])('%s', (_, entries, problem) => expectRefused(rawPack(entries), new RegExp(problem)))

  test('a chain that no reader would follow', { tags: 'slow' }, async () => {
    const entries = [blob('0'.repeat(40))]
    let before = entries[0]?.length ?? 0
    for (let n = 1; n <= 5000; n += 1) {
      const text = String(n).padStart(40, '0')
      const delta = concatBytes(Uint8Array.of(40, 40, 40), Buffer.from(text))
      const entry = deltaOnOffset(delta, before)
      entries.push(entry)
      before = entry.length
    }
    await expectRefused(rawPack(entries), 'more work than any history')
    const { store } = await emptyStore()
    await receivePack(store.exchange, inChunks(rawPack(entries.slice(0, 500)), 1000))
    expect(store.read(blobOid('499'.padStart(40, '0')))?.type).toBe('blob')
    await store.close()
  })
})

describe('a bomb', () => {
  test('of entries that take more work than the pack may', { tags: 'slow' }, () => {
    const entries = Array.from({ length: 9 }, (_, n) => {
      return whole('blob', 40 * mebibyte - n, zeros(40 * mebibyte - n))
    })
    return expectRefused(rawPack(entries), 'more work than any history')
  })

  test('of deltas that copy a base over and over', { tags: 'slow' }, () => {
    const size = 60_000
    const base = whole('blob', size, zeros(size))
    const entries = [base]
    let distance = base.length
    for (let n = 0; n < 20; n += 1) {
      const delta = deltaOnOffset(copies(size, size, 500 + n), distance)
      entries.push(delta)
      distance += delta.length
    }
    return expectRefused(rawPack(entries), 'more work than any history')
  })

  test('of a chain that grows with each delta', { tags: 'slow' }, () => {
    const entries = [whole('blob', 60_000, zeros(60_000))]
    let [size, before] = [60_000, entries[0]?.length ?? 0]
    for (let n = 0; n < 200; n += 1) {
      const delta = concatBytes(sized(size), sized(size + 60_000))
      const copy = concatBytes(delta, ...copyAll(size), Uint8Array.of(0xb0, 0x60, 0xea))
      const entry = deltaOnOffset(copy, before)
      entries.push(entry)
      before = entry.length
      size += 60_000
    }
    return expectRefused(rawPack(entries), 'too large|more work than any history')
  })

  test('larger than the caller allows', async () => {
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield encodePackHeader(10)
      for (;;) {
        sent += 65_536
        yield new Uint8Array(65_536)
      }
    }
    const { store, packs } = await emptyStore()
    const limits = { bytes: mebibyte }
    const attempt = receivePack(store.exchange, endless(), { limits })
    await expect(attempt).rejects.toMatchObject({ code: 'pack_refused' })
    expect(sent).toBeLessThan(2 * mebibyte)
    expect(readdirSync(packs)).toEqual([])
    await store.close()
  })

  test('of more objects than the caller allows, at its first bytes', () => {
    const limits = { objects: 1 }
    return expectRefused(encodePackHeader(2), 'more objects than allowed', { limits })
  })
})

function copyAll(size: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0; at < size; at += 60_000) {
    const length = Math.min(60_000, size - at)
    const start = [at & 0xff, (at >> 8) & 0xff, (at >> 16) & 0xff, at >>> 24]
    parts.push(Uint8Array.of(0xbf, ...start, length & 0xff, length >> 8))
  }
  return parts
}

describe('a pack with any byte changed', () => {
  const text = Buffer.from(noise('text', 300)).toString('base64')
  const base = blob(text)
  const entries = [
    base,
    deltaOnOffset(copies(400, 100, 3), base.length),
    whole('blob', 50, deflateSync(noise('stored', 50), { level: 0 })),
    deltaOnOid(copies(400, 200, 2), blobOid(text)),
  ]
  const body = rawPack(entries).subarray(0, -20)

  test(
    'is refused, or is one that stock git indexes to the same bytes',
    { tags: 'slow' },
    async () => {
      const { store, packs } = await emptyStore()
      const repository = temporaryDirectory()
      bareRepository(repository)
      mkdirSync(join(repository, 'out'))
      const change = fc.record({ at: fc.nat(body.length - 1), to: fc.nat(255) })
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
          const changed = Buffer.from(body)
          for (const { at, to } of changes) changed[at] = to
          const pack = withTrailer(changed)
          const known = new Set(readdirSync(packs))
          try {
            await receivePack(store.exchange, inChunks(pack, 1000))
          } catch (error) {
            expect(hasCode(error, 'pack_refused')).toBe(true)
            expect(readdirSync(packs)).toEqual([...known])
            return
          }
          const name = `pack-${pack.subarray(-20).toString('hex')}`
          const theirs = indexByGit(repository, pack)
          expect(equalBytes(readFileSync(join(packs, `${name}.idx`)), theirs)).toBe(true)
        }),
        { seed, numRuns: full ? 20_000 : 200 },
      )
      await store.close()
    },
  )
})

function indexByGit(repository: string, pack: Uint8Array): Uint8Array {
  const path = join(repository, 'out', 'some.pack')
  writeFileSync(path, pack)
  const index = join(repository, 'out', 'some.idx')
  const how = { cwd: repository, env: cleanEnvironment(), encoding: 'utf8' } as const
  const { status, stderr } = spawnSync('git', ['index-pack', '-o', index, path], how)
  expect(`${status} ${stderr}`).toBe('0 ')
  return readFileSync(index)
}

test('a size that takes more groups than a number holds is refused', () => {
  const header = encodeEntryHeader('blob', 3)
  const padded = concatBytes(Uint8Array.of((header[0] ?? 0) | 0x80), new Uint8Array(40).fill(0x80))
  return expectRefused(rawPack([padded]), 'does not end|no known|larger')
})
