// A process dies, the power fails, or the disk has an error, at every file operation of giving a
// grant, of ending one, and of syncs that make a start again or replace it after a redaction.
// Afterwards a sync brings the remote up to date, no secret is given twice, and holders begin from
// what the store holds.

import { describe, expect, test } from 'vitest'
import { type MemoryStore, StoreError } from '../../src/index.ts'
import { openStart } from '../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, openWraps, parseGrant } from '../../src/keys/wraps.ts'
import {
  broken,
  type Death,
  everyDeath,
  everyError,
  failedOnce,
  type Failure,
  fullOnce,
  killed,
  struckBy,
  unplugged,
  unsynced,
} from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { refOf } from '../support/grant-holders.ts'
import { full } from '../support/seed.ts'
import { author } from '../support/stores.ts'
import { expectTidy, operationsOf, redactFirst, SyncSite, write } from '../support/sync-places.ts'
import { git, gitBytes, sharedDirectory } from '../support/temporary.ts'

/** The grant that every machine of these tests has given before. */
interface Given {
  readonly grantId: string
  readonly text: string
}

interface Scenario {
  readonly name: string
  readonly prepare: (site: SyncSite, given: Given) => Promise<unknown>
  /** The texts that it gives. */
  readonly act: (store: MemoryStore, given: Given) => Promise<readonly string[]>
  readonly ends: boolean
  readonly tried: number
  readonly death: Death
  readonly failure: Failure
}

const give = async (store: MemoryStore): Promise<readonly string[]> => {
  return [(await store.as(author).grants.give({ label: 'again' })).text]
}

const scenarios: readonly Scenario[] = [
  {
    name: 'giving a grant',
    prepare: async () => undefined,
    act: give,
    ends: false,
    tried: 4,
    death: unplugged,
    failure: failedOnce,
  },
  {
    name: 'a sync that makes a start again',
    prepare: async (site, { text }) => {
      await site.with('a', (store) => write(store, '/a/new.md', 'of a\n'))
      git(['update-ref', '-d', refOf({ grant: text }, 'start')], site.remote)
    },
    act: async (store) => {
      await store.as(author).sync()
      return []
    },
    ends: false,
    tried: 3,
    death: killed,
    failure: broken,
  },
  {
    name: 'a sync that replaces a start after a redaction',
    prepare: (site) =>
      site.with('a', async (store) => {
        await write(store, '/a/leak.md', 'clean\n')
        await redactFirst(store, '/a/leak.md')
      }),
    act: async (store) => {
      await store.as(author).sync()
      return []
    },
    ends: false,
    tried: 3,
    death: unplugged,
    failure: fullOnce,
  },
  {
    name: 'ending a grant',
    prepare: async () => undefined,
    act: async (store, { grantId }) => {
      await store.as(author).grants.end([grantId])
      return []
    },
    ends: true,
    tried: 3,
    death: unsynced,
    failure: fullOnce,
  },
]

const root = sharedDirectory()
let begun: { site: SyncSite; given: Given; reset: () => void } | undefined

async function begin(): Promise<NonNullable<typeof begun>> {
  if (begun === undefined) {
    const site = await SyncSite.start(root)
    const given = await site.with('a', (store) => store.as(author).grants.give({ label: 'first' }))
    begun = { site, given, reset: site.keep() }
  }
  begun.reset()
  return begun
}

describe.each(scenarios.map((one) => [one.name, one] as const))('%s', (_, scenario) => {
  test.each(full ? everyDeath : [scenario.death])(
    'survives a death $moment an operation, losing $loss',
    { tags: 'slow' },
    async (death) => {
      const prepared = await prepare(scenario)
      for (const at of struckBy(death, prepared.operations)) {
        await survive(prepared, scenario, { kind: 'death', at, ...death })
      }
    },
  )

  test.each(full ? everyError : [scenario.failure])(
    'survives the error %s of the disk, %d times',
    { tags: 'slow' },
    async (code, times) => {
      const prepared = await prepare(scenario)
      for (const at of prepared.operations) {
        await survive(prepared, scenario, { kind: 'error', at, code, times })
      }
    },
  )
})

interface Prepared extends NonNullable<typeof begun> {
  readonly operations: readonly number[]
}

async function prepare(scenario: Scenario): Promise<Prepared> {
  const { site, given } = await begin()
  await scenario.prepare(site, given)
  const reset = site.keep()
  const dry = new FaultyDisk()
  const store = await site.open('a', dry)
  await scenario.act(store, given)
  await store.close()
  const operations = operationsOf(dry.operations, scenario.tried)
  dry.release()
  return { site, given, reset, operations }
}

async function survive(
  { site, given, reset }: Prepared,
  scenario: Scenario,
  fault: Fault,
): Promise<void> {
  reset()
  const disk = new FaultyDisk(fault)
  const texts = [given.text]
  let store: MemoryStore | undefined
  try {
    store = await site.open('a', disk)
    texts.push(...(await scenario.act(store, given)))
  } catch (error) {
    if (!disk.dead) expectClear(error)
  }
  await store?.close().catch((error: unknown) => disk.dead || expectClear(error))
  try {
    disk.die('nothing')
    await expectRecovery(site, scenario, given, texts)
  } catch (error) {
    const steps = disk.log.slice(Math.max(0, fault.at - 4), fault.at).join(', ')
    throw new Error(`after ${JSON.stringify(fault)}: ${steps}`, { cause: error })
  } finally {
    disk.release()
  }
}

/** The error reports the disk. */
function expectClear(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
  expect(['storage_full', 'storage_failed', 'store_closed']).toContain(error.code)
}

async function expectRecovery(
  site: SyncSite,
  scenario: Scenario,
  { grantId, text: first }: Given,
  texts: readonly string[],
): Promise<void> {
  await site.with('a', async (store) => {
    await store.as(author).sync()
    if (scenario.ends) await store.as(author).grants.end([grantId])
    const [another = ''] = await give(store)
    expect(new Set([...texts, another]).size).toBe(texts.length + 1)
    const listed = await store.grants.list()
    expect(new Set(listed.map((grant) => grant.grantId)).size).toBe(listed.length)
    for (const text of [...texts.slice(1), another]) expectBegins(site, text)
    if (scenario.ends) expect(keysIn(site, first)).toBeUndefined()
    else expectBegins(site, first)
    expect((await store.as(author).sync()).grants).toBeUndefined()
    await store.maintenance.verify({ threads: 0 })
  })
  expectTidy(site, 'a')
}

function keysIn({ remote }: SyncSite, text: string) {
  const grant = parseGrant(text)
  const wraps = gitBytes(['cat-file', 'blob', refOf({ grant: text }, 'wraps')], remote)
  return openWraps(decodeWraps(wraps), grant.granterKey, grantKeysOf(grant))
}

/** Whether the holder of a text finds the head of the remote, and itself in it. */
function expectBegins(site: SyncSite, text: string): void {
  const keys = keysIn(site, text)
  const start = gitBytes(['cat-file', 'blob', refOf({ grant: text }, 'start')], site.remote)
  if (keys === undefined) throw new Error('the wraps hold no keys for a grant')
  const { granterKey, storeId } = parseGrant(text)
  const { state } = openStart(start, keys, granterKey, storeId)
  expect(state.commit).toBe(site.remoteHead())
  const { signing } = grantKeysOf(parseGrant(text))
  const isIn = state.grants.some(({ key }) => Buffer.from(key).equals(signing.publicKey))
  expect(isIn).toBe(true)
}
