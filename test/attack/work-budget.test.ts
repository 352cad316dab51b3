// T35: before a valid signature of a member was found, a stranger without a key cannot make a store
// work out of proportion to the bytes sent: packs end at a budget of bytes, and unsigned commits
// are not walked through. Counted, never timed.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unwatched, type WorkWatch } from '../../src/async.ts'
import { gitHash } from '../../src/crypto/sha1.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { checkPack } from '../../src/git/pack/pack-resolve.ts'
import { writePack } from '../../src/git/pack/pack-writer.ts'
import { WorkBudget } from '../../src/git/pack/work-budget.ts'
import { KIBIBYTE, MEBIBYTE, packWorkBytesMin, packWorkMax } from '../../src/limits.ts'
import { findNewCommits } from '../../src/store/verify/new-commits.ts'
import { atOnce } from '../../src/time-slice.ts'
import { chain, copies, fan, type HostileEntry, inRam, packOf } from '../support/hostile-packs.ts'
import { history, noise } from '../support/pack-fixtures.ts'
import { inChunks } from '../support/raw-pack.ts'
import { standardHistory } from '../support/standard-forge.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'

interface Outcome {
  readonly sent: number
  readonly spent: number
  readonly problem: string
}

function check(entries: readonly HostileEntry[], watch: WorkWatch = unwatched): Outcome {
  const pack = packOf(entries)
  const budget = new WorkBudget(pack.length, watch)
  let problem = ''
  try {
    atOnce(checkPack(inRam(pack), { watch, budget }))
  } catch (error) {
    problem = String(error)
  }
  return { sent: pack.length, spent: budget.spent, problem }
}

describe('T35: a pack that is dear to check', () => {
  test('of copies of one object with deltas on it ends at the second copy', () => {
    const { sent, spent, problem } = check(copies(5000, 5000, 8))
    expect(problem).toMatch('an object twice')
    expect(sent).toBeGreaterThan(100 * KIBIBYTE)
    expect(spent).toBeLessThan(8 * KIBIBYTE)
  })

  test('of copies that deltas make ends at the first', () => {
    const [base, ...deltas] = fan(300, 8)
    const same = deltas.map(() => deltas[0]).filter((entry) => entry !== undefined)
    const { spent, problem } = check(base === undefined ? [] : [base, ...same])
    expect(problem).toMatch('an object twice')
    expect(spent).toBeLessThan(MEBIBYTE)
  })

  test('of commits in one chain of deltas ends at its budget', { tags: 'slow' }, () => {
    const { sent, spent, problem } = check(chain(3000, 30_000))
    expect(problem).toMatch('more work than any history')
    expect(sent).toBeLessThan(200 * KIBIBYTE)
    expect(spent).toBeLessThan(packWorkBytesMin + MEBIBYTE * 64)
  })

  test('of an honest history is far below its budget', async () => {
    const directory = temporaryDirectory()
    const { name } = await writePack(systemDisk, directory, history(200).objects)
    const pack = readFileSync(join(directory, `${name}.pack`))
    const budget = new WorkBudget(pack.length, unwatched)
    const { objects } = atOnce(checkPack(inRam(pack), { watch: unwatched, budget }))
    expect(objects).toBeGreaterThan(600)
    expect(budget.spent).toBeLessThan((pack.length * packWorkMax) / 3)
  })

  test('ends within a mebibyte of work after it is cancelled', () => {
    const watch = { isCancelled: () => true, progress: () => undefined }
    const { spent, problem } = check(chain(600, 30_000), watch)
    expect(problem).toMatch('cancelled')
    expect(spent).toBeLessThan(4 * MEBIBYTE)
  })

  test('keeps nothing if it is cancelled in its thread', { tags: 'slow' }, async () => {
    const directory = join(temporaryDirectory(), 's')
    const store = await createDiskObjectStore({ directory })
    const cancelling = new AbortController()
    const body = noise('large', 200 * KIBIBYTE)
    const pack = packOf([{ type: 'blob', body }, ...chain(500, 8000)])
    const how = { signal: cancelling.signal, progress: () => cancelling.abort() }
    const received = receivePack(store.exchange, inChunks(pack, 65_000), how)
    setTimeout(() => cancelling.abort(), 1)
    await expect(received).rejects.toMatchObject({ code: 'cancelled' })
    expect(readdirSync(join(directory, 'objects/pack'))).toEqual([])
    await store.close()
  })
})

describe('T35: commits that no member signed', () => {
  test('are not walked through', async () => {
    const { forge } = await standardHistory()
    const { objects, storeId, epochs } = forge
    let reads = 0
    const read = (oid: string): ReturnType<typeof objects.get> => {
      reads += 1
      return objects.get(oid)
    }
    const source = { objects: { read }, storeId, epochs }
    const never = (): boolean => false
    const signed = forge.head
    const found = await findNewCommits(source, signed, never, -1)
    expect(reads).toBeGreaterThan(found?.oids.length ?? 0)
    const text = Buffer.from(objects.get(signed)?.body ?? []).toString('latin1')
    const body = Buffer.from(text.replace(/^tree .*$/m, `tree ${'a'.repeat(40)}`), 'latin1')
    const forged = gitHash('commit', body)
    objects.set(forged, { type: 'commit', body })
    reads = 0
    const walk = findNewCommits(source, forged, never, -1)
    await expect(walk).rejects.toMatchObject({ code: 'group_signature_invalid' })
    expect(reads).toBe(1)
  })
})
