// What an address names, and the remotes that are added by one: a state that it names binds the
// clone until the history here has it.

import { describe, expect, test } from 'vitest'
import { formatStateOf } from '../../../../src/format/address.ts'
import { formatId, parseId } from '../../../../src/format/id.ts'
import { syncTrail } from '../../../../src/index.ts'
import { joinTrail } from '../../../../src/store/audit/trail.ts'
import { addRemote } from '../../../../src/store/clone-remotes.ts'
import { RemoteAddress } from '../../../../src/store/clone/remote-address.ts'
import {
  addressOf,
  admit,
  bareRemote,
  copyOf,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
  trusting,
} from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { branchOf, moveBranch } from '../../../support/hostile-remotes.ts'
import { author, contentsOf } from '../../../support/stores.ts'
import { temporaryDirectory } from '../../../support/temporary.ts'

const storeId = '5'.repeat(32)
const hashOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const url = 'https://host.example/store.git'

describe('an address', () => {
  const named = RemoteAddress.parse(`${url}#${formatStateOf(storeId, hashOf(2))}`)

  test('has a url, a store and a state', () => {
    expect(named).toEqual({ url, storeId, state: '02'.repeat(16) })
    expect(RemoteAddress.parse(url)).toEqual({ url, storeId: undefined, state: undefined })
    const other = formatId('store', '6'.repeat(32))
    expect(RemoteAddress.parse(url, other).storeId).toBe('6'.repeat(32))
    // What it names itself counts.
    expect(RemoteAddress.parse(`${url}#${formatId('store', storeId)}`, other).storeId).toBe(storeId)
  })

  test('fits its own store only', () => {
    named.checkStore(storeId)
    RemoteAddress.parse(url).checkStore(storeId)
    const other = '6'.repeat(32)
    const refused = { code: 'store_id_mismatch', message: expect.stringContaining('The address') }
    expect(() => named.checkStore(other)).toThrow(expect.objectContaining(refused))
  })

  test('fits keyrings among which its state is', async () => {
    const halves = Uint8Array.from([...hashOf(2).subarray(0, 16), ...hashOf(9).subarray(16)])
    for (const fitting of [[hashOf(2)], [hashOf(1), hashOf(2), hashOf(3)], [halves]]) {
      await named.check(fitting)
    }
    const nearly = Uint8Array.from([...hashOf(2).subarray(0, 15), ...hashOf(9).subarray(15)])
    for (const other of [[], [hashOf(1), hashOf(3)], [nearly]]) {
      expect(await failureOf(named.check(other))).toMatchObject({ code: 'rolled_back' })
    }
    await RemoteAddress.parse(url).check([])
  })
})

describe('a remote that is added by an address', () => {
  /** `b` has missed the removal of a third clone, which the remote has. */
  async function behind() {
    const remote = bareRemote()
    const a = await firstClone(remote)
    await put(a, '/a.md')
    await sync(a)
    const b = await joinClone(a, remote)
    const c = await joinClone(a, remote)
    await syncAll([a, b, c])
    const old = branchOf(remote)
    await a.store.as(author).devices.remove([idOf(c)])
    await put(a, '/after.md')
    await sync(a)
    const newest = branchOf(remote)
    const address = await addressOf(a, remote)
    await b.store.remotes.remove('origin')
    return { a, b, remote, old, newest, address }
  }

  test('is synced with once it shows the state', async () => {
    const { a, b, remote, old, newest, address } = await behind()
    await b.store.remotes.add('new', address)
    expect(await b.store.remotes.list()).toEqual([{ name: 'new', url: remote }])
    moveBranch(remote, old)
    await put(b, '/unsent.md')
    for (const only of [undefined, 'pull'] as const) {
      const syncing = b.store.as(author).sync({ only })
      expect(await failureOf(syncing)).toMatchObject({ code: 'rolled_back' })
    }
    const pushing = b.store.as(author).sync({ only: 'push' })
    expect(await failureOf(pushing)).toMatchObject({ code: 'remote_moved' })
    expect(branchOf(remote)).toBe(old)
    moveBranch(remote, newest)
    await sync(b)
    await syncAll([a, b])
    expect(await contentsOf(b.store)).toEqual(await contentsOf(a.store))
  })

  test('takes nothing from a head without the state, and another clone is no proof', async () => {
    const { b, remote, old, address } = await behind()
    moveBranch(remote, old)
    const other = await joinClone(b, remote)
    await put(other, '/bait.md')
    await sync(other)
    const bait = branchOf(remote)
    await b.store.remotes.add('new', address)
    expect(await failureOf(sync(b))).toMatchObject({ code: 'rolled_back' })
    expect(await b.store.read('/bait.md')).toBeUndefined()
    expect(branchOf(remote)).toBe(bait)
    const reopened = await copyOf(b)
    expect(await failureOf(sync(reopened))).toMatchObject({ code: 'rolled_back' })
  })

  test('needs nothing if the state is here', async () => {
    const { a, address } = await behind()
    const elsewhere = bareRemote()
    const fragment = address.slice(address.indexOf('#'))
    await a.store.remotes.add('copy', `${elsewhere}${fragment}`)
    await a.store.as(author).sync({ remote: 'copy' })
    expect(branchOf(elsewhere)).toBe((await a.store.status()).head)
  })

  test('is free again once it is added without a state', async () => {
    const { b, remote, old, address } = await behind()
    moveBranch(remote, old)
    await b.store.remotes.add('new', address)
    expect(await failureOf(sync(b))).toMatchObject({ code: 'rolled_back' })
    await b.store.remotes.remove('new')
    await b.store.remotes.add('new', remote)
    await sync(b)
  })

  test('cannot be of another store, or be malformed', async () => {
    const { b, remote, address } = await behind()
    const other = await firstClone(bareRemote())
    const theirs = await addressOf(other, remote)
    expect(await failureOf(b.store.remotes.add('new', theirs))).toMatchObject({
      code: 'store_id_mismatch',
    })
    for (const wrong of [`${address}x`, `${address}+1`, `${remote}#memstore_1`]) {
      expect(await failureOf(b.store.remotes.add('new', wrong))).toMatchObject({
        code: 'invalid_input',
      })
    }
    expect(await b.store.remotes.list()).toEqual([])
  })
})

test('an auditor adds a remote by an address, and follows it once it shows the state', async () => {
  const remote = bareRemote()
  const a = await firstClone(remote)
  await put(a, '/a.md')
  const identity = await admit(a, 'auditor')
  await sync(a)
  const root = temporaryDirectory()
  const at = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  await joinTrail({ ...at, ...trusting, url: remote, storeId: a.store.id })
  const old = branchOf(remote)
  await admit(a, 'reader')
  await sync(a)
  const newest = branchOf(remote)
  moveBranch(remote, old)
  const places = { ...at, findIdentity: () => identity }
  await addRemote(places, 'new', await addressOf(a, remote))
  const trail = { ...at, remote: 'new' }
  expect(await failureOf(syncTrail(trail))).toMatchObject({ code: 'rolled_back' })
  moveBranch(remote, newest)
  expect((await syncTrail(trail)).head).toBe(newest)
  // A state that no history has.
  const madeUp = formatStateOf(parseId('store', a.store.id), hashOf(7))
  const again = addRemote(places, 'second', `${remote}#${madeUp}`)
  expect(await again).toEqual({ name: 'second', url: remote })
  const second = { ...at, remote: 'second' }
  expect(await failureOf(syncTrail(second))).toMatchObject({ code: 'rolled_back' })
})
