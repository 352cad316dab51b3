// T22: a large pack is checked in a thread once it is received. No matter why it is refused, no
// file remains.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ReceiveOptions } from '../../src/git/exchange.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { deflate } from '../../src/git/pack/pack-entry.ts'
import { noise } from '../support/pack-fixtures.ts'
import { blob, blobOid, deltaOnOid, inChunks, rawPack, whole } from '../support/raw-pack.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'

const mebibyte = 1024 * 1024
const chunkBytes = 64 * 1024

interface Place {
  readonly directory: string
  readonly store: ObjectStore
}

async function emptyStore(): Promise<Place> {
  const directory = join(temporaryDirectory(), 's')
  return { directory, store: await createDiskObjectStore({ directory }) }
}

const fillers = Array.from({ length: 96 }, (_, n) => {
  const body = noise('filler', 32 * 1024)
  body.fill(n, 0, 9)
  return whole('blob', body.length, deflate(body, 0))
})

/** Valid entries of 32 KiB each, in all the given number of mebibytes, at most three. */
function filler(mebibytes: number): Uint8Array[] {
  return fillers.slice(0, mebibytes * 32)
}

/** What a slow remote sends. */
async function* slowly(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for await (const chunk of inChunks(bytes, chunkBytes)) {
    yield chunk
    await pause(1)
  }
}

/** The remaining packs, unfinished files, and threads that hold them open. */
function expectNothingLeft({ directory }: Place): void {
  expect(readdirSync(join(directory, 'objects/pack'))).toEqual([])
  const incoming = join(directory, 'gitlocket/incoming')
  expect(existsSync(incoming) ? readdirSync(incoming) : []).toEqual([])
}

async function expectEnd(
  chunks: AsyncIterable<Uint8Array>,
  failure: { readonly code: string; readonly message?: unknown },
  options: ReceiveOptions = {},
): Promise<void> {
  const place = await emptyStore()
  const attempt = receivePack(place.store.exchange, chunks, options)
  await expect(attempt).rejects.toMatchObject(failure)
  expectNothingLeft(place)
  const sound = rawPack([blob('sound')])
  await receivePack(place.store.exchange, inChunks(sound, 99))
  expect(place.store.read(blobOid('sound'))?.type).toBe('blob')
  await place.store.close()
}

/** Fits on `blob(base)`: declares that it makes 2 GiB. */
function bomb(base: string): Uint8Array {
  return deltaOnOid(Uint8Array.of(base.length, 0x80, 0x80, 0x80, 0x80, 0x08), blobOid(base))
}

function withWrongSum(pack: Buffer): Buffer {
  pack[pack.length - 1] = (pack[pack.length - 1] ?? 0) ^ 1
  return pack
}

const refusals: readonly (readonly [string, () => Uint8Array, string | RegExp])[] = [
  ['has an object twice', () => rawPack([...filler(2), blob('a'), blob('a')]), /twice/],
  ['lacks a base', () => rawPack([...filler(2), bomb('none')]), /base of a delta/],
  ['explodes', () => rawPack([...filler(2), blob('a'), bomb('a')]), /too large/],
  ['has fewer entries than it says', () => rawPack(filler(2), 70), /fewer entries/],
  ['has more entries than it says', () => rawPack(filler(2), 50), /bytes follow/],
  ['has room for fewer than it says', () => rawPack(filler(2), 4_000_000), /room/],
  ['is cut short', () => rawPack(filler(3)).subarray(0, 2 * mebibyte + 7), /checksum|ends/],
  ['ends with a wrong sum', () => withWrongSum(rawPack(filler(2))), /checksum/],
]

describe('a large pack', { tags: 'slow' }, () => {
  test.each([
    ['at once', (bytes: Uint8Array) => inChunks(bytes, chunkBytes)],
    ['slowly', slowly],
  ])('is received %s', async (_, send) => {
    const { store } = await emptyStore()
    const pack = rawPack([...filler(3), blob('last')])
    const progress: number[] = []
    const received = await receivePack(store.exchange, send(pack), {
      progress: (done) => progress.push(done),
    })
    expect(received).toEqual({ objects: 97, bytes: pack.length })
    expect(store.read(blobOid('last'))?.body).toHaveLength(4)
    await store.close()
  })

  test('is received next to another one', async () => {
    const { store } = await emptyStore()
    const packs = ['one', 'two', 'three'].map((name) => rawPack([...filler(2), blob(name)]))
    await Promise.all(packs.map((pack) => receivePack(store.exchange, slowly(pack))))
    for (const name of ['one', 'two', 'three']) expect(store.read(blobOid(name))?.type).toBe('blob')
    await store.close()
  })

  test.each(refusals)('is refused if it %s', async (_, make, problem) => {
    const failure = { code: 'pack_refused', message: expect.stringMatching(problem) }
    await expectEnd(slowly(make()), failure)
  })

  test('leaves nothing if the connection ends', async () => {
    const lost = new StoreError('remote_unreachable', 'The connection was cut off')
    async function* cut(): AsyncGenerator<Uint8Array> {
      for await (const chunk of slowly(rawPack(filler(2)).subarray(0, 1.5 * mebibyte))) yield chunk
      throw lost
    }
    await expectEnd(cut(), { code: 'remote_unreachable' })
  })

  test('leaves nothing if the caller cancels', async () => {
    const controller = new AbortController()
    async function* cancelling(): AsyncGenerator<Uint8Array> {
      for await (const chunk of slowly(rawPack(filler(2)).subarray(0, 1.5 * mebibyte))) yield chunk
      controller.abort()
      yield* slowly(rawPack(filler(2)))
    }
    await expectEnd(cancelling(), { code: 'cancelled' }, { signal: controller.signal })
  })
})
