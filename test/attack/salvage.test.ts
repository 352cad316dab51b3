// T34: an attacker who provides a copy to repair from, or a remote at a path, chooses the bytes
// that are searched for readable objects. The search ends in proportion to their size, lets other
// work run, and can be cancelled.
// @module-tag slow

import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { gitHash } from '../../src/crypto/sha1.ts'
import type { Disk } from '../../src/disk/disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { salvageJournal } from '../../src/git/journal/journal-survey.ts'
import { deflate } from '../../src/git/pack/pack-entry.ts'
import { inspectPack } from '../../src/git/pack/pack-inspection.ts'
import { salvagePack } from '../../src/git/pack/pack-salvage.ts'
import { createStore, generateIdentity } from '../../src/index.ts'
import { KIBIBYTE, MEBIBYTE, packWorkBytesMin } from '../../src/limits.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import { atOnce, inSlices } from '../../src/time-slice.ts'
import { chain, packOf } from '../support/hostile-packs.ts'
import { deltaOnOid, rawPack, whole } from '../support/raw-pack.ts'
import { temporaryDirectory } from '../support/temporary.ts'

// The sources hash while they are imported.
const count = vi.hoisted(() => ({ hashed: 0 }))
vi.mock(import('../../src/crypto/sha1.ts'), async (original) => {
  const sha1 = await original()
  return {
    ...sha1,
    gitHash: (type: string, body: Uint8Array): string => {
      count.hashed += body.length
      return sha1.gitHash(type, body)
    },
  }
})

beforeEach(() => {
  count.hashed = 0
})

function planted(pack: Uint8Array, directory: string = temporaryDirectory()): string {
  writeFileSync(join(directory, 'pack-1.pack'), pack)
  return directory
}

/** Deltas on the oid of the one before, the last one first, as no git program orders them. */
function reversedChain(length: number): Uint8Array {
  const bodies = Array.from({ length: length + 1 }, (_, n) => Buffer.from(String(n).padStart(8)))
  const deltas = bodies.slice(1).map((body, n) => {
    const delta = Buffer.concat([Uint8Array.of(8, 8, 8), body])
    return deltaOnOid(delta, gitHash('blob', bodies[n] ?? body))
  })
  const first = bodies[0] ?? Buffer.alloc(0)
  return rawPack([whole('blob', 8, deflate(first, 0)), ...deltas.toReversed()])
}

/** At every second byte, the header of an object of 65,537 bytes. */
function headersOf(size: number): Uint8Array {
  return new Uint8Array(size).map((_, at) => at % 2)
}

describe('T34: a pack that is dear to search', () => {
  test('of bytes that never end a number takes no scan for each of them', () => {
    const bytes = new Uint8Array(64 * KIBIBYTE).fill(0xff)
    const began = performance.now()
    atOnce(salvagePack(systemDisk, planted(bytes), 'pack-1'))?.close()
    // It takes some ms; before, it took half a minute.
    expect(performance.now() - began).toBeLessThan(5000)
  })

  test('of deltas in reverse order is read once, and all of it is found', () => {
    let reads = 0
    const disk: Disk = {
      ...systemDisk,
      read(fd, into, position) {
        reads += 1
        return systemDisk.read(fd, into, position)
      },
    }
    const pack = atOnce(salvagePack(disk, planted(reversedChain(300)), 'pack-1'))
    expect(pack?.index.count).toBe(301)
    expect(reads).toBeLessThan(2000)
    pack?.close()
  })

  test('of one chain of deltas ends at its budget, and keeps the objects found so far', () => {
    const directory = planted(packOf(chain(3000, 30_000)).subarray(0, -20))
    const pack = atOnce(salvagePack(systemDisk, directory, 'pack-1'))
    expect(pack?.index.count).toBeGreaterThan(30)
    // Each counts for all that are read to reach it; all of them would be 86 MiB.
    expect(count.hashed).toBeLessThan(32 * MEBIBYTE)
    pack?.close()
  })

  test('can be cancelled, and so can the check of it', async () => {
    // From the start: a fast machine needs little more than the time after which it is looked.
    const directory = planted(packOf(chain(3000, 30_000)))
    const searched = inSlices(salvagePack(systemDisk, directory, 'pack-1'), AbortSignal.abort())
    await expect(searched).rejects.toMatchObject({ code: 'cancelled' })
    const checked = inSlices(inspectPack(systemDisk, directory, 'pack-1'), AbortSignal.abort())
    await expect(checked).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('T34: a journal of headers that overlap', () => {
  test('has no more hashed than its budget', () => {
    const path = join(temporaryDirectory(), 'journal-a')
    writeFileSync(path, headersOf(160 * KIBIBYTE))
    expect(atOnce(salvageJournal(systemDisk, path)).objects.size).toBe(0)
    expect(count.hashed).toBeGreaterThan(MEBIBYTE)
    expect(count.hashed).toBeLessThan(packWorkBytesMin + MEBIBYTE)
  })

  test('cancels a repair from the copy with it', async () => {
    const folder = temporaryDirectory()
    const identity = await generateIdentity()
    const site = { directory: `${folder}/store`, stateDirectory: `${folder}/state`, identity }
    const { store } = await createStore(site)
    await store.close()
    const copy = `${folder}/copy`
    cpSync(site.directory, copy, { recursive: true })
    mkdirSync(`${copy}/gitlocket`, { recursive: true })
    writeFileSync(`${copy}/gitlocket/journal-a`, headersOf(32 * MEBIBYTE))
    const cancelling = new AbortController()
    const repaired = repairStore({ ...site, from: copy, signal: cancelling.signal })
    const began = setInterval(() => {
      if (count.hashed > MEBIBYTE) cancelling.abort()
    }, 1)
    await expect(repaired).rejects.toMatchObject({ code: 'cancelled' })
    clearInterval(began)
    expect(count.hashed).toBeLessThan(packWorkBytesMin)
  })
})
