// T34: the copy from which a damaged store is repaired is untrusted. It is verified like a remote:
// what does not verify, is older than what this device knows, or is of another store is not taken
// over. FORMAT §8, §9.

import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type Identity, openStore } from '../../src/index.ts'
import { repairStore } from '../../src/store/repair/repair.ts'
import type { RepairReport } from '../../src/store/repair/report.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import { nextRow, standardHistory } from '../support/standard-forge.ts'
import { contentsOf } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

interface Site {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

const honest = { '/a.md': 'alpha, again\n', '/dir/b.md': 'beta\n' }
let forge: Forge
let reader: Identity
beforeAll(async () => {
  ;({ forge, reader } = await standardHistory('repair copy'))
})

/** The founder has seen the honest history; then every pack is lost. */
async function damagedSite(history: Forge = forge): Promise<Site> {
  const root = temporaryDirectory()
  const site = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  await writeForged(history, site.directory)
  const store = await openStore({ ...site, identity: forge.founder })
  expect(await contentsOf(store)).toMatchObject({ '/dir/b.md': 'beta\n' })
  await store.close()
  for (const name of packsOf(site.directory)) truncateSync(name, 40)
  return { ...site, identity: forge.founder }
}

function packsOf(directory: string): readonly string[] {
  const packs = join(directory, 'objects/pack')
  return readdirSync(packs).flatMap((name) => (name.endsWith('.pack') ? join(packs, name) : []))
}

async function copyOf(history: Forge): Promise<string> {
  const directory = join(temporaryDirectory(), 'copy')
  await writeForged(history, directory)
  return directory
}

async function repairFrom(site: Site, from: string): Promise<RepairReport | string> {
  let report: RepairReport | undefined
  const verdict = await verdictOf(async () => {
    report = await repairStore({ ...site, from })
  })
  return report ?? verdict
}

function opened(site: Site): Promise<string> {
  return verdictOf(async () => (await openStore(site)).close())
}

test('T34: an honest copy mends the store', async () => {
  const site = await damagedSite()
  expect(await repairFrom(site, await copyOf(forge))).toMatchObject({ whole: true, anchor: 'kept' })
  const store = await openStore(site)
  expect(await contentsOf(store)).toEqual(honest)
  await store.close()
})

test('T34: a change on top that no member wrote is not adopted', async () => {
  const forged = forge.fork()
  forged.change([{ ...nextRow, content: 'forged\n' }], { author: reader })
  const site = await damagedSite()
  const report = await repairFrom(site, await copyOf(forged))
  expect(report).toMatchObject({ whole: true, anchor: 'kept', head: { commit: forge.head } })
  const store = await openStore(site)
  await store.maintenance.verify()
  expect(await contentsOf(store)).toEqual(honest)
  await store.close()
})

test('T34: an older copy is not accepted as the whole history', async () => {
  const newer = forge.fork()
  newer.change([nextRow])
  const site = await damagedSite(newer)
  const report = await repairFrom(site, await copyOf(forge))
  expect(report).toMatchObject({
    whole: false,
    anchor: 'behind',
    detached: [{ commit: newer.head }],
  })
  expect(await opened(site)).toBe('rolled_back')
})

test('T34: a copy of another store is refused', async () => {
  const { forge: other } = await standardHistory('another store')
  const site = await damagedSite()
  const report = await repairFrom(site, await copyOf(other))
  expect(report).toBe('object_missing')
  expect(await opened(site)).toBe('object_missing')
})

test(
  'T34: objects of a copy that do not match their ids are not used',
  { tags: 'slow' },
  async () => {
    const site = await damagedSite()
    const copy = await copyOf(forge)
    for (const name of packsOf(copy)) {
      const bytes = readFileSync(name)
      for (let at = 200; at < bytes.length - 40; at += 600) bytes[at] = (bytes[at] ?? 0) ^ 0x10
      rmSync(name)
      writeFileSync(name, bytes)
    }
    const report = await repairFrom(site, copy)
    expect(report).toBe('object_missing')
    expect(await opened(site)).toBe('object_missing')
  },
)
