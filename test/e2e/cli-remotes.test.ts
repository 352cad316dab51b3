// Remotes on the command line: valid addresses, and that any holder of a clone can manage them,
// even an auditor, which cannot open the store.

import { cpSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { makeCertificate, startGitServer } from '../support/git-server.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { pinned } from './cli-machines.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

const openssl = requires('openssl')

interface Machines {
  readonly owner: Home
  readonly other: Home
  /** The device id of the other machine. */
  readonly id: string
  readonly card: string
  readonly remote: string
}

/** An owner whose store is on a remote, and a machine that is not a device yet. */
async function machines(): Promise<Machines> {
  const remote = bareRemote()
  const owner = await newHomeWithStore()
  await owner.ok('create', 'notes.md', '--text', 'hidden text')
  await owner.ok('remote', 'add', 'origin', remote)
  await owner.ok('sync')
  const other = newHome()
  const { stdout } = await other.call(['device', 'card', '--json'])
  const { card, device_id: id } = JSON.parse(stdout)
  return { owner, other, id, card: owner.file('card', card), remote }
}

describe('an auditor', () => {
  test('reports what it can read, and follows a remote that moves', { tags: 'slow' }, async () => {
    const { owner, other, id, card, remote } = await machines()
    const words = ['device', 'add', card, '--role', 'auditor', '--fingerprint', id]
    const added = await owner.ok(...words)
    expect(added).toBe(
      `Added ${hostname()} (${id}) as auditor\n\n` +
        'It can verify every copy of the store that has this change, and list who did what when ' +
        'in it,\nfrom the first commit on. It reads no contents, paths, settings or reasons of ' +
        'changes, not\neven old ones.\n\n' +
        `It joins with: gitlocket join '${await pinned(owner, remote)}'\n`,
    )
    await owner.ok('sync')
    await other.ok('join', await pinned(owner, remote))
    expect(await other.ok('remote', 'list')).toBe(`origin\t${remote}\n`)
    const moved = `${temporaryDirectory()}/moved.git`
    cpSync(remote, moved, { recursive: true })
    rmSync(remote, { recursive: true })
    await other.ok('remote', 'remove', 'origin')
    expect(await other.json('remote', 'add', 'new', moved)).toMatchObject({ url: moved })
    expect(await other.json('remote', 'list')).toEqual({
      data: [{ type: 'remote', name: 'new', url: moved }],
      next_page: null,
    })
    expect((await other.call(['sync'])).stdout).toMatch(/nothing to do/)
    expect(git(['remote', '-v'], other.store)).toContain(moved)
  })

  test('sees its key, its role and the store', { tags: 'slow' }, async () => {
    const { owner, other, id, card, remote } = await machines()
    await owner.ok('device', 'add', card, '--role', 'auditor', '--fingerprint', id)
    await owner.ok('sync')
    await other.ok('join', await pinned(owner, remote))
    const { memory_store_id: store } = await owner.json('status')
    expect(await other.json('key', 'show')).toMatchObject({
      device_id: id,
      memory_store_id: store,
      role: 'auditor',
      signing_key: { type: 'ed25519' },
    })
    expect(await other.ok('key', 'show')).toMatch(/^Role {12}auditor$/m)
  })

  test('that was a writer still reads what it could, and no more', { tags: 'slow' }, async () => {
    const { owner, other, id, card, remote } = await machines()
    await owner.ok('device', 'add', card, '--fingerprint', id)
    await owner.ok('sync')
    await other.ok('join', await pinned(owner, remote))
    expect(await owner.ok('device', 'role', id, 'auditor')).toMatch(
      /no contents or paths of anything written from now on\.\n.*:\n {2}the history so far: 4/,
    )
    await owner.ok('create', 'later.md', '--text', 'later')
    const removed = await owner.ok('device', 'remove', id)
    const lines =
      '  who did what when in 6 commits, and the contents and paths of 4 of them\n' +
      '  1 memory as they are, each until it is written again\n'
    expect(removed).toContain(lines)
    expect(await owner.ok('device', 'list')).toContain('\tstill reads 4 commits, 1 memory\t')
    expect((await owner.json('device', 'list'))['data']).toMatchObject([
      {},
      { residual_access: { commits: 6, commits_with_contents: 4, memories: 1 } },
    ])
    expect(await other.ok('cat', 'notes.md')).toBe('hidden text')
  })

  test('that was never more reads no contents', { tags: 'slow' }, async () => {
    const { owner, id, card } = await machines()
    await owner.ok('device', 'add', card, '--role', 'auditor', '--fingerprint', id)
    expect(await owner.ok('device', 'remove', id)).toMatch(
      /:\n {2}who did what when in 4 commits, without contents or paths\n\nAnyone who used it/,
    )
  })

  test('that becomes a reader can read earlier texts', { tags: 'slow' }, async () => {
    const { owner, id, card } = await machines()
    await owner.ok('device', 'add', card, '--role', 'auditor', '--fingerprint', id)
    expect(await owner.ok('device', 'role', id, 'reader')).toContain('with earlier content')
  })
})

describe('the address of a remote', () => {
  test('may name a state, without which the remote is not synced with', async () => {
    const home = await newHomeWithStore()
    const remote = bareRemote()
    const { address } = await home.json('status')
    const madeUp = `${String(address).slice(0, -26)}${'1'.repeat(26)}`
    await home.ok('remote', 'add', 'origin', `${remote}#${madeUp}`)
    expect(await home.ok('remote', 'list')).toBe(`origin\t${remote}\n`)
    const refused = await home.call(['sync'])
    expect(refused.exitCode).toBe(12)
    expect(refused.stderr).toContain('does not have the state of the store that the address names')
    expect(git(['for-each-ref'], remote)).toBe('')
    await home.ok('remote', 'remove', 'origin')
    await home.ok('remote', 'add', 'origin', `${remote}#${String(address)}`)
    await home.ok('sync')
    // An address without a state releases the remote.
    await home.ok('remote', 'add', 'copy', `${remote}#${madeUp}`)
    expect((await home.call(['sync', 'copy'])).exitCode).toBe(12)
    await home.ok('remote', 'remove', 'copy')
    await home.ok('remote', 'add', 'copy', remote)
    await home.ok('sync', 'copy')
  })

  test('may end in the id of this store, as for `join`', async () => {
    const home = await newHomeWithStore()
    const store = String((await home.json('status'))['memory_store_id'])
    const places = ['/srv/memory.git', 'https://host.example/m', 'me@host.example:m']
    for (const [index, place] of places.entries()) {
      const added = await home.json('remote', 'add', `r${index}`, `${place}#${store}`)
      expect(added).toMatchObject({ url: place })
    }
  })

  test.each(['/srv/memory.git', 'https://host.example/m'])(
    '%s: is refused with the id of another store',
    async (place) => {
      const home = await newHomeWithStore()
      const another = `memstore_${'0'.repeat(26)}`
      const { exitCode, stderr } = await home.call([
        'remote',
        'add',
        'origin',
        `${place}#${another}`,
      ])
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/not of memstore_.*join/s)])
      expect(await home.json('remote', 'list')).toEqual({ data: [], next_page: null })
    },
  )

  test('is not needed to remove a remote, which must exist', async () => {
    const home = await newHomeWithStore()
    const { exitCode, stderr } = await home.call(['remote', 'remove', 'nowhere'])
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('`gitlocket remote list`')])
  })

  test.each(['no directory', 'a file', 'an empty repository'])(
    'needs a store: %s',
    async (what) => {
      const home = newHome()
      if (what === 'a file') home.file('.local/share/gitlocket/store', 'x')
      if (what === 'an empty repository') git(['init', '--quiet', '--bare', home.store], '/')
      expect((await home.call(['remote', 'list'])).exitCode).toBe(7)
    },
  )
})

