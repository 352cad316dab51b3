// Changes of the keyring, online: each first adopts the head of the remote, and is there when it
// resolves, or nothing has changed; a change that may not have arrived is pending.
// @module-tag slow

import { renameSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatDeviceCard, generateIdentity } from '../../../../src/index.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import {
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../../support/clones.ts'
import { environment, failureOf, program } from '../../../support/faulty-remotes.ts'
import { branchOf } from '../../../support/hostile-remotes.ts'
import { author, contentsOf, reopen } from '../../../support/stores.ts'
import { git } from '../../../support/temporary.ts'

/** Two owners in step. */
const pair = worldsOf(async (url) => {
  const a = await firstClone(url)
  await put(a, '/notes.md', 'one\n')
  await sync(a)
  const b = await joinClone(a, url)
  await syncAll([a, b])
  return { a, b }
})

async function card(): Promise<string> {
  return formatDeviceCard(await generateIdentity())
}

const rotate = ({ store }: Clone, options = {}) => store.as(author).keys.rotate(options)
const devicesOf = async ({ store }: Clone): Promise<number> => (await store.devices.list()).length

/** Gives a clone another remote in place of its first. */
async function moveTo({ store }: Clone, name: string, url: string): Promise<void> {
  await store.remotes.add(name, url)
  await store.remotes.setMembership(name)
  await store.remotes.remove('origin')
}

