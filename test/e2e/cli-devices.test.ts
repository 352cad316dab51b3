// Devices on the command line: a card is made on one machine, compared and added on another, and a
// removal reports the access that remains.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { sample } from '../support/seed.ts'
import { git } from '../support/temporary.ts'
import { newCard, pinned } from './cli-machines.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

describe('device card', () => {
  test('makes the identity once, and prints the same card again', { tags: 'slow' }, async () => {
    const home = newHome()
    const first = await home.run(['device', 'card'])
    expect(first.exitCode).toBe(0)
    expect(statSync(home.identityFile).mode & 0o777).toBe(0o600)
    const again = await home.call(['device', 'card'])
    expect(again.stdout).toBe(first.stdout)
    const [, id] = /^# gitlocket device card of (dev_\w+)\nGITLOCKET-/.exec(first.stdout) ?? []
    expect(first.stderr).toContain(`Fingerprint: ${id}\n`)
    const secret = /GITLOCKET-IDENTITY-1-(\w+)/.exec(readFileSync(home.identityFile, 'utf8'))?.[1]
    expect(first.stdout).not.toContain(secret?.slice(0, 20))
  })

  test('--out writes a new file and replaces none', async () => {
    const home = newHome()
    const { exitCode, stdout } = await home.call(['device', 'card', '--out', 'card'])
    expect([exitCode, stdout]).toEqual([0, 'Wrote the device card to card\n'])
    expect(readFileSync(join(home.directory, 'card'), 'utf8')).toContain('GITLOCKET-DEVICE-1-')
    expect((await home.call(['device', 'card', '--out', 'card'])).exitCode).toBe(4)
  })
})