describe('an https remote', () => {
  const user = { username: 'me', password: 'secret' }

  test.skipIf(openssl.missing)(
    `names the variable for certificates, then the one for the token${openssl.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const tls = makeCertificate()
      const [one, two] = [
        await startGitServer({ repository: bareRemote(), tls, user }),
        await startGitServer({ repository: bareRemote(), tls, user }),
      ]
      await home.ok('remote', 'add', 'one', one.url)
      const distrusted = await home.call(['sync', 'one'])
      expect([distrusted.exitCode, distrusted.stderr]).toEqual([
        14,
        expect.stringMatching(/cannot be trusted.*hint: .*GIT_SSL_CAINFO/s),
      ])
      const trusting = { GIT_SSL_CAINFO: home.file('ca.pem', tls.cert) }
      const unknown = await home.call(['sync', 'one'], trusting)
      expect([unknown.exitCode, unknown.stderr]).toEqual([
        14,
        expect.stringMatching(/hint: .*credential helper of git.*GITLOCKET_TOKEN.*`user:token`/s),
      ])
      const nowhere = { ...trusting, GITLOCKET_TOKEN: 'me:secret' }
      expect(await home.call(['sync', 'one'], nowhere)).toMatchObject({
        exitCode: 14,
        stderr: expect.stringMatching(/set without a host.*GITLOCKET_TOKEN_HOST/s),
      })
      const known = { ...nowhere, GITLOCKET_TOKEN_HOST: new URL(one.url).host }
      expect((await home.call(['sync', 'one'], known)).exitCode).toBe(0)
      await home.ok('remote', 'add', 'two', two.url)
      expect((await home.call(['sync', 'two'], known)).exitCode).toBe(14)
      expect(two.requests.map(({ authorization }) => authorization)).toEqual([undefined])
    },
  )
})

describe('join, before the card of this machine has come to the remote,', () => {
  test('names the owner that must sync, and leaves no files', { tags: 'slow' }, async () => {
    const { owner, other, id, card, remote } = await machines()
    const early = await other.call(['join', await pinned(owner, remote)])
    expect(early).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/new to the store.*owner has to run `gitlocket sync/s),
    })
    await owner.ok('device', 'add', card, '--fingerprint', id)
    const unnamed = await other.call(['join', remote])
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([
      2,
      expect.stringContaining('put `#memstore_…+…`'),
    ])
    await other.ok('join', await pinned(owner, remote))
    expect(await other.ok('cat', 'notes.md')).toBe('hidden text')
  })

  test.skipIf(terminal.missing)(
    `reports that before it asks for a secret${terminal.note}`,
    { tags: 'slow' },
    async () => {
      const { owner, other, remote } = await machines()
      const asked = onTerminal(other, ['join', await pinned(owner, remote)], {
        typed: [['Passphrase or recovery key: ', '\u0003']],
      })
      expect(asked.exitCode).toBe(130)
      expect(asked.screen).toMatch(/new to the store.*`gitlocket sync`.*Passphrase or/s)
    },
  )
})

