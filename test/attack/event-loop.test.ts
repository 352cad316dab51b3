// T35, T36: what a host without a key sends holds up nothing else in this process: the work before
// the first valid signature gives way, or ends at a bound. Counted in turns of the event loop, with
// a clock that only the work moves.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { asciiBytes, asciiText, concatBytes } from '../../src/bytes.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { StoreError } from '../../src/errors.ts'
import { encodeCommit, parseCommit } from '../../src/format/commit.ts'
import type { ReceivedPack } from '../../src/git/exchange.ts'
import type { GitObject } from '../../src/git/objects/object.ts'
import { PackSet } from '../../src/git/pack/pack-set.ts'
import { writePack } from '../../src/git/pack/pack-writer.ts'
import { KIBIBYTE, MEBIBYTE } from '../../src/limits.ts'
import { readHeadKeyring } from '../../src/store/access/authority.ts'
import { readForeignStoreId } from '../../src/store/clone/clone-remote.ts'
import { verifyDecodedCommit } from '../../src/store/commits/decoded-commit.ts'
import type { ObjectSource } from '../../src/store/snapshot/git-reads.ts'
import { connectFetch } from '../../src/transport/fetch.ts'
import { firstBand, PacketReader } from '../../src/transport/pkt-line.ts'
import { Endurance } from '../../src/transport/stall.ts'
import { readRefs, wholeBody } from '../../src/transport/wire.ts'
import { advertisement, band, on, packet, result, startGitServer } from '../support/git-server.ts'
import { noise, object } from '../support/pack-fixtures.ts'
import { standardHistory } from '../support/standard-forge.ts'
import { temporaryDirectory } from '../support/temporary.ts'

/** Each look at the clock takes a millisecond. */
function slowClock(): void {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1))
}

afterEach(() => vi.restoreAllMocks())

