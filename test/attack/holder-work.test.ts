// T88: a member, or the host of a remote, makes a holder's clone fetch or walk without bound: by
// commits of any height, more of the history than was asked for, or less each time. A refusal does
// not change an open clone, and a first opening leaves no files. FORMAT §8.3, §13.
// @module-tag slow

import { existsSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseCommit } from '../../src/format/commit.ts'
import { zeroHash } from '../../src/format/record.ts'
import { StoreError } from '../../src/index.ts'
import { parseGrant } from '../../src/keys/wraps.ts'
import { decodeCommit } from '../../src/store/commits/decoded-commit.ts'
import { put, sync } from '../support/clones.ts'
import { environment } from '../support/faulty-remotes.ts'
import { encodeForged, signForged } from '../support/forge-commit.ts'
import {
  type Fault,
  fetching,
  on,
  packets,
  sendPack,
  startGitServer,
} from '../support/git-server.ts'
import {
  create,
  givenGrant,
  type GrantWorld,
  hold,
  holderPlace,
  keysFor,
  mainAt,
  moveMain,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { packOf } from '../support/hostile-remotes.ts'
import { contentsOf } from '../support/stores.ts'
import { git, gitBytes } from '../support/temporary.ts'

let world: GrantWorld
beforeEach(async () => {
  world = await givenGrant()
})

/** A commit of a member on top of the newest one, valid but for its height. */
function atHeight(height: number): string {
  const keys = keysFor(world)
  const [main, { storeId }] = [mainAt(world), parseGrant(world.grant)]
  const bytes = gitBytes(['cat-file', 'commit', main], world.url)
  const { record, hash } = decodeCommit(storeId, new Map([[keys.kid, keys]]), main, bytes)
  const { identity } = world.granter.place
  const follows = { sequence: record.sequence + 1, previous: hash, parents: [hash] }
  const next = {
    ...record,
    ...follows,
    rows: [],
    height: Math.min(height, Number.MAX_SAFE_INTEGER),
  }
  const signed = signForged(keys, next, identity, {})
  const none = { details: [], blobs: new Map(), keyring: '', settings: '' }
  const entry = { ...none, record: next, signed, hash: zeroHash, epoch: keys }
  const place = { tree: parseCommit(bytes).tree, parents: [main] }
  const commit = encodeForged(keys, entry, place, { parts: (parts) => ({ ...parts, height }) })
  const how = ['hash-object', '-w', '--stdin', '-t', 'commit', '--literally']
  return git(how, world.url, commit).trim()
}

async function expectNothing(refusal: string, url = world.url): Promise<void> {
  const place = holderPlace()
  const error: unknown = await hold({ ...world, url }, { ...place, access: { environment } }).then(
    (store) => store.close(),
    (refused: unknown) => refused,
  )
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: refusal })
  expect(existsSync(place.directory)).toBe(false)
}

describe('T88: a commit of a member', () => {
  test.each([
    [0, 'record_height', 'history_needed'],
    [20_100, 'record_height', 'history_needed'],
    [2 ** 52, 'record_height', 'history_needed'],
    [2 ** 53 - 1, 'commit_malformed', 'commit_malformed'],
    [2 ** 53, 'commit_malformed', 'commit_malformed'],
    [2 ** 53 + 2, 'commit_malformed', 'commit_malformed'],
    [2 ** 64, 'commit_malformed', 'commit_malformed'],
  ])(
    'at a height of %d is refused by open clones and new ones',
    async (height, refusal, refusalOfNew) => {
      const held = await hold(world)
      await writeAs(held, create('/own.md'))
      const before = await contentsOf(held)
      moveMain(world, atHeight(height))
      await expect(syncHolder(held)).rejects.toMatchObject({ code: refusal })
      expect(await contentsOf(held)).toEqual(before)
      await expectNothing(refusalOfNew)
      moveMain(world, git(['rev-parse', 'main~1'], world.url).trim())
      await syncHolder(held)
      await held.close()
    },
  )
})

/** Answers each fetch with these lines about the end of the history, and the objects. */
function sending(ends: readonly string[], oids: () => readonly string[]): Fault {
  return on(fetching, (response) => {
    const pack = packOf(world.url, oids())
    sendPack(pack, packets(...ends.map((end) => `shallow ${end}\n`)))(response)
  })
}

const objectsOf = (...revisions: readonly string[]): readonly string[] => {
  const how = ['rev-list', '--objects', '--no-object-names', ...revisions]
  return git(how, world.url).trim().split('\n')
}

const grantBlobs = (): readonly string[] => {
  return git(['for-each-ref', '--format=%(objectname)', 'refs/gitlocket'], world.url)
    .trim()
    .split('\n')
}

describe('T88: a host', () => {
  test('that ignores the depth gives no more than the history', async () => {
    const fault = sending([], () => [...objectsOf('main'), ...grantBlobs()])
    const { url } = await startGitServer({ repository: world.url, fault })
    const store = await hold({ ...world, url }, { access: { environment } })
    expect(await contentsOf(store)).toEqual(await contentsOf(world.granter.store))
    await store.close()
  })

  test('that never sends more than one commit is asked a few times', async () => {
    const server = await startGitServer({ repository: world.url })
    const { url, requests } = server
    const held = await hold({ ...world, url }, { access: { environment } })
    await writeAs(held, create('/own.md'))
    const before = await contentsOf(held)
    await put(world.granter, '/one.md')
    await put(world.granter, '/two.md')
    await sync(world.granter)
    const head = mainAt(world)
    const one = (): readonly string[] => [head, ...objectsOf('main^{tree}'), ...grantBlobs()]
    server.fault = sending([head], one)
    const asked = requests.length
    await expectNothing('history_needed', url)
    expect(requests.length - asked).toBeLessThan(12)
    const askedNew = requests.length
    await expect(syncHolder(held)).rejects.toBeInstanceOf(StoreError)
    expect(requests.length - askedNew).toBeLessThan(16)
    expect(await contentsOf(held)).toEqual(before)
    server.fault = undefined
    await syncHolder(held)
    expect(await contentsOf(held)).toEqual({
      ...before,
      '/one.md': '/one.md',
      '/two.md': '/two.md',
    })
    await held.close()
  })
})
