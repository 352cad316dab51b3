// The command line on two machines with one remote between them. Row 8 is one of those that
// peers-failures.test.ts is about.

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { newHome } from './cli-process.ts'
import type { Home } from './cli-process.ts'

const REFUSED = 14
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
  const { stdout } = await home.call(['init', '--json'], env)
  recoveryKeys.set(remote, String(JSON.parse(stdout).recovery_key))
  await home.ok('create', 'notes.md', '--text', 'one\ntwo\n')
  await home.ok('remote', 'add', 'origin', remote)
  await home.ok('sync')
  return home
}

async function joined(remote: string): Promise<Home> {
  const home = newHome()
  const file = home.file('recovery-key', `${recoveryKeys.get(remote) ?? ''}\n`)
  const { exitCode, stderr } = await home.call(['join', remote], {
    GITLOCKET_RECOVERY_KEY_FILE: file,
  })
  expect(stderr).toBe('')
  expect(exitCode).toBe(0)
  return home
}

describe('row 8: a second machine', () => {
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
    await firstMachine(remote)
    const head = git(['rev-parse', 'main'], remote)
    const second = newHome()
    await second.ok('init')
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
    await first.call(['sync'])
    const merged = await second.call(['sync'])
    expect(merged.exitCode).toBe(CONFLICTS_KEPT)
    expect(merged.stdout).toContain('/notes.md: both sides edited the same lines')
    // Which of the two is the older one, when both have the same height, their record hashes say.
    const both = await second.ok('cat', 'notes.md')
    expect(['eins\nuno\ntwo\n', 'uno\neins\ntwo\n']).toContain(both)
    const listed = await second.ok('conflicts')
    expect(listed).toContain('Both sides are in it')
    const merge = /memver_\w{26}/.exec(listed)?.[0] ?? ''
    const shown = await second.ok('show', merge)
    expect(shown).toContain('\nInput 1 of 2\nversion memver_')
    expect(shown).toMatch(/eins\ntwo\n[^]*uno\ntwo\n|uno\ntwo\n[^]*eins\ntwo\n/)
    const { inputs } = await second.json('show', merge)
    expect(inputs).toHaveLength(2)
    expect(inputs).toContainEqual(expect.objectContaining({ content: 'eins\ntwo\n' }))
    await first.call(['sync'])
    expect(await first.ok('cat', 'notes.md')).toBe(both)
  })

  test('a redaction tells whose copies may hold the old objects, until they write', async () => {
    const remote = bareRemote()
    const first = await firstMachine(remote)
    const second = await joined(remote)
    await second.ok('create', 'mine.md', '--text', 'mine')
    await second.ok('sync')
    await first.ok('sync')
    const redacted = await first.run(['redact', '--path', 'notes.md', '--delete', '--yes'])
    expect(redacted.stdout).toMatch(
      /^Redactions not taken over yet.*\n {2}dev_\w{26}, owner, last wrote /m,
    )
    const late = /^ {2}has not taken over 1 redaction, of .*, as far as its records show$/m
    expect(await first.ok('device', 'list')).toMatch(late)
    await first.ok('sync')
    expect(await second.ok('sync')).toContain('erased here')
    await second.ok('create', 'more.md', '--text', 'more')
    await second.ok('sync')
    await first.ok('sync')
    expect(await first.ok('device', 'list')).not.toMatch(late)
  })

  test('with a remote that is away says offline, and local work goes on', async () => {
    const remote = bareRemote()
    const first = await firstMachine(remote)
    await first.ok('remote', 'add', 'away', 'http://127.0.0.1:9/x.git')
    const { exitCode, stderr } = await first.call(['sync', 'away'])
    expect(exitCode).toBe(13)
    expect(stderr).toContain('hint:')
    await first.ok('create', 'more.md', '--text', 'more')
    expect((await first.call(['sync', 'origin'])).exitCode).toBe(0)
  })

  test('of a redaction that the remote refuses says what to do, and loses nothing', async () => {
    const remote = bareRemote()
    const home = await firstMachine(remote)
    git(['config', 'receive.denyNonFastForwards', 'true'], remote)
    await home.ok('rm', 'notes.md')
    expect((await home.call(['redact', '--path', 'notes.md', '--yes'])).exitCode).toBe(0)
    const { exitCode, stderr } = await home.call(['sync'])
    expect(exitCode).toBe(REFUSED)
    expect(stderr).toMatch(
      /^gitlocket: The remote refused .*allow forced pushes .*certificate lists/,
    )
    expect(stderr.split('\n')).toEqual([
      expect.any(String),
      expect.stringMatching(/^remote: origin; \d+ commits? (?:is|are) not sent yet$/),
      expect.stringMatching(/^hint: /),
      '',
    ])
    await home.ok('verify', '--absence')
    git(['config', '--unset', 'receive.denyNonFastForwards'], remote)
    expect((await home.call(['sync'])).exitCode).toBe(0)
  })
})
