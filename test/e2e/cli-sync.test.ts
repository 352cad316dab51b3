// The command line on two machines with one remote between them. Row 8 is one of those that
// peers-failures.test.ts is about.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { git, sharedDirectory } from '../support/temporary.ts'
import { pairsOfMachines } from './cli-machines.ts'
import { type Home, newHome, sharedHome } from './cli-process.ts'

const REFUSED = 14
const NOTHING_TO_DO = 15
const CONFLICTS_KEPT = 16
const passphrase = 'correct horse battery'

function inFile(home: Home, text: string): Record<string, string> {
  return { GITLOCKET_PASSPHRASE_FILE: home.file('passphrase', `${text}\n`) }
}

/** With notes.md of three lines; the passphrase, which costs an Argon2id, is tested separately. */
const newPair = pairsOfMachines()

describe('row 8: a second machine', () => {
  const first = sharedHome()
  const remote = join(sharedDirectory(), 'remote.git')
  let [storeId, address] = ['', '']
  const pinned = (): string => `${remote}#${address}`
  beforeAll(async () => {
    git(['init', '--quiet', '--bare', '--initial-branch=main', remote], '/')
    const made = await first.call(['init'], inFile(first, passphrase))
    expect(made.stdout).toContain('Passphrase   set')
    storeId = /memstore_\w{26}/.exec(made.stdout)?.[0] ?? ''
    await first.ok('create', 'notes.md', '--text', 'one\ntwo\n')
    await first.ok('remote', 'add', 'origin', remote)
    await first.ok('sync')
    address = String((await first.json('status'))['address'])
  })

  test('takes two commands and one secret', { tags: 'slow' }, async () => {
    const second = newHome()
    const joined = await second.run(['join', pinned()], { env: inFile(second, passphrase) })
    expect(joined.stdout).toMatch(/^This machine is now a device of memstore_\w{26}\n/)
    expect(await second.ok('view', 'notes.md')).toContain('two')
  })

  test(
    'with a wrong passphrase gets a distinct exit code, and nothing is written',
    { tags: 'slow' },
    async () => {
      const head = git(['rev-parse', 'main'], remote)
      const second = newHome()
      const env = inFile(second, 'quite another one')
      const { exitCode, stderr } = await second.call(['join', pinned()], env)
      expect(exitCode).toBe(8)
      expect(stderr).toContain('The passphrase is wrong')
      expect(existsSync(second.store)).toBe(false)
      expect(git(['rev-parse', 'main'], remote)).toBe(head)
    },
  )

  test(
    'by passphrase needs the id of the store if no one can confirm it',
    { tags: 'slow' },
    async () => {
      const second = newHome()
      const { exitCode, stderr } = await second.call(['join', remote], inFile(second, passphrase))
      expect(exitCode).toBe(2)
      expect(stderr).toContain('put `#memstore_…+…`')
      // The id that the remote shows is not printed: it would be copied without comparing.
      expect(stderr).not.toContain(storeId)
      expect(existsSync(second.store)).toBe(false)
    },
  )

  test('with another store cannot replace the one on the remote', { tags: 'slow' }, async () => {
    const head = git(['rev-parse', 'main'], remote)
    const second = newHome()
    await second.ok('init')
    await second.ok('remote', 'add', 'origin', remote)
    const { exitCode, stderr } = await second.call(['sync'])
    expect(exitCode).toBe(11)
    expect(stderr).toContain('another store')
    expect(git(['rev-parse', 'main'], remote)).toBe(head)
  })
})

