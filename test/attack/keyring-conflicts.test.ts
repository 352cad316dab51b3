// T49, T51: a caller that can change the keyring on an old state, with a passphrase or as a former
// owner, and pushes that over the remote's head, interrupts others no longer than one command of an
// owner takes, and removes nothing. FORMAT §7.2, §9.3.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import { generateIdentity } from '../../src/index.ts'
import { worldsOf } from '../support/clone-templates.ts'
import {
  alone,
  bareRemote,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { branchOf, copyRemote, expectInStep, moveBranch } from '../support/hostile-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const passphrase = 'correct horse battery staple'

const members = worldsOf(async (url) => {
  const a = await firstClone(url)
  await a.store.as(author).keys.changePassphrase(passphrase, alone)
  await put(a, '/notes.md', 'kept\n')
  await sync(a)
  const b = await joinClone(a, url)
  await syncAll([a, b])
  return { a, b }
})

const repair = ({ store }: Clone) => store.as(author).sync({ repair: true })

function replace(remote: string, fork: string): void {
  git(['fetch', '--quiet', fork, 'main'], remote)
  moveBranch(remote, branchOf(fork))
}

const secrets = [
  ['passphrase', 'the passphrase added', 'writer'],
  ['recovery key', 'a recovery key added', 'owner'],
] as const

describe.each(secrets)('T49, T51: a former %s', (secret, who, role) => {
  test('that enrols on an old state, again and again, costs one command each', async () => {
    const { a, b, remote } = await members()
    const old = copyRemote(remote)
    const { keys } = a.store.as(author)
    const { recoveryKey } = a.place
    const known = secret === 'passphrase' ? { passphrase } : { recoveryKey }
    if (secret === 'passphrase') await keys.changePassphrase('another passphrase now', alone)
    else await keys.makeRecoveryKey(alone)
    await put(a, '/later.md', 'later\n')
    await syncAll([a, b])
    const all = { '/notes.md': 'kept\n', '/later.md': 'later\n' }
    for (const round of [1, 2]) {
      const fork = copyRemote(old)
      const m = await joinClone(a, fork, { ...known, identity: await generateIdentity() })
      await put(m, `/of-m-${round}.md`, 'spam\n')
      if (role === 'owner') await m.store.as(author).devices.remove([idOf(b)], alone)
      await sync(m)
      replace(remote, fork)
      const before = await headOf(b)
      await failureOf(sync(b))
      expect(await headOf(b)).toBe(before)
      const failure = await failureOf(sync(a))
      expect(failure).toMatchObject({ code: 'keyring_conflict' })
      expect(failure.message).toMatch(`${who} ${idOf(m)} as ${role}`)
      expect(failure.message).toMatch('follow it only if an owner tells you to')
      await repair(a)
      await syncAll([a, b])
      for (const clone of [a, b]) expect(await contentsOf(clone.store)).toEqual(all)
      await expectInStep(remote, [a, b])
    }
  })
})

describe('T51: an owner that was removed', () => {
  test('and removes others on an old state takes no history away', async () => {
    const { a, b, remote } = await members()
    const fork = bareRemote()
    await a.store.as(author).devices.remove([idOf(b)], alone)
    await put(a, '/later.md', 'later\n')
    await sync(a)
    await b.store.as(author).devices.remove([idOf(a)], alone)
    await put(b, '/evil.md', 'evil\n')
    await b.store.remotes.add('fork', fork)
    await b.store.as(author).sync({ remote: 'fork' })
    replace(remote, fork)
    const before = await headOf(a)
    expect((await failureOf(sync(a))).code).toMatch(/wrong_key|rolled_back|keyring_conflict/)
    expect(await headOf(a)).toBe(before)
    expect(await contentsOf(a.store)).toEqual({ '/notes.md': 'kept\n', '/later.md': 'later\n' })
  })
})