describe('device add', () => {
  test.each(
    sample<[role: string, reads: number, writes: number]>(
      [
        ['reader', 0, 6],
        ['auditor', 6, 6],
      ],
      2,
    ),
  )(
    'as %s: reading exits with %i, writing with %i',
    { tags: 'slow' },
    async (role, reads, writes) => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      const { other, file, id } = await newCard(home)
      const added = await home.json('device', 'add', file, '--role', role, '--fingerprint', id)
      expect(added).toMatchObject({
        device_id: id,
        role,
        commit: expect.stringMatching(/^\w{40}$/),
      })
      const there = ['--store', home.store]
      expect((await other.call(['cat', 'a.md', ...there])).exitCode).toBe(reads)
      const written = await other.call(['create', 'b.md', '--text', 'b', ...there])
      expect(written.exitCode).toBe(writes)
      await home.ok('verify')
    },
  )

  test(
    'refuses another fingerprint, and asks for one off a terminal',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { file, id } = await newCard(home)
      const own = String((await home.json('key', 'show'))['device_id'])
      const wrong = await home.call(['device', 'add', file, '--fingerprint', own])
      expect([wrong.exitCode, wrong.stderr]).toEqual([
        2,
        expect.stringMatching(/different fingerprint/),
      ])
      const unasked = await home.run(['device', 'add', file])
      expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining(id)])
      expect(unasked.stderr).toContain('--fingerprint')
      expect(await home.json('status')).toMatchObject({ commits: 1 })
    },
  )

  test('takes the card from standard input', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const { file, id } = await newCard(home)
    const input = readFileSync(file)
    const { exitCode, stdout } = await home.run(['device', 'add', '-', '--yes'], { input })
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringContaining(`Added berta (${id}) as writer\n`),
    ])
    const again = await home.run(['device', 'add', '-', '--yes'], { input })
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringMatching(/already/)])
  })

  test('exits with 2 for a text that is not a card, before the store is opened', async () => {
    const home = newHome()
    const { exitCode, stderr } = await home.call(['device', 'add', home.file('card', 'x'), '--yes'])
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/card is damaged/)])
  })

  test.skipIf(terminal.missing)(
    `on a terminal shows the fingerprint and asks; no is no${terminal.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { file, id } = await newCard(home)
      const shown = 'should it be added as reader? [y/N] '
      const words = ['device', 'add', file, '--role', 'reader']
      const no = onTerminal(home, words, { typed: [[shown, '\r']] })
      expect(no).toEqual({ exitCode: 130, screen: expect.stringContaining(id) })
      expect(await home.json('status')).toMatchObject({ commits: 1 })
      const yes = onTerminal(home, words, { typed: [[shown, 'y\r']] })
      expect(yes).toEqual({ exitCode: 0, screen: expect.stringContaining(`Added berta (${id})`) })
    },
  )
})

describe('device list, role and remove', () => {
  test('show all devices, and the access left to a removed one', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    const { other, file, id } = await newCard(home)
    await home.ok('device', 'add', file, '--yes')
    expect(await home.ok('device', 'list')).toMatch(
      new RegExp(
        `^${hostname()}\towner\t\\S+\t\\S+\t\tthis machine\tdev_\\w+\n` +
          `berta\twriter\t\\S+\t\t\t\t${id}\n$`,
      ),
    )
    const short = id.slice(4, 12)
    expect(await home.ok('device', 'role', short, 'reader')).toBe(
      `berta (${id}) is now reader\n\nNew keys.\n`,
    )
    expect(await home.ok('device', 'role', short, 'reader')).toBe(
      `berta (${id}) is already reader\n`,
    )
    const removed = await home.ok('device', 'remove', 'berta')
    expect(removed).toMatch(
      new RegExp(
        `^Removed berta \\(${id}\\)\n\nNew keys. ` +
          'The removed device cannot read anything written from now on.',
      ),
    )
    expect(removed).toContain('  the history so far: 5 commits\n  1 memory as they are')
    const { data: devices } = await home.json('device', 'list')
    expect(devices).toMatchObject([
      { role: 'owner', active: true, this_device: true, removed_at: null, residual_access: null },
      { type: 'device', id, active: false, residual_access: { commits: 5, memories: 1 } },
    ])
    expect((await other.call(['ls', '--store', home.store])).exitCode).toBe(8)
    await home.ok('verify')
  })

  test.each(
    sample<[string, number, string[], RegExp]>(
      [
        ['an unknown device', 3, ['remove', 'dev_zzzz'], /device list/],
        ['too few digits', 3, ['remove', 'dev_'], /at least 4 digits/],
        ['an unknown role', 2, ['role', 'dev_zzzz', 'root'], /owner, writer, reader, auditor/],
      ],
      2,
    ),
  )('refuse %s and exit with %d', async (_, code, words, problem) => {
    const home = await newHomeWithStore()
    const { exitCode, stderr } = await home.call(['device', ...words])
    expect([exitCode, stderr]).toEqual([code, expect.stringMatching(problem)])
  })

  test('the last owner cannot be removed', async () => {
    const home = await newHomeWithStore()
    const own = String((await home.json('key', 'show'))['device_id'])
    const { exitCode, stderr } = await home.call(['device', 'remove', own])
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/last owner/)])
  })
})

describe('audit', () => {
  test(
    'verifies and lists the trail of a plain clone, without contents',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok(
        'create',
        'secret-name.md',
        '--text',
        'secret text',
        '--reason',
        'secret reason',
      )
      const { other, file, id } = await newCard(home)
      await home.ok('device', 'add', file, '--role', 'auditor', '--yes')
      await home.ok('rm', 'secret-name.md', '--session', 'cleaning')
      const clone = join(other.directory, 'clone')
      git(['clone', '--quiet', '--bare', home.store, clone], other.directory)
      const text = await other.ok('audit', '--store', clone)
      expect(text).toMatch(
        /^Verified the trail: 4 commits, 0 memories; the head is \w{40}\nWords:( [a-z]+){12}\n\nc/,
      )
      expect(text).toContain(`\nWhat:    devices or keys\n  added berta (${id}) as auditor\n`)
      expect(text).toMatch(
        /\nSession: cleaning\nWhat: {4}change\n {2}deleted {2}memver_\w+ of mem_\w+\n/,
      )
      const json = await other.json('audit', '--session', 'cleaning', '--store', clone)
      expect(json).toMatchObject({
        verified: true,
        role: 'auditor',
        commits: 4,
        data: [
          {
            type: 'audit_entry',
            kind: 'change',
            session_id: 'cleaning',
            versions: [{ operation: 'deleted' }],
          },
        ],
      })
      expect(text + JSON.stringify(json)).not.toContain('secret')
      expect((await other.json('audit', '-n', '2', '--store', clone))['data']).toHaveLength(2)
    },
  )

  test(
    'needs no more than `join` and `sync` on the machine of an auditor',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { other, file } = await newCard(home)
      await home.ok('device', 'add', file, '--role', 'auditor', '--yes')
      const remote = bareRemote()
      await home.ok('remote', 'add', 'origin', remote)
      await home.ok('sync')
      const joined = await other.call(['join', await pinned(home, remote)])
      expect([joined.exitCode, joined.stderr]).toEqual([0, ''])
      expect(joined.stdout).toMatch(
        /^This machine may verify the trail of memstore_.*2 commits, up/s,
      )
      expect((await other.call(['sync'])).stdout).toMatch(/nothing to do/)
      await home.ok('create', 'secret-name.md', '--text', 'secret text')
      await home.ok('sync')
      const pulled = await other.call(['pull', '--json'])
      expect(pulled.stdout + (await other.ok('audit'))).not.toContain('secret')
      expect(JSON.parse(pulled.stdout)).toMatchObject({
        remote: 'origin',
        received: { commits: 1 },
      })
      const pushed = await other.call(['push'])
      expect([pushed.exitCode, pushed.stderr]).toEqual([6, expect.stringContaining('audit')])
    },
  )

  test('its trail proves the certificate of a redaction', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const { other, file } = await newCard(home)
    await home.ok('device', 'add', file, '--role', 'auditor', '--yes')
    await home.ok('create', 'a.md', '--text', 'text')
    const proof = join(home.directory, 'proof.json')
    await home.call(['redact', '--path', 'a.md', '--delete', '--yes', '--certificate', proof])
    const words = ['certificate', 'verify', proof]
    const here = ['--store', home.store]
    expect(await other.json(...words, ...here)).toMatchObject({ verified_by: 'store' })
    expect((await other.call(words)).exitCode).toBe(4)
    const third = newHome()
    await third.ok('init')
    const elsewhere = await third.call(words)
    expect(elsewhere.exitCode).toBe(11)
    expect(elsewhere.stderr).toMatch(/certificate is of the store memstore_.*hint: --store names/s)
  })

  test('other commands point an auditor to it; it serves owners as well', async () => {
    const home = await newHomeWithStore()
    const { other, file } = await newCard(home)
    await home.ok('device', 'add', file, '--role', 'auditor', '--yes')
    for (const words of [['ls'], ['verify'], ['log']]) {
      const { exitCode, stderr } = await other.call([...words, '--store', home.store])
      expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/auditor.*`gitlocket audit`/s)])
    }
    expect(await home.json('audit')).toMatchObject({ role: 'owner', commits: 2 })
  })
})

describe('key recovery', () => {
  test(
    'makes a key that opens the store, and the old one no longer does',
    { tags: 'slow' },
    async () => {
      const home = newHome()
      const { recovery_key: old } = await home.json('init')
      const made = await home.json('key', 'recovery', '--yes')
      expect(made).toMatchObject({ epochs: 2, residual_access: { commits: 2, memories: 0 } })
      expect(await joinWith(home, String(old))).toBe(8)
      expect(await joinWith(home, String(made['recovery_key']))).toBe(0)
      const beside = await home.json('key', 'recovery', '--keep-old')
      expect(beside).toMatchObject({ epochs: 2, residual_access: null })
      expect(await joinWith(home, String(made['recovery_key']))).toBe(0)
      expect(await joinWith(home, String(beside['recovery_key']))).toBe(0)
      await home.ok('verify')
    },
  )

  async function joinWith(home: Home, key: string): Promise<number> {
    const other = newHome()
    const env = { GITLOCKET_RECOVERY_KEY_FILE: other.file('key', key) }
    const { exitCode } = await other.call(['recover', '--store', home.store], env)
    expect(existsSync(other.identityFile)).toBe(exitCode === 0)
    return exitCode
  }
})

describe('device remove', () => {
  test(
    'names the secrets that its user may know, and replaces them',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { file, id } = await newCard(home)
      await home.ok('device', 'add', file, '--fingerprint', id)
      const told = await home.ok('device', 'remove', id)
      expect(told).toContain('may know the recovery key, with which a new device joins.')
      const next = await newCard(home)
      await home.ok('device', 'add', next.file, '--fingerprint', next.id)
      const made = await home.ok('device', 'remove', next.id, '--rotate-secrets')
      expect(made).not.toContain('may know')
      expect(made).toMatch(/^ {2}GLKR1-(?:\w{8}-){7}\w{8}$/m)
    },
  )

  test('without the remote waits, and tells that no secret was replaced', async () => {
    const home = await newHomeWithStore()
    const { file, id } = await newCard(home)
    await home.ok('device', 'add', file, '--fingerprint', id)
    await home.ok('remote', 'add', 'origin', join(home.directory, 'away.git'))
    const told = await home.ok('device', 'remove', id, '--rotate-secrets', '--when-online')
    expect(told).toMatch(new RegExp(`the next sync that does removes .*${id}`))
    expect(told).toContain('are not replaced: once the remote can be reached')
    const plain = await home.ok('device', 'remove', id, '--when-online')
    expect(plain).not.toContain('are not replaced')
  })

  test.skipIf(terminal.missing)(
    `asks on a terminal whether to replace them${terminal.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { file, id } = await newCard(home)
      await home.ok('device', 'add', file, '--fingerprint', id)
      const asked = onTerminal(home, ['device', 'remove', id], {
        typed: [
          ['never returns. [y/N] ', 'y\r'],
          ['Replace them too? [y/N] ', 'y\r'],
        ],
      })
      expect(asked.exitCode).toBe(0)
      expect(asked.screen).toContain('Recovery key, shown this once')
    },
  )
})
