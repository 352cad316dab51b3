// T77: a removed member and a host that show a machine that joins, by the right id and with a
// right secret, an older state of the store, or one that a removed owner has gone on from. T78: a
// removed owner that removes the others on an old state and pushes that by force. FORMAT §1.8,
// §9.3.
// @module-tag slow

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { StoreError } from '../../src/errors.ts'
import { formatId } from '../../src/format/id.ts'
import { zeroHash } from '../../src/format/record.ts'
import { formatDeviceCard, generateIdentity, type JoinOptions, joinStore } from '../../src/index.ts'
import { joinTrail } from '../../src/store/audit/trail.ts'
import type { FirstContact } from '../../src/store/clone/clone-remote.ts'
import { worldsOf } from '../support/clone-templates.ts'
import {
  addressOf,
  alone,
  bareRemote,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { type Fault, fields, withoutMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import { branchOf, moveBranch } from '../support/hostile-remotes.ts'
import { standardHistory } from '../support/standard-forge.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

/** Three owners, in step: `r` will be removed. */
const owners = worldsOf(async (url) => {
  const o = await firstClone(url)
  await put(o, '/notes.md', 'kept\n')
  await sync(o)
  const r = await joinClone(o, url)
  const t = await joinClone(o, url)
  await syncAll([o, r, t])
  return { o, r, t }
})

const newcomer = await generateIdentity()
const card = formatDeviceCard(newcomer)

function placesIn(root: string): Pick<JoinOptions, 'directory' | 'stateDirectory' | 'author'> {
  return { directory: `${root}/store`, stateDirectory: `${root}/state`, author }
}

/** Puts what a clone has where the remote is. */
async function show(remote: string, { place, store }: Clone): Promise<void> {
  // Into packs, which stock git reads.
  await store.maintenance.compact()
  git(['fetch', '--quiet', place.directory, 'main'], remote)
  moveBranch(remote, git(['rev-parse', 'FETCH_HEAD'], remote).trim())
}

/** The newest state takes `r` out, and the newcomer in, and the remote does not show it. */
async function hidden(role: 'writer' | 'auditor' = 'writer') {
  const world = await owners()
  const { o, r, remote } = world
  await o.store.as(author).devices.remove([idOf(r)])
  await o.store.as(author).devices.add(card, role)
  const address = await addressOf(o, remote)
  // On its clone of before, and with the card that it has seen.
  await r.store.as(author).devices.remove([idOf(o), idOf(world.t)], alone)
  await r.store.as(author).devices.add(card, role, alone)
  return { ...world, address }
}

describe('T77: by the address of the newest state', () => {
  test.each(['writer', 'auditor'] as const)(
    'a %s does not join what a removed owner has made of an old one',
    async (role) => {
      const { r, remote, address } = await hidden(role)
      await show(remote, r)
      const root = temporaryDirectory()
      const options = { ...placesIn(root), identity: newcomer, url: address }
      const join = role === 'writer' ? joinStore : joinTrail
      expect(await failureOf(join(options))).toMatchObject({ code: 'rolled_back' })
      expect(existsSync(options.directory)).toBe(false)
      expect(existsSync(options.stateDirectory)).toBe(false)
    },
  )

  test('refuses to join an older state, with any secret that opens it', async () => {
    const { o, r, remote } = await owners()
    const old = branchOf(remote)
    const { recoveryKey } = o.place
    await o.store.as(author).devices.remove([idOf(r)])
    const url = await addressOf(o, remote)
    moveBranch(remote, old)
    const root = temporaryDirectory()
    const options = { ...placesIn(root), identity: await generateIdentity(), recoveryKey, url }
    expect(await failureOf(joinStore(options))).toMatchObject({ code: 'rolled_back' })
    expect(branchOf(remote)).toBe(old)
  })

  test('accepts a newer state from an older address, and no other store', async () => {
    const { o, r, remote } = await owners()
    const first = await addressOf(o, remote)
    await o.store.as(author).devices.remove([idOf(r)])
    await put(o, '/later.md', 'later\n')
    await sync(o)
    const joined = await joinClone(o, first, { trustFirstContact: undefined })
    expect(await contentsOf(joined.store)).toEqual({
      '/notes.md': 'kept\n',
      '/later.md': 'later\n',
    })
    const another = await firstClone(bareRemote())
    await sync(another)
    const [theirs] = await another.store.remotes.list()
    const wrong = first.replace(remote, theirs?.url ?? '')
    const joining = joinClone(o, wrong, { trustFirstContact: undefined })
    expect(await failureOf(joining)).toMatchObject({ code: 'store_id_mismatch' })
  })
})

describe('T77: by the id alone', () => {
  test('is asked, and shown other words and owners than on another machine', async () => {
    const { o, r, remote } = await hidden()
    await show(remote, r)
    const root = temporaryDirectory()
    const url = `${remote}#${o.store.id}`
    const options = { ...placesIn(root), identity: newcomer, url }
    expect(await failureOf(joinStore(options))).toMatchObject({ code: 'invalid_input' })
    const shown: FirstContact[] = []
    const trustFirstContact = async (found: FirstContact): Promise<boolean> => {
      shown.push(found)
      return false
    }
    await failureOf(joinStore({ ...options, trustFirstContact }))
    const { keyringFingerprint } = await o.store.status()
    expect(shown.map(({ owners: list }) => list.map(({ deviceId }) => deviceId))).toEqual([
      [idOf(r)],
    ])
    expect(shown[0]?.words).toHaveLength(10)
    expect(shown[0]?.words).not.toEqual(keyringFingerprint)
    expect(existsSync(options.directory)).toBe(false)
    expect(existsSync(options.stateDirectory)).toBe(false)
  })

  test('a recovery key does not reveal its store', async () => {
    const { o, remote } = await owners()
    const { recoveryKey } = o.place
    const options = { ...placesIn(temporaryDirectory()), identity: newcomer, recoveryKey }
    const refused = { code: 'invalid_input', message: expect.stringContaining('#memstore_…+…') }
    expect(await failureOf(joinStore({ ...options, url: remote }))).toMatchObject(refused)
  })
})

describe('T78: a removed owner that removes the others on an old state, and pushes that', () => {
  async function divided() {
    const world = await owners()
    const { o, r, remote } = world
    await o.store.as(author).devices.remove([idOf(r)])
    await r.store.as(author).devices.remove([idOf(o)], alone)
    await show(remote, r)
    return world
  }

  test('misleads a member that missed the removal, until an owner repairs it', async () => {
    const { o, t } = await divided()
    expect(await failureOf(sync(o))).toMatchObject({ code: 'rolled_back' })
    // T has not seen the removal, and follows a head that is valid as far as it knows.
    await sync(t)
    await put(t, '/apart.md', 'apart\n')
    await sync(t)
    // What others have written there is written again by the same command.
    await o.store.as(author).sync({ repair: true })
    expect(await failureOf(sync(t))).toMatchObject({ code: 'keyring_conflict' })
    await t.store.as(author).sync({ takeTheirs: true })
    await syncAll([o, t])
    expect(await contentsOf(o.store)).toEqual({ '/notes.md': 'kept\n', '/apart.md': 'apart\n' })
  })

  test('tells the removed device which owner removed it', async () => {
    const { o, r } = await owners()
    await o.store.as(author).devices.remove([idOf(r)])
    const error = await failureOf(sync(r))
    expect(error).toMatchObject({ code: 'wrong_key', details: { removedBy: idOf(o) } })
    expect(String(error)).toContain(`the owner ${idOf(o)} removed it or locked it out`)
  })

  test('a head that anybody could have made is not called a removal', async () => {
    const { o, r, t, remote } = await owners()
    await o.store.as(author).devices.remove([idOf(r), idOf(t)])
    const [before, after] = [`${branchOf(remote)}~1`, branchOf(remote)]
    // The tree of the new epoch, on a commit that no owner has signed.
    const tree = git(['rev-parse', `${after}^{tree}`], remote).trim()
    const body = git(['cat-file', 'commit', before], remote)
      .replace(/^tree .*$/m, `tree ${tree}`)
      .replace(/^parent .*$/m, `parent ${git(['rev-parse', before], remote).trim()}`)
    const forged = git(['hash-object', '-t', 'commit', '-w', '--stdin'], remote, body).trim()
    moveBranch(remote, forged)
    const error = await failureOf(sync(t))
    expect(error).toMatchObject({ code: 'wrong_key', details: {} })
    expect(String(error)).toContain('nothing shows that an owner made it')
  })

  describe('a new epoch without a device', () => {
    /** A device of the standard history in step with its remote, which then shows a removal. */
    async function shown(
      who: 'founder' | 'writer',
      by: Fault | 'by a writer',
    ): Promise<{ readonly error: StoreError; readonly forge: Forge }> {
      const { forge, writer } = await standardHistory('removals')
      const remote = `${temporaryDirectory()}/remote.git`
      await writeForged(forge, remote)
      const identity = who === 'founder' ? forge.founder : writer
      const place = { directory: '', stateDirectory: '', recoveryKey: '', identity }
      const clone = await joinClone({ place }, remote, { identity })
      const fault = by === 'by a writer' ? { author: writer } : by
      const epoch = forge.newEpoch()
      forge.keyring((next) => withoutMember(next, identity), { epoch, fault })
      await writeForged(forge, remote)
      return { error: await failureOf(sync(clone)), forge }
    }

    test('is a removal if an owner has signed it', async () => {
      const { error, forge } = await shown('writer', {})
      const removedBy = formatId('device', forge.founder.deviceId)
      expect(error).toMatchObject({ code: 'wrong_key', details: { removedBy } })
    })

    test.each<[string, 'founder' | 'writer', Fault | 'by a writer']>([
      ['by a writer', 'founder', 'by a writer'],
      ['that follows no directory', 'writer', fields({ directoryNumber: 99 })],
      ['of another keyring than its record names', 'writer', fields({ keyringHash: zeroHash })],
      ['that follows another keyring', 'writer', fields({ keyring: zeroHash })],
    ])('%s is no removal', async (_, who, by) => {
      const { error } = await shown(who, by)
      expect(error).toMatchObject({ code: 'wrong_key', details: {} })
      expect(error.message).toContain('nothing shows that an owner made it')
    })
  })
})