describe('sync', () => {
  const detailed = ['sync', '--exit-code'] as const

  test('exits with 0 if there was nothing to do', { tags: 'slow' }, async () => {
    const { first } = await newPair()
    expect(await first.ok('sync')).toContain('nothing to do')
    expect(await first.ok('pull')).toContain('nothing to do')
    expect(await first.ok('push')).toContain('nothing to do')
  })

  test('--exit-code reports whether anything moved', { tags: 'slow' }, async () => {
    const { first, second } = await newPair()
    expect((await first.run(detailed)).exitCode).toBe(NOTHING_TO_DO)
    await second.ok('create', 'more.md', '--text', 'more')
    await second.ok(...detailed)
    expect((await first.run(detailed)).exitCode).toBe(0)
    expect((await second.call(['pull', '--exit-code'])).exitCode).toBe(NOTHING_TO_DO)
  })

  test('exits with 0 after a merge that combined edits', { tags: 'slow' }, async () => {
    const { first, second } = await newPair()
    await first.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'eins')
    await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
    await first.ok('sync')
    expect(await second.ok('sync')).toContain('/notes.md: both sides edited the same lines')
  })

  test(
    'keeps both sides of an edit, lists it, and --exit-code reports it',
    { tags: 'slow' },
    async () => {
      const { first, second } = await newPair()
      await first.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'eins')
      await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
      await first.call(['sync'])
      const merged = await second.call(detailed)
      expect(merged.exitCode).toBe(CONFLICTS_KEPT)
      expect(merged.stdout).toContain('/notes.md: both sides edited the same lines')
      // Which of the two is the older one, when both have the same height, their record hashes say.
      const both = await second.ok('cat', 'notes.md')
      expect(['eins\nuno\ntwo\nthree\n', 'uno\neins\ntwo\nthree\n']).toContain(both)
      const listed = await second.ok('conflicts')
      expect(listed).toMatch(/^\/notes\.md\t(?:eins|uno)\tboth kept\t/)
      for (const home of [first, second]) {
        const id = String((await home.json('status'))['device_id'])
        expect(listed).toContain(id)
        expect(await second.ok('conflicts', '--json')).toContain(`"device_id":"${id}"`)
      }
      const merge = /memver_\w{26}/.exec(listed)?.[0] ?? ''
      const shown = await second.ok('show', merge)
      expect(shown).toContain('\nInput 1 of 2\nversion memver_')
      expect(shown).toMatch(/eins\ntwo\n[^]*uno\ntwo\n|uno\ntwo\n[^]*eins\ntwo\n/)
      const { inputs } = await second.json('show', merge)
      expect(inputs).toHaveLength(2)
      expect(inputs).toContainEqual(expect.objectContaining({ content: 'eins\ntwo\nthree\n' }))
      await first.call(['sync'])
      expect(await first.ok('cat', 'notes.md')).toBe(both)
    },
  )

  test('a conflict is listed until it is marked, on each device', { tags: 'slow' }, async () => {
    const { first, second } = await newPair()
    await first.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'eins')
    await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
    for (const home of [first, second, first]) await home.ok('sync')
    const { data } = JSON.parse(await second.ok('conflicts', '--json'))
    expect(data).toMatchObject([{ type: 'conflict', seen: false }])
    const id = String(data[0].memory_version_id)
    const unknown = await second.call(['conflicts', '--seen', `memver_${'0'.repeat(26)}`])
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      3,
      expect.stringContaining('not a conflict'),
    ])
    const marked = 'Marked 1 conflict as looked at on this device\n'
    expect(await second.ok('conflicts', '--seen', id.slice(0, 17))).toBe(marked)
    expect(await second.call(['conflicts'])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: 'Each one was looked at on this device; --all lists them\n',
    })
    expect(await second.json('conflicts', '--all')).toMatchObject({ data: [{ seen: true }] })
    expect(await second.ok('conflicts', '--seen')).toMatch(/^Marked 0 conflicts/)
    expect(await first.ok('conflicts')).toContain(id)
  })

  test(
    'a redaction names devices that may hold old objects, until they write',
    { tags: 'slow' },
    async () => {
      const { first, second } = await newPair()
      await second.ok('create', 'mine.md', '--text', 'mine')
      await second.ok('sync')
      await first.ok('sync')
      const redacted = await first.call(['redact', '--path', 'notes.md', '--delete', '--yes'])
      expect(redacted.stdout).toMatch(
        /^Waiting for confirmation from\n {2}.*\towner\t\S+Z\t\tdev_\w{26}$/m,
      )
      const late = /\t1 redaction unconfirmed since \S+\tdev_/
      expect(await first.ok('device', 'list')).toMatch(late)
      await first.ok('sync')
      expect(await second.ok('sync')).toContain('that another device redacted')
      await second.ok('create', 'more.md', '--text', 'more')
      await second.ok('sync')
      await first.ok('sync')
      expect(await first.ok('device', 'list')).not.toMatch(late)
    },
  )

  test(
    'an edit that did not know of a redaction is named, with the command that redacts it',
    { tags: 'slow' },
    async () => {
      const { first, second } = await newPair()
      await second.ok('str-replace', 'notes.md', '--old', 'three', '--new', 'four')
      const words = ['redact', '--path', 'notes.md', '--delete', '--yes']
      await first.call([...words, '--certificate', 'proof.json'])
      await first.call(['sync'])
      const { stdout } = await second.call(['sync'])
      const command = /`gitlocket (redact --with-copies memver_\w{26})`/.exec(stdout)?.[1] ?? ''
      expect(stdout).toContain('2 versions may repeat redacted text')
      await first.call(['sync'])
      for (const home of [first, second]) {
        const { stdout: proof, exitCode } = await home.call(['verify', '--absence'])
        expect(exitCode).toBe(11)
        expect(proof).toContain(command)
      }
      expect(await first.ok('certificate', 'verify', 'proof.json')).toContain(command)
      await first.call([...command.split(' '), '--delete', '--yes'])
      await first.call(['sync'])
      await second.call(['sync'])
      for (const home of [first, second]) {
        expect(await home.ok('verify', '--absence')).toMatch(/: nothing is left$/m)
      }
    },
  )

  test(
    'with an unreachable remote reports offline, and local work continues',
    { tags: 'slow' },
    async () => {
      const { first } = await newPair()
      await first.ok('remote', 'add', 'away', 'http://127.0.0.1:9/x.git')
      const { exitCode, stderr } = await first.call(['sync', 'away'])
      expect(exitCode).toBe(13)
      expect(stderr).toContain('hint:')
      await first.ok('create', 'more.md', '--text', 'more')
      expect((await first.call(['sync', 'origin'])).exitCode).toBe(0)
    },
  )

  test(
    'of a redaction that the remote refuses names the next step, and loses nothing',
    { tags: 'slow' },
    async () => {
      const { first: home, remote } = await newPair()
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
    },
  )
})
