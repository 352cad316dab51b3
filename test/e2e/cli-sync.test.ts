// The command line on two machines with one remote between them.

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { newHome } from './cli-process.ts'
import type { Home } from './cli-process.ts'

const NOTHING_TO_DO = 15
const CONFLICTS_KEPT = 16
const passphrase = 'correct horse battery'

function withPassphrase(home: Home, text: string = passphrase): Record<string, string> {
  return { GITLOCKET_PASSPHRASE_FILE: home.file('passphrase', `${text}\n`) }
}

/** The recovery key costs no Argon2id; the passphrase has tests of its own. */
const recoveryKeys = new Map<string, string>()

async function firstMachine(remote: string, env?: Record<string, string>): Promise<Home> {
  const home = newHome()
  const { stdout } = await home.run(['init', '--json'], env === undefined ? {} : { env })
  recoveryKeys.set(remote, String(JSON.parse(stdout).recovery_key))
  await home.ok('create', 'notes.md', '--text', 'one\ntwo\n')
  await home.ok('remote', 'add', 'origin', remote)
  await home.ok('sync')
  return home
}

async function joined(remote: string): Promise<Home> {
  const home = newHome()
  const file = home.file('recovery-key', `${recoveryKeys.get(remote) ?? ''}\n`)
  const { exitCode, stderr } = await home.run(['join', remote], {
    env: { GITLOCKET_RECOVERY_KEY_FILE: file },
  })
  expect(stderr).toBe('')
  expect(exitCode).toBe(0)
  return home
}

describe('a second machine (peers §4 row 8)', () => {
  test('takes two commands and one secret', async () => {
    const remote = bareRemote()
    await firstMachine(remote, withPassphrase(newHome()))
    const second = newHome()
    const join = await second.run(['join', remote], { env: withPassphrase(second) })
    expect(join.stdout).toMatch(/^This machine is now a device of memstore_\w{26}\n/)
    expect(await second.ok('view', 'notes.md')).toContain('two')
  })

  test('with a wrong passphrase gets an exit code of its own, and nothing is written', async () => {
    const remote = bareRemote()
    await firstMachine(remote, withPassphrase(newHome()))
    const head = git(['rev-parse', 'main'], remote)
    const second = newHome()
    const { exitCode, stderr } = await second.run(['join', remote], {
      env: withPassphrase(second, 'quite another one'),
    })
    expect(exitCode).toBe(8)
    expect(stderr).toContain('The passphrase is wrong')
    expect(existsSync(second.store)).toBe(false)
    expect(git(['rev-parse', 'main'], remote)).toBe(head)
  })

  test('that made a store of its own cannot take the place of the one on the remote', async () => {
    const remote = bareRemote()
    await firstMachine(remote, withPassphrase(newHome()))
    const head = git(['rev-parse', 'main'], remote)
    const second = newHome()
    await second.run(['init'], { env: withPassphrase(second) })
    await second.ok('remote', 'add', 'origin', remote)
    const { exitCode, stderr } = await second.run(['sync'])
    expect(exitCode).toBe(11)
    expect(stderr).toContain('another store')
    expect(git(['rev-parse', 'main'], remote)).toBe(head)
  })
})

describe('sync', () => {
  test('says by its exit code whether anything moved', async () => {
    const remote = bareRemote()
    const first = await firstMachine(remote)
    const { exitCode, stdout } = await first.run(['sync'])
    expect(exitCode).toBe(NOTHING_TO_DO)
    expect(stdout).toContain('nothing to do')
    const second = await joined(remote)
    expect((await first.run(['sync'])).exitCode).toBe(0)
    expect((await second.run(['sync'])).exitCode).toBe(NOTHING_TO_DO)
  })

  test('keeps both sides of an edit, lists it, and exits with a code of its own', async () => {
    const remote = bareRemote()
    const first = await firstMachine(remote)
    const second = await joined(remote)
    await first.ok('sync', '--json').catch(() => undefined)
    await first.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'eins')
    await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
    await first.run(['sync'])
    const merged = await second.run(['sync'])
    expect(merged.exitCode).toBe(CONFLICTS_KEPT)
    expect(merged.stdout).toContain('/notes.md: both sides edited the same lines')
    // Which of the two is the older one, when both have the same height, their record hashes say.
    const both = await second.ok('cat', 'notes.md')
    expect(['eins\nuno\ntwo\n', 'uno\neins\ntwo\n']).toContain(both)
    expect(await second.ok('conflicts')).toContain('Both sides are in it')
    await first.run(['sync'])
    expect(await first.ok('cat', 'notes.md')).toBe(both)
  })

  test('with a remote that is away says offline, and local work goes on', async () => {
    const remote = bareRemote()
    const first = await firstMachine(remote)
    await first.ok('remote', 'add', 'away', 'http://127.0.0.1:9/x.git')
    const { exitCode, stderr } = await first.run(['sync', 'away'])
    expect(exitCode).toBe(13)
    expect(stderr).toContain('hint:')
    await first.ok('create', 'more.md', '--text', 'more')
    expect((await first.run(['sync', 'origin'])).exitCode).toBe(0)
  })
})