test.skipIf(terminal.missing)(
  `an auditor who joins is asked once whether the store is the right one${terminal.note}`,
  { tags: 'slow' },
  async () => {
    const { owner, other, id: device, card, remote } = await machines()
    await owner.ok('device', 'add', card, '--role', 'auditor', '--fingerprint', device)
    await owner.ok('sync')
    const { memory_store_id: id } = await owner.json('status')
    const agreed = onTerminal(other, ['join', remote], {
      typed: [
        ['Id of the store, memstore_…: ', `${String(id)}\r`],
        ['and the owners right? [y/N] ', 'y\r'],
      ],
    })
    expect(agreed.exitCode).toBe(0)
  },
)

test.skipIf(terminal.missing)(
  `a join by passphrase asks whether the store is the right one${terminal.note}`,
  { tags: 'slow' },
  async () => {
    const { owner, other, remote } = await machines()
    const passphrase = 'correct horse battery'
    await owner.call(['key', 'passwd'], {
      GITLOCKET_NEW_PASSPHRASE_FILE: owner.file('new', `${passphrase}\n`),
    })
    await owner.ok('sync')
    const typed = (answer: string): [string, string][] => [
      ['Passphrase or recovery key: ', `${passphrase}\r`],
      ['and the owners right? [y/N] ', `${answer}\r`],
    ]
    const status = await owner.json('status')
    const named = `${remote}#${String(status['memory_store_id'])}`
    const declined = onTerminal(other, ['join', named], { typed: typed('n') })
    expect(declined.exitCode).toBe(2)
    expect(declined.screen).toContain(`Members  ${Object(status['keyring_fingerprint']).join(' ')}`)
    expect(declined.screen).toMatch(new RegExp(`Owner .*${String(status['device_id'])}`))
    const agreed = onTerminal(other, ['join', named], { typed: typed('y') })
    expect(agreed.exitCode).toBe(0)
  },
)