describe('a change of the keyring', () => {
  test('is at the remote when it resolves', async () => {
    const { a, b, remote } = await pair()
    const { pending } = await a.store.as(author).devices.add(await card(), 'reader')
    expect(pending).toBeUndefined()
    expect(branchOf(remote)).toBe(await headOf(a))
    await sync(b)
    expect(await devicesOf(b)).toBe(3)
  })

  test('first applies the changes and writes of others', async () => {
    const { a, b, remote } = await pair()
    await a.store.as(author).devices.add(await card(), 'reader')
    await put(b, '/of-b.md', 'b\n')
    await b.store.as(author).devices.add(await card(), 'reader')
    expect(await devicesOf(b)).toBe(4)
    expect(branchOf(remote)).toBe(await headOf(b))
    await sync(a)
    expect(await headOf(a)).toBe(await headOf(b))
  })

  test('of two owners at once is made twice, on one line', async () => {
    const { a, b } = await pair()
    await put(a, '/of-a.md', 'a\n')
    await put(b, '/of-b.md', 'b\n')
    const add = async ({ store }: Clone) => store.as(author).devices.add(await card(), 'reader')
    const added = await Promise.all([add(a), add(b), rotate(a), rotate(b)])
    expect(added.map(({ pending }) => pending)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    await syncAll([a, b])
    expect(await headOf(a)).toBe(await headOf(b))
    expect(await devicesOf(a)).toBe(4)
    expect(await contentsOf(a.store)).toMatchObject({ '/of-a.md': 'a\n', '/of-b.md': 'b\n' })
    await a.store.maintenance.verify()
  })

  test('without the remote changes nothing, and memories can still be written', async () => {
    const { a, remote } = await pair()
    const before = await headOf(a)
    renameSync(remote, `${remote}.away`)
    expect((await failureOf(rotate(a))).code).toMatch(/^remote_/)
    expect(await headOf(a)).toBe(before)
    await put(a, '/more.md', 'more\n')
    renameSync(`${remote}.away`, remote)
    await rotate(a)
    expect(branchOf(remote)).toBe(await headOf(a))
  })

  test('of which nothing was sent is undone, and made again once the host serves', async () => {
    const { a, remote } = await pair()
    const before = await headOf(a)
    await moveTo(a, 'far', `ssh://host.example${remote}`)
    // The last argument is the command at the host: a fetch is served, and no push.
    const readOnly = program(
      'for last; do :; done; case "$last" in *receive-pack*) exit 255;; esac; sh -c "$last"',
    )
    const access = (ssh: string) => ({ environment: { ...environment, GIT_SSH_COMMAND: ssh } })
    const failure = await failureOf(rotate(a, { access: access(readOnly) }))
    expect(failure.code).toMatch(/^remote_/)
    expect([await headOf(a), branchOf(remote)]).toEqual([before, before])
    const { membershipPending } = await a.store.status()
    expect(membershipPending).toBe(false)
    const open = program('for last; do :; done; sh -c "$last"')
    await rotate(a, { access: access(open) })
    expect(branchOf(remote)).toBe(await headOf(a))
  })

  test('that the remote refuses after receiving it is pending, and settled by a sync', async () => {
    const { a, b, remote } = await pair()
    const before = branchOf(remote)
    // A fetch is served, and each pack is refused once it is there.
    git(['config', 'receive.maxInputSize', '1'], remote)
    const { pending, commit } = await rotate(a)
    expect(pending).toMatchObject({ code: 'push_rejected' })
    expect(await headOf(a)).toBe(commit)
    expect(branchOf(remote)).toBe(before)
    await put(a, '/on-top.md', 'on top\n')
    expect((await failureOf(rotate(a))).code).toMatch(/push_rejected|membership_pending/)
    await a.store.close()
    const again = { ...a, store: await reopen(a.place) }
    expect((await again.store.status()).membershipPending).toBe(true)
    git(['config', '--unset', 'receive.maxInputSize'], remote)
    await sync(again)
    expect((await again.store.status()).membershipPending).toBe(false)
    await sync(b)
    expect(await headOf(b)).toBe(await headOf(again))
  })

  test('that another one has overtaken is made again on top of it', async () => {
    const { a, b, remote } = await pair()
    const faster = bareRemote()
    await moveTo(b, 'faster', faster)
    await b.store.as(author).devices.add(await card(), 'reader')
    await moveTo(a, 'far', `ssh://host.example${remote}`)
    // The other change arrives between the fetch and the push of this one.
    const overtaken = program(
      'for last; do :; done; case "$last" in ' +
        `*receive-pack*) git -C '${remote}' fetch -q '${faster}' main:main;; esac; sh -c "$last"`,
    )
    const access = { environment: { ...environment, GIT_SSH_COMMAND: overtaken } }
    const { commit = '', pending } = await rotate(a, { access })
    expect(pending).toBeUndefined()
    expect([branchOf(remote), await headOf(a)]).toEqual([commit, commit])
    expect(git(['rev-parse', `${commit}^@`], remote).trim()).toBe(branchOf(faster))
    expect(await devicesOf(a)).toBe(3)
    await a.store.maintenance.verify()
  })

  test('asks every remote, unless told to continue with one', async () => {
    const { a, remote } = await pair()
    await a.store.remotes.add('stick', `${bareRemote()}-away`)
    const before = await headOf(a)
    const failure = await failureOf(rotate(a))
    expect(failure.message).toContain('stick')
    expect(await headOf(a)).toBe(before)
    await rotate(a, { only: true })
    expect(branchOf(remote)).toBe(await headOf(a))
  })

  test('of a removed device is refused', async () => {
    const { a, b } = await pair()
    await a.store.as(author).devices.remove([idOf(b)])
    expect(await failureOf(rotate(b))).toMatchObject({ code: 'wrong_key' })
  })

  test('is pushed to the chosen remote, which must exist', async () => {
    const { a, remote } = await pair()
    const stick = bareRemote()
    await a.store.remotes.add('stick', stick)
    const none = a.store.remotes.setMembership('nowhere')
    await expect(none).rejects.toMatchObject({ code: 'not_found' })
    await a.store.remotes.setMembership('stick')
    await rotate(a)
    expect(branchOf(stick)).toBe(await headOf(a))
    expect(branchOf(remote)).not.toBe(await headOf(a))
    expect((await a.store.status()).membershipRemote).toBe('stick')
    await a.store.remotes.remove('origin')
    await a.store.remotes.remove('stick')
    for (const name of ['one', 'two']) await a.store.remotes.add(name, bareRemote())
    await expect(rotate(a)).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('a removal that waits for the network', () => {
  test('is done by the sync that reaches the remote', async () => {
    const { a, b, remote } = await pair()
    renameSync(remote, `${remote}.away`)
    const remove = () => a.store.as(author).devices.remove([idOf(b)], { whenOnline: true })
    expect(await remove()).toMatchObject({ waits: true, commit: undefined })
    expect(await remove()).toMatchObject({ waits: true })
    await a.store.close()
    const again = { ...a, store: await reopen(a.place) }
    expect((await again.store.status()).waitingRemovals).toEqual([idOf(b)])
    expect((await failureOf(sync(again))).code).toMatch(/^remote_/)
    renameSync(`${remote}.away`, remote)
    await put(b, '/last.md', 'last\n')
    await sync(b)
    await sync(again)
    expect((await again.store.status()).waitingRemovals).toEqual([])
    expect(await contentsOf(again.store)).toHaveProperty('/last.md')
    expect(branchOf(remote)).toBe(await headOf(again))
    expect(await failureOf(sync(b))).toMatchObject({ code: 'wrong_key' })
  })
})