/** How often other work could run in the meantime. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    await work()
    return turns
  } finally {
    isOver = true
  }
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let pieces = 0
  for await (const chunk of chunks) pieces += chunk.length > 0 ? 1 : 0
  return pieces
}

const tip = '1'.repeat(40)
const flush = Buffer.from('0000')
const copies = (bytes: Buffer, times: number): Buffer => Buffer.alloc(times * bytes.length, bytes)

describe('T36: packets without end in one chunk', () => {
  beforeEach(slowClock)

  function read(packets: PacketReader): AsyncGenerator<Uint8Array> {
    const endurance = new Endurance(1e9, undefined)
    const fail = (text: string): StoreError => new StoreError('remote_protocol', text)
    return firstBand(packets, { onText: () => undefined, fail, endurance })
  }

  test('give way to other work', { tags: 'slow' }, async () => {
    const packets = new PacketReader(wholeBody(copies(packet('NAK\n'), 10_000)))
    const turns = await turnsDuring(async () => {
      while ((await packets.read()) !== undefined);
    })
    expect(turns).toBeGreaterThan(500)
  })

  test('can be cancelled in between', async () => {
    const cancelling = new AbortController()
    const packets = new PacketReader(wholeBody(copies(flush, 10_000)), cancelling.signal)
    setImmediate(() => cancelling.abort())
    let count = 0
    const reading = async (): Promise<void> => {
      while ((await packets.read()) !== undefined) count += 1
    }
    await expect(reading()).rejects.toMatchObject({ code: 'cancelled' })
    expect(count).toBeLessThan(100)
  })

  test('of one byte of data each are passed on together', { tags: 'slow' }, async () => {
    const body = Buffer.concat([copies(band(1, 'x'), 60_000), flush])
    expect(await drain(read(new PacketReader(wholeBody(body))))).toBe(1)
  })

  test('of one byte of data each end', { tags: 'slow' }, async () => {
    const packets = new PacketReader(wholeBody(copies(band(1, 'x'), 100_000)))
    const error: unknown = await drain(read(packets)).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'remote_protocol', message: /tiny packets/ })
  })

  test('of much data do not', { tags: 'slow' }, async () => {
    const body = Buffer.concat([copies(band(1, 'x'.repeat(64)), 100_000), flush])
    expect(await drain(read(new PacketReader(wholeBody(body))))).toBeGreaterThan(50)
  })
})

describe('T36: a list of refs', () => {
  const service = packet('# service=git-upload-pack\n')
  const head = packet(`${tip} HEAD\0side-band-64k ofs-delta\n`)
  const listOf = (count: number, long = ''): Buffer => {
    const refs = Array.from({ length: count }, (_, n) => packet(`${tip} refs/tags/${long}${n}\n`))
    return Buffer.concat([service, flush, head, ...refs, flush])
  }
  const type = 'application/x-git-upload-pack-advertisement'

  test('below the limit gives way while it is read', async () => {
    slowClock()
    const packets = new PacketReader(wholeBody(listOf(10_000).subarray(service.length + 4)))
    const turns = await turnsDuring(async () => {
      expect(await readRefs(packets, [])).toMatchObject({ others: 10_000 })
    })
    expect(turns).toBeGreaterThan(500)
  })

  test.each([
    [10_000, '', 10_000],
    [30_000, '', 30_000],
    [9000, 'x'.repeat(4000), 'remote_protocol'],
  ])('of %i is read, or refused at 32 MiB', async (count, long, outcome) => {
    const list = listOf(count, long)
    expect(list.length > 32 * MEBIBYTE).toBe(outcome !== count)
    const { url } = await startGitServer({
      repository: temporaryDirectory(),
      fault: on(advertisement, (response) => {
        response.writeHead(200, { 'content-type': type })
        response.end(list)
      }),
    })
    const found = connectFetch({ url }).then(
      async (connection) => {
        await connection.close()
        return connection.refs.others
      },
      (error: unknown) => (error instanceof StoreError ? error.code : error),
    )
    expect(await found).toBe(outcome)
  })

  test('may be followed by messages of many lines, which end', async () => {
    const lines = band(2, 'a\n'.repeat(30_000))
    const { url } = await startGitServer({
      repository: temporaryDirectory(),
      fault: (request, response) => {
        if (advertisement.test(`${request.method} ${request.url}`)) {
          response.writeHead(200, { 'content-type': type })
          response.end(listOf(0))
        } else result('git-upload-pack', packet('NAK\n'), copies(lines, 60))(response)
        return true
      },
    })
    let messages = 0
    const connection = await connectFetch({ url, onMessage: () => void (messages += 1) })
    const receive = async (chunks: AsyncIterable<Uint8Array>): Promise<ReceivedPack> => {
      return { objects: 0, bytes: await drain(chunks) }
    }
    const fetching = connection.fetch({ want: tip, haves: [], into: { receive } })
    await expect(fetching).rejects.toMatchObject({ code: 'remote_protocol' })
    await connection.close()
    expect(messages).toBeLessThanOrEqual(65_536)
  })
})

describe('T35: an object that is larger than its reader expects', () => {
  const tooLarge = new StoreError('object_corrupt', 'too large')
  const small = { bytes: 1000, refusal: () => tooLarge }

  test('is refused before it is inflated, also as a delta', async () => {
    const directory = temporaryDirectory()
    const base = object('tree', noise('base', 100 * KIBIBYTE))
    const delta = object('tree', Buffer.concat([base.body, Buffer.from('x')]), base.oid)
    const { name } = await writePack(systemDisk, directory, [base, delta])
    const path = join(directory, `${name}.pack`)
    const bytes = readFileSync(path)
    // Inflating it would fail.
    writeFileSync(path, bytes.fill(0xff, 100, 50 * KIBIBYTE), { flag: 'r+' })
    const packs = new PackSet(systemDisk, directory)
    packs.rescan()
    for (const { oid } of [base, delta]) {
      expect(() => packs.read(oid)).toThrow(expect.objectContaining({ code: 'pack_corrupt' }))
      expect(() => packs.read(oid, small)).toThrow(tooLarge)
    }
    packs.close()
  })

  test('is refused if a delta makes it of a small base', async () => {
    const directory = temporaryDirectory()
    const base = object('tree', noise('base', 600))
    const delta = object('tree', concatBytes(base.body, noise('more', 500)), base.oid)
    await writePack(systemDisk, directory, [base, delta])
    const packs = new PackSet(systemDisk, directory)
    packs.rescan()
    expect(() => packs.read(delta.oid, small)).toThrow(tooLarge)
    packs.close()
  })

  test('is not among the first objects read from a head', async () => {
    const { forge } = await standardHistory()
    const limits: number[] = []
    const objects: ObjectSource = {
      read(oid, limit) {
        limits.push(limit?.bytes ?? Number.POSITIVE_INFINITY)
        return forge.objects.get(oid)
      },
    }
    expect(readForeignStoreId(objects, forge.head)).toBe(forge.storeId)
    readHeadKeyring(objects, forge.head)
    expect(limits.toSorted((a, b) => a - b)).toEqual([
      4096,
      4096,
      4096,
      4 * MEBIBYTE,
      32 * MEBIBYTE,
      32 * MEBIBYTE,
    ])
  })
})

describe('T35: an unsigned commit', () => {
  interface Parts {
    readonly record: Uint8Array
    readonly detail: Uint8Array
  }

  /** The head of a store, with other parts under its signature. */
  async function changed(change: (parts: Parts) => Parts): Promise<() => unknown> {
    const { forge } = await standardHistory()
    const bytes = forge.objects.get(forge.head)?.body ?? new Uint8Array()
    const { detail = new Uint8Array(), ...parts } = parseCommit(bytes)
    const made = encodeCommit({ ...parts, ...change({ ...parts, detail }) }, forge.epoch.group)
    return () => verifyDecodedCommit(forge.storeId, forge.epochs, forge.head, made)
  }

  const tooLarge = expect.objectContaining({ code: 'commit_too_large' })
  const junk = new Uint8Array(2 * MEBIBYTE)

  test('is refused by the size of its record before that is decoded', async () => {
    const record = (bytes: Uint8Array): Uint8Array => concatBytes(bytes.subarray(0, 80), junk)
    const verify = await changed((parts) => ({ ...parts, record: record(parts.record) }))
    expect(verify).toThrow(tooLarge)
  })

  test('is refused by the size of its detail, which follows from the rows', async () => {
    const verify = await changed((parts) => ({ ...parts, detail: concatBytes(parts.detail, junk) }))
    expect(verify).toThrow(tooLarge)
  })

  test('has nothing decoded to learn of which store it is', async () => {
    const { forge } = await standardHistory()
    const text = asciiText(forge.objects.get(forge.head)?.body ?? new Uint8Array())
    const begin = '-----BEGIN GITLOCKET RECORD-----\n'
    const body = asciiBytes(`${text.slice(0, text.indexOf(begin))}${begin}${'?'.repeat(1000)}`)
    const read = (oid: string): GitObject | undefined => {
      return oid === forge.head ? { type: 'commit', body } : forge.objects.get(oid)
    }
    expect(readForeignStoreId({ read }, forge.head)).toBe(forge.storeId)
  })
})
