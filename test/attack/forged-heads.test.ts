// T97: a reader, who has the group key, works with the host and shows the holders of grants a head
// that rests on something older than their clones. They do not fetch and verify all of the history
// if they know that its author is forged, and if they do not know, they do so once. FORMAT §8.
// @module-tag slow

import { beforeEach, describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/crypto/random.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { parseCommit } from '../../src/format/commit.ts'
import { deviceIdOf } from '../../src/format/id.ts'
import { recordHash } from '../../src/format/record.ts'
import { type MemoryStore, StoreError } from '../../src/index.ts'
import { admit, put, sync } from '../support/clones.ts'
import { environment } from '../support/faulty-remotes.ts'
import { encodeForged, signForged } from '../support/forge-commit.ts'
import { answer, fetching, type GitServer, startGitServer } from '../support/git-server.ts'
import {
  create,
  type Floored,
  floored,
  hold,
  type HolderPlace,
  holderPlace,
  keysFor,
  mainAt,
  moveMain,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { decodeAt } from '../support/lying-granters.ts'
import { contentsOf } from '../support/stores.ts'
import { git, gitBytes } from '../support/temporary.ts'

let world: Floored['world']
let older: Floored['older']
let at: HolderPlace
let server: GitServer
beforeEach(async () => {
  ;({ world, older } = await floored())
  at = holderPlace()
  server = await startGitServer({ repository: world.url })
})

function open(): Promise<MemoryStore> {
  return hold({ ...world, url: server.url }, { ...at, access: { environment } })
}

interface Forger {
  readonly deviceId: string
  readonly signing: ReturnType<typeof signingKeyPair>
}

function stranger(): Forger {
  const signing = signingKeyPair(systemRandom(32))
  return { deviceId: deviceIdOf(signing.publicKey), signing }
}

/** A merge of the newest commit with the oldest one, which no clone of a holder has. */
function mergeWithOldest({ deviceId, signing }: Forger, claimed?: Uint8Array): string {
  const keys = keysFor(world)
  const oldest = git(['rev-list', '--max-parents=0', 'main'], world.url).trim()
  const main = mainAt(world)
  const parents = [main, oldest]
    .map((oid) => decodeAt(world, oid))
    .toSorted((a, b) => {
      return Buffer.compare(a.hash, b.hash)
    })
  const { record } = decodeAt(world, main)
  const next = {
    ...record,
    kind: 'change' as const,
    rows: [],
    grants: [],
    deviceId,
    sequence: record.sequence + 1,
    parents: parents.map(({ hash }) => hash),
    height: record.height + 1,
  }
  const signed = signForged(keys, next, { deviceId, signing }, {})
  const none = { details: [], blobs: new Map(), keyring: '', settings: '' }
  const entry = {
    ...none,
    record: next,
    signed,
    hash: claimed ?? recordHash(keys, signed),
    epoch: keys,
  }
  const { tree } = parseCommit(gitBytes(['cat-file', 'commit', main], world.url))
  const place = { tree, parents: parents.map(({ oid }) => oid) }
  const commit = encodeForged(keys, entry, place, {})
  const how = ['hash-object', '-w', '--stdin', '-t', 'commit', '--literally']
  return git(how, world.url, commit).trim()
}

interface Work {
  /** The refusal. */
  readonly code: string | undefined
  /** Commits that were verified, as the sync counts them. */
  readonly commits: number
  /** Requests for objects. */
  readonly fetches: number
}

async function workOf(store: MemoryStore): Promise<Work> {
  const before = server.requests.length
  let commits = 0
  const progress = (done: number): void => {
    commits = Math.max(commits, done)
  }
  const code = await syncHolder(store, { progress }).then(
    () => undefined,
    (error: unknown) => (error instanceof StoreError ? error.code : 'unexpected'),
  )
  const asked = server.requests.slice(before)
  const fetches = asked.filter(({ method, path }) => fetching.test(`${method} ${path}`)).length
  return { code, commits, fetches }
}

const nothing = { commits: 0, fetches: 0 }

describe('T97: a head that rests on something older than a clone', () => {
  test('under the id of a device, without its signature, costs nothing beyond it', async () => {
    const held = await open()
    await writeAs(held, create('/own.md'))
    await syncHolder(held)
    const honest = mainAt(world)
    const { deviceId } = world.granter.place.identity
    moveMain(world, mergeWithOldest({ ...stranger(), deviceId }))
    const first = await workOf(held)
    expect(first).toEqual({ code: 'device_signature_invalid', commits: 0, fetches: 1 })
    expect(await workOf(held)).toEqual({ ...nothing, code: first.code })
    await held.close()
    const again = await open()
    expect(await workOf(again)).toEqual({ ...nothing, code: first.code })
    moveMain(world, honest)
    await put(world.granter, '/later.md')
    await sync(world.granter)
    expect(await workOf(again)).toMatchObject({ code: undefined })
    await again.close()
  })

  test('by a device that may only read costs nothing beyond it', async () => {
    const { deviceId, signing } = await admit(world.granter, 'reader')
    await put(world.granter, '/newest.md')
    await sync(world.granter)
    const held = await open()
    moveMain(world, mergeWithOldest({ deviceId, signing }))
    expect(await workOf(held)).toEqual({ code: 'record_role', commits: 0, fetches: 1 })
    expect(await workOf(held)).toEqual({ ...nothing, code: 'record_role' })
    await held.close()
  })

  test.each([
    ['', undefined, 'record_parents'],
    [', and whose detail does not open,', new Uint8Array(32), 'envelope_commitment'],
  ])('by an author that is unknown%s is verified in full once', async (_, hash, code) => {
    const held = await open()
    const commits = Number(git(['rev-list', '--count', 'main'], world.url))
    moveMain(world, mergeWithOldest(stranger(), hash))
    const first = await workOf(held)
    expect(first).toMatchObject({ code, fetches: 4 })
    expect(first.commits).toBeGreaterThanOrEqual(commits - 1)
    expect(await workOf(held)).toEqual({ ...nothing, code })
    await held.close()
    const again = await open()
    expect(await workOf(again)).toEqual({ ...nothing, code })
    // Another head is looked at.
    moveMain(world, mergeWithOldest(stranger(), hash))
    expect(await workOf(again)).toMatchObject({ code, fetches: 4 })
    await again.close()
  })

  test('and is honest is taken over, also after failures on the way', async () => {
    const held = await open()
    await put(older, '/older.md')
    await sync(older)
    for (const failing of [1, 2, 3, 4]) {
      let fetches = 0
      server.fault = (request, response) => {
        if (!fetching.test(`${request.method} ${request.url}`)) return false
        fetches += 1
        if (fetches === failing) answer(500, 'no')(response)
        return fetches === failing
      }
      expect((await workOf(held)).code).toMatch(/^remote_/)
    }
    server.fault = undefined
    expect(await workOf(held)).toMatchObject({ code: undefined })
    expect(await contentsOf(held)).toMatchObject({ '/older.md': '/older.md' })
    await held.close()
  })
})
