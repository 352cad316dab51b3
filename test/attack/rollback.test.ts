// T14: a repository that is rolled back, or replaced by another, is noticed by every device that
// has seen a newer state, while it runs and when it starts; and no sequence number is ever used
// twice. FORMAT §8.1, §9.
// @module-tag slow

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Identity } from '../../src/keys/identity.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open.ts'
import { fields } from '../support/forge-fault.ts'
import { flipBit } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import {
  memory,
  nextRow,
  type Standard,
  standardHistory,
  version,
} from '../support/standard-forge.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const author = { actor: { type: 'user', id: 'me' } } as const
let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

interface Site {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

/** The standard history on disk, and where its founder keeps its state. */
async function newSite(forge: Forge = standard.forge): Promise<Site> {
  const root = temporaryDirectory()
  const site = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  await writeForged(forge, site.directory)
  return { ...site, identity: forge.founder }
}

/** Opens and closes, so that anchor and caches are written. */
async function visit(site: Site, more: { acceptRolledBack?: boolean } = {}): Promise<string> {
  return verdictOf(async () => {
    const store = await openStore({ ...site, ...more })
    await store.close()
  })
}

async function write(store: MemoryStore, path: string): Promise<void> {
  await store.as(author).apply([{ type: 'create', path, content: 'x' }])
}

function anchorPath({ stateDirectory }: Site): string {
  const [folder = ''] = readdirSync(stateDirectory)
  const [file = ''] = readdirSync(join(stateDirectory, folder))
  return join(stateDirectory, folder, file)
}

describe('T14: a repository that was rolled back is refused', () => {
  test.each<[name: string, caches: boolean]>([
    ['with its caches', true],
    ['without its caches', false],
  ])('rolled_back: %s', async (_, caches) => {
    const site = await newSite()
    expect(await visit(site)).toBe('accepted')
    copyDirectory(site.directory, `${site.directory}.backup`)
    const store = await openStore(site)
    await write(store, '/new.md')
    await store.close()
    rmSync(site.directory, { recursive: true })
    copyDirectory(`${site.directory}.backup`, site.directory)
    if (!caches) rmSync(join(site.directory, 'gitlocket'), { recursive: true })
    expect(await visit(site)).toBe('rolled_back')
  })

  test('rolled_back: another branch of the same length', async () => {
    const site = await newSite()
    const [one, other] = [standard.forge.fork(), standard.forge.fork()]
    one.change([nextRow])
    other.change([{ ...nextRow, content: 'another\n' }])
    await writeForged(one, site.directory)
    expect(await visit(site)).toBe('accepted')
    await writeForged(other, site.directory)
    expect(await visit(site)).toBe('rolled_back')
    other.change([{ ...nextRow, versionId: version.b2 }])
    await writeForged(other, site.directory)
    expect(await visit(site)).toBe('rolled_back')
  })

  test('rolled_back: under a store that is open, at the next read and the next write', async () => {
    const site = await newSite()
    const store = await openStore(site)
    await write(store, '/new.md')
    await store.maintenance.checkpoint()
    await writeForged(standard.forge, site.directory)
    expect(await verdictOf(() => store.read('/a.md'))).toBe('rolled_back')
    expect(await verdictOf(() => write(store, '/newer.md'))).toBe('rolled_back')
    await store.close()
  })

  test('wrong_key: another store in its place', async () => {
    const site = await newSite()
    expect(await visit(site)).toBe('accepted')
    const { forge: other } = await standardHistory('another')
    rmSync(site.directory, { recursive: true })
    await writeForged(other, site.directory)
    expect(await visit(site)).toBe('wrong_key')
  })

  test(
    'a backup that was accepted once continues with unused sequence numbers',
    { tags: 'slow' },
    async () => {
      const site = await newSite()
      expect(await visit(site)).toBe('accepted')
      copyDirectory(site.directory, `${site.directory}.backup`)
      const before = await openStore(site)
      await write(before, '/one.md')
      await write(before, '/two.md')
      await before.close()
      const used = await sequences(site)
      rmSync(site.directory, { recursive: true })
      copyDirectory(`${site.directory}.backup`, site.directory)
      expect(await visit(site, { acceptRolledBack: true })).toBe('accepted')
      const after = await openStore(site)
      await write(after, '/three.md')
      await after.close()
      const [newest = 0] = (await sequences(site)).toReversed()
      expect(newest).toBeGreaterThan(Math.max(...used))
      expect(await visit(site)).toBe('accepted')
    },
  )
})

/** The founder's sequence numbers in the history, by the reference decoder. */
async function sequences(site: Site): Promise<readonly number[]> {
  const { readStore } = await import('../support/reference/store.ts')
  const { formatIdentity } = await import('../../src/keys/identity.ts')
  const { commits } = readStore(site.directory, { identity: formatIdentity(site.identity) })
  return commits.map((commit) => commit.sequence)
}

describe('T14: an anchor that is not the one that was written is refused', () => {
  test.each<[name: string, change: (bytes: Uint8Array) => Uint8Array]>([
    ['nothing', () => new Uint8Array()],
    ['half of it', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['one bit of its text', flipBit(8 * 100)],
    ['one bit of its salt', flipBit(8 * 20)],
    ['one bit of its header', flipBit(8 * 5)],
    ['a byte more', (bytes) => Buffer.concat([bytes, new Uint8Array(1)])],
  ])('anchor_corrupt: %s', async (_, change) => {
    const site = await newSite()
    await visit(site)
    const path = anchorPath(site)
    writeFileSync(path, change(readFileSync(path)))
    expect(await visit(site)).toBe('anchor_corrupt')
  })

  test("anchor_corrupt: another store's", async () => {
    const site = await newSite()
    await visit(site)
    const { forge: other } = await standardHistory('another')
    const elsewhere = await newSite(other)
    await visit(elsewhere)
    writeFileSync(anchorPath(site), readFileSync(anchorPath(elsewhere)))
    expect(await visit(site)).toBe('anchor_corrupt')
  })

  test("anchor_corrupt: another device's", async () => {
    const site = await newSite()
    await visit(site)
    const other = {
      ...site,
      stateDirectory: `${site.stateDirectory}.writer`,
      identity: standard.writer,
    }
    await visit(other)
    writeFileSync(anchorPath(site), readFileSync(anchorPath(other)))
    expect(await visit(site)).toBe('anchor_corrupt')
  })

  test('anchor_corrupt: a cache of the same device', async () => {
    const site = await newSite()
    await visit(site)
    const [device = ''] = readdirSync(join(site.directory, 'gitlocket/cache'))
    const cache = readFileSync(join(site.directory, 'gitlocket/cache', device, 'state'))
    writeFileSync(anchorPath(site), cache)
    expect(await visit(site)).toBe('anchor_corrupt')
  })
})

describe('T14: an earlier verification exempts no new commit', () => {
  test.each<[code: string, name: string, forging: (forge: Forge) => void]>([
    [
      'row_base_mismatch',
      'a version of long ago as base',
      (forge) => forge.change([{ ...nextRow, base: version.a1 }]),
    ],
    [
      'redaction_undone',
      'a redaction without a rewritten history',
      (forge) => forge.redact([[memory.a, version.a1]]),
    ],
    ['detail_mismatch', 'a lying detail', (forge) => forge.change([nextRow], lie)],
    [
      'record_sequence',
      'a used sequence number',
      (f) => f.change([nextRow], fields({ sequence: 3 })),
    ],
    [
      'device_signature_invalid',
      'a forged record',
      (f) => f.change([nextRow], { author: { ...standard.writer, deviceId: f.founder.deviceId } }),
    ],
  ])('%s: %s, when it starts and while it runs', async (code, _, forging) => {
    const site = await newSite()
    const open = await openStore(site)
    expect(await visit(site)).toBe('accepted')
    const forge = standard.forge.fork()
    forging(forge)
    await writeForged(forge, site.directory)
    const verdicts = [
      await visit(site),
      await verdictOf(() => open.read('/a.md')),
      await verdictOf(() => open.read('/a.md')),
      await verdictOf(() => write(open, '/new.md')),
    ]
    expect(verdicts).toEqual([code, code, code, code])
    await open.close()
  })

  test('a redaction with its rewritten history is followed', async () => {
    const site = await newSite()
    const open = await openStore(site)
    const forge = standard.forge.fork()
    forge.redact([[memory.a, version.a1]])
    forge.rewrite(new Set([version.a1]))
    await writeForged(forge, site.directory)
    expect((await open.read('/a.md'))?.content).toBe('alpha, again\n')
    const { data: versions } = await open.history.versions({ path: '/' })
    expect(versions.filter((one) => one.redactedAt !== undefined)).toHaveLength(0)
    expect(
      (await open.history.versions()).data.filter((one) => one.redactedAt !== undefined),
    ).toHaveLength(1)
    await open.close()
    expect(await visit(site)).toBe('accepted')
  })
})

const lie: Parameters<Forge['change']>[1] = {
  details: (rows) => rows.map((row) => ({ ...row, path: '/lie.md' })),
}
