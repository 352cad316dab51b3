// The messages for a remote that is refused or missing: which remote, which commits were not sent,
// and what to do. A refused remote must not read as local damage.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { type PairOfMachines, pairsOfMachines, pinned } from './cli-machines.ts'
import { type Ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

const NOT_FOUND = 3
const CONFLICT = 4
const NOT_A_STORE = 7
const WRONG_KEY = 8
const BUSY = 10
const TAMPERED = 11
const ROLLED_BACK = 12
const OFFLINE = 13

const newPair = pairsOfMachines()

const evidence = 'gitlocket/refused/origin'
const away = 'http://127.0.0.1:9/x.git'

function at(remote: string, revision: string): string {
  return git(['rev-parse', revision], remote).trim()
}

/** A commit that any client with push access can make, with this tree, on top or without parent. */
function junkOn(remote: string, parents: readonly string[] = ['main']): string {
  const words = parents.flatMap((parent) => ['-p', parent])
  const tree = parents.length > 0 ? 'main^{tree}' : git(['mktree'], remote, '').trim()
  const junk = git(['commit-tree', tree, ...words, '-m', 'mine'], remote).trim()
  git(['update-ref', 'refs/heads/main', junk], remote)
  return junk
}

function foreignRepository(): string {
  const repository = bareRemote()
  junkOn(repository, [])
  return repository
}

/** Its refs and its files. */
function stateOf(repository: string): unknown {
  const files = readdirSync(repository, { recursive: true, encoding: 'utf8' }).toSorted()
  return [git(['for-each-ref'], repository), files]
}

function refOf(home: Home, ref: string): string {
  return git(['for-each-ref', '--format=%(objectname)', ref], home.store).trim()
}

/** The refused head that a store keeps. */
function keptBy({ store }: Home): string {
  const kept = `${store}/${evidence}`
  return existsSync(`${kept}/HEAD`) ? at(kept, 'main') : ''
}

/** The error names the remote and not the local store. */
function expectRefusal({ exitCode, stderr }: Ended, code: number, ...parts: string[]): void {
  expect([exitCode, stderr]).toEqual([code, expect.not.stringContaining('store: ')])
  for (const part of parts) expect(stderr).toContain(part)
  expect(stderr).toMatch(/nothing (?:of it )?was taken over/i)
}

describe('a remote that holds another store', () => {
  test.each([['sync'], ['pull']])(
    '%s refuses it and offers `join`',
    { tags: 'slow' },
    async (verb) => {
      const { home, remote, before } = await beforeAnother()
      const refused = await home.call([verb])
      const join = 'hint: `gitlocket join <its address> --store <new directory>`'
      expectRefusal(refused, TAMPERED, 'holds another store', 'remote: origin', join)
      expect(at(remote, 'main')).toBe(before)
      expect(refOf(home, 'refs/remotes/origin/main')).toBe('')
    },
  )

  test('push asks to pull first', { tags: 'slow' }, async () => {
    const { home, remote, before } = await beforeAnother()
    const { exitCode, stderr } = await home.call(['push'])
    expect([exitCode, stderr]).toEqual([
      BUSY,
      expect.stringContaining('pull first, or sync\nremote: origin'),
    ])
    expect(at(remote, 'main')).toBe(before)
    expect(refOf(home, 'refs/remotes/origin/main')).toBe('')
  })

  test('does not match its pin: `join` names the address', { tags: 'slow' }, async () => {
    const { remote } = await newPair()
    const other = String((await (await newHomeWithStore()).json('status'))['memory_store_id'])
    const home = newHome()
    const url = `${remote}#${other}`
    const { exitCode, stderr } = await home.call(['join', url], keyFile(home, 'GLKR1-'))
    expect([exitCode, stderr]).toEqual([WRONG_KEY, expect.stringContaining('typing error')])
    const key = String(
      (await (await newHomeWithStore()).json('key', 'recovery', '--yes'))['recovery_key'],
    )
    const refused = await home.call(['join', url], keyFile(home, key))
    expect([refused.exitCode, refused.stderr]).toEqual([
      TAMPERED,
      expect.stringContaining(`remote: ${url}\nhint: Check the address and the id after #`),
    ])
  })
})

/** A store whose remote is that of another one. */
async function beforeAnother(): Promise<{ home: Home; remote: string; before: string }> {
  const { remote } = await newPair()
  const home = await newHomeWithStore()
  await home.ok('remote', 'add', 'origin', remote)
  return { home, remote, before: at(remote, 'main') }
}

function keyFile(home: Home, key: string): Record<string, string> {
  return { GITLOCKET_RECOVERY_KEY_FILE: home.file('recovery-key', `${key}\n`) }
}

describe('a remote that was tampered with', () => {
  test.each<[name: string, attack: (remote: string) => string]>([
    ['a foreign commit on top', (remote) => junkOn(remote)],
    ['a repository of something else', (remote) => junkOn(remote, [])],
  ])('%s is refused, kept as evidence, and repaired', { tags: 'slow' }, async (_, attack) => {
    const { first, remote } = await newPair()
    const head = at(remote, 'main')
    await first.ok('create', 'more.md', '--text', 'more')
    const junk = attack(remote)
    const refused = await first.call(['sync'])
    const repair = '`gitlocket sync origin --repair` replaces what the remote shows'
    expectRefusal(
      refused,
      TAMPERED,
      'remote: origin; nothing was taken over; 1 commit is not sent yet',
      repair,
    )
    expect(refused.stderr).toContain(`evidence: ${evidence} keeps the refused pack\n`)
    expect(keptBy(first)).toBe(junk)
    expect(await first.ok('status')).toContain(
      `The last pack from origin was refused, and is kept in ${evidence}  gitlocket sync\n`,
    )
    const { error } = JSON.parse((await first.call(['sync', '--json'])).stderr)
    const facts = { remote: 'origin', unsent_commits: 1, evidence }
    expect(error).toMatchObject({ code: 'commit_malformed', ...facts })
    await first.ok('sync', '--repair')
    expect(keptBy(first)).toBe('')
    expect(git(['merge-base', '--is-ancestor', head, 'main'], remote)).toBe('')
  })

  test(
    'a foreign commit is kept in addition to redactions, if it holds none of their texts',
    { tags: 'slow' },
    async () => {
      const { first, remote } = await newPair()
      const before = at(remote, 'main')
      await first.ok('create', 'leak.md', '--text', 'sk-leaked')
      await first.ok('sync')
      const leaking = at(remote, 'main')
      await first.call(['redact', '--path', 'leak.md', '--delete', '--yes'])
      await first.ok('sync')
      const junk = junkOn(remote)
      expectRefusal(await first.call(['sync']), TAMPERED, `evidence: ${evidence}`)
      expect(keptBy(first)).toBe(junk)
      await first.ok('sync', '--repair')
      // The host has kept erased objects, and shows them below a commit or in another tree.
      for (const parents of [[leaking], [before]]) {
        const tree = `${leaking}^{tree}`
        const words = parents.flatMap((parent) => ['-p', parent])
        const forged = git(['commit-tree', tree, ...words, '-m', 'mine'], remote).trim()
        git(['update-ref', 'refs/heads/main', forged], remote)
        const refused = await first.call(['sync'])
        expectRefusal(refused, TAMPERED)
        expect(refused.stderr).not.toContain('evidence: ')
        expect(keptBy(first)).toBe('')
      }
    },
  )

  test.each<[name: string, attack: (remote: string) => void]>([
    ['rolled back', (remote) => void git(['update-ref', 'refs/heads/main', 'main~1'], remote)],
    ['emptied', (remote) => void git(['update-ref', '-d', 'refs/heads/main'], remote)],
  ])('%s: says how to compare, and how to repair it', { tags: 'slow' }, async (_, attack) => {
    const { first, remote } = await newPair()
    const head = at(remote, 'main')
    attack(remote)
    const repair = '`gitlocket sync origin --repair`'
    expectRefusal(await first.call(['sync']), ROLLED_BACK, 'Compare the words', repair)
    await first.ok('sync', '--repair')
    expect(at(remote, 'main')).toBe(head)
  })

  test('a repository that never was a store is a mistake', async () => {
    const home = await newHomeWithStore()
    await home.ok('remote', 'add', 'origin', foreignRepository())
    expectRefusal(await home.call(['sync']), NOT_A_STORE, 'not a store', 'Check the address')
  })

  test('an auditor gets the same message', { tags: 'slow' }, async () => {
    const { first, remote } = await newPair()
    const auditor = await auditorOf(first, remote)
    const words = (await first.json('status'))['head_fingerprint']
    expect(await auditor.json('audit')).toMatchObject({ head_fingerprint: words })
    junkOn(remote)
    const refused = await auditor.call(['sync'])
    expectRefusal(refused, TAMPERED, 'the words of `gitlocket audit`', '--repair')
  })
})

/** A machine that has joined as an auditor, once the owner knows of it. */
async function auditorOf(owner: Home, remote: string): Promise<Home> {
  const auditor = newHome()
  const { card, device_id: id } = await auditor.json('device', 'card')
  const file = owner.file('card', String(card))
  await owner.ok('device', 'add', file, '--role', 'auditor', '--fingerprint', String(id))
  await owner.ok('sync')
  const joined = await auditor.call(['join', await pinned(owner, remote)])
  const { head_fingerprint: words } = await owner.json('status')
  expect(joined.stdout).toContain(`\n  Words        ${[words].flat().join(' ')}\n`)
  return auditor
}

describe('a device that was removed', () => {
  test('explains what to save and how to rejoin, which works', { tags: 'slow' }, async () => {
    const { first, second, remote } = await newPair()
    const id = String((await second.json('key', 'show'))['device_id'])
    await first.ok('device', 'remove', id)
    const made = await first.json('key', 'recovery', '--yes')
    await first.ok('sync')
    await second.ok('create', 'own.md', '--text', 'only here')
    const refused = await second.call(['sync'])
    const hints = ['`gitlocket export <directory>`', 'identity file away', '`gitlocket join ']
    expectRefusal(refused, WRONG_KEY, 'removed it or locked it out', ...hints)
    await second.ok('export', 'saved')
    expect(readFileSync(`${second.directory}/saved/own.md`, 'utf8')).toBe('only here')
    rmSync(second.identityFile)
    const words = ['join', await pinned(first, remote), '--store', `${second.directory}/anew`]
    const joined = await second.call(words, keyFile(second, String(made['recovery_key'])))
    expect([joined.exitCode, joined.stderr]).toEqual([0, ''])
    await second.ok('create', 'own.md', '--text', 'again', ...words.slice(2))
    await second.ok('sync', ...words.slice(2))
  })
})

describe('several remotes', () => {
  async function withTwo(): Promise<PairOfMachines> {
    const pair = await newPair()
    await pair.first.ok('remote', 'add', 'web', away)
    await pair.first.ok('create', 'more.md', '--text', 'more')
    return pair
  }

  test('failures go to standard error, reports to standard output', { tags: 'slow' }, async () => {
    const { first } = await withTwo()
    const { exitCode, stdout, stderr } = await first.call(['sync'])
    expect(exitCode).toBe(OFFLINE)
    expect(stdout).toMatch(/^origin: sent 1 commit[^]*\n {2}words [a-z ]+\n$/)
    expect(stderr).toMatch(/^gitlocket: .*\nremote: web\nhint: .*\n$/)
    expect(await first.ok('status')).toMatch(
      /^Remote {5}origin: synced on \S+, nothing to send\n {11}web: never synced\n/m,
    )
  })

  test('with --json are one value in their order, errors included', { tags: 'slow' }, async () => {
    const { first } = await withTwo()
    const { stdout, stderr } = await first.call(['sync', '--json'])
    const error = expect.objectContaining({ code: 'remote_unreachable', remote: 'web' })
    expect(JSON.parse(stdout)).toEqual({
      data: [
        expect.objectContaining({ type: 'sync', remote: 'origin', merged_elsewhere: [] }),
        { remote: 'web', type: 'error', error },
      ],
      next_page: null,
    })
    expect(JSON.parse(stderr)).toEqual({ type: 'error', error })
  })
})

describe('a missing remote or store', () => {
  test.each<[words: string[], hint: string]>([
    [['sync'], '`gitlocket remote add origin <url>` names one'],
    [['push', 'nowhere'], '`gitlocket remote list` shows the remotes'],
  ])('%s', async (words, hint) => {
    const home = await newHomeWithStore()
    const { exitCode, stderr } = await home.call(words)
    expect([exitCode, stderr]).toEqual([NOT_FOUND, expect.stringContaining(`hint: ${hint}\n`)])
  })

  test('joining an empty remote names the commands that send the store', async () => {
    const home = newHome()
    const { recovery_key: made, memory_store_id: id } = await newHome().json('init')
    const key = String(made)
    const { exitCode, stderr } = await home.call(
      ['join', `${bareRemote()}#${String(id)}`],
      keyFile(home, key),
    )
    expect([exitCode, stderr]).toEqual([NOT_FOUND, expect.stringContaining('`gitlocket sync`')])
  })

  test('joining with a mistyped recovery key does not blame the identity file', async () => {
    const home = newHome()
    const { recovery_key: key, memory_store_id: id } = await newHome().json('init')
    const mistyped = String(key).replace(/.$/, (last) => (last === '2' ? '3' : '2'))
    const { exitCode, stderr } = await home.call(
      ['join', `${away}#${String(id)}`],
      keyFile(home, mistyped),
    )
    expect([exitCode, stderr]).toEqual([
      WRONG_KEY,
      expect.stringMatching(/^gitlocket: The recovery key has a typing error .*\nhint: Compare/),
    ])
  })

  test.each([[true], [false]])(
    'init leaves another repository alone: identity %s',
    async (known) => {
      const home = known ? await newHomeWithStore() : newHome()
      const other = foreignRepository()
      const before = stateOf(other)
      const { exitCode, stderr } = await home.call(['init', '--store', other])
      expect([exitCode, stderr]).toEqual([
        CONFLICT,
        expect.stringMatching(/not a store.*\nhint: --store/),
      ])
      expect(stateOf(other)).toEqual(before)
    },
  )
})

describe('a merge made elsewhere', () => {
  test(
    'is reported to a machine that receives it, with the devices of both sides',
    { tags: 'slow' },
    async () => {
      const { first, second } = await newPair()
      await first.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'eins')
      await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
      await first.ok('sync')
      expect((await second.call(['sync'])).stdout).not.toContain('elsewhere')
      const summary =
        '  merges elsewhere combined both sides in 1 version (/notes.md): `gitlocket conflicts`'
      const taken = await first.call(['sync'])
      expect([taken.exitCode, taken.stdout]).toEqual([0, expect.stringContaining(summary)])
      const [id] = /memver_\w{26}/.exec(await first.ok('conflicts')) ?? []
      const devices = [...(await first.ok('show', String(id))).matchAll(/^Device: {3}(dev_\w+)$/gm)]
      expect(devices.length).toBe(3)
      const status = await first.json('status')
      expect(status['head_fingerprint']).toEqual((await second.json('status'))['head_fingerprint'])
      const words = [status['head_fingerprint']].flat().join(' ')
      expect(await first.ok('status')).toContain(`\nWords      ${words}\n`)
      await first.ok('create', 'more.md', '--text', 'more')
      await first.ok('sync')
      const later = await second.call(['sync'])
      expect(later.stdout).not.toContain('elsewhere')
    },
  )
})
