// The worst failures that users of comparable tools report, one test each, named after the failure
// and the row of the ranking of asks that it belongs to: 3, conflicts in encrypted files; 4, sync
// that wipes, stalls or lies; 5, removing a device and rotating keys. Row 8, setting up a second
// machine, is in cli-sync.test.ts.
// @module-tag slow

import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatDeviceCard, type MemoryStore, openStore, parseIdentity } from '../../src/index.ts'
import { fetching, on, stall, startGitServer } from '../support/git-server.ts'
import { branchOf, copyRemote, moveBranch } from '../support/hostile-remotes.ts'
import { author } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { nextMachine, pairsOfMachines, pinned } from './cli-machines.ts'
import { ended, type Home, newHome } from './cli-process.ts'

const TAMPERED = 11
const ROLLED_BACK = 12
const OFFLINE = 13
const REFUSED = 14
const CONFLICTS_KEPT = 16
const WRONG_KEY = 8
const CANCELLED = 130

/** Does something on a machine, as its device, in this process. */
async function as(home: Home, work: (store: MemoryStore) => Promise<unknown>): Promise<void> {
  const identity = await parseIdentity(readFileSync(home.identityFile, 'utf8'))
  const { store: directory, stateDirectory } = home
  const store = await openStore({ directory, stateDirectory, identity })
  await work(store)
  await store.close()
}

function edit(home: Home, from: string, to: string): Promise<void> {
  const change = { type: 'edit', path: '/notes.md', edit: (text: string) => text.replace(from, to) }
  return as(home, (store) => store.as(author).apply([{ ...change, type: 'edit' }]))
}

function create(home: Home, path: string): Promise<void> {
  return as(home, (store) => store.as(author).apply([{ type: 'create', path, content: path }]))
}

function send(home: Home): Promise<void> {
  return as(home, (store) => store.as(author).sync())
}

const pair = pairsOfMachines()

describe('row 3', () => {
  test(
    'a conflict shows markers in ciphertext, and blocks all the rest',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      // The same line on both sides, and one more on each.
      await edit(first, 'one\ntwo', 'eins\nzwei')
      await edit(second, 'two\nthree', 'due\ntre')
      await send(first)
      // Set up by nothing but joining: no filter, driver or attribute has to travel.
      const { exitCode, stdout } = await second.call(['sync', '--exit-code'])
      expect([exitCode, stdout]).toEqual([CONFLICTS_KEPT, expect.stringContaining('/notes.md: ')])
      const merged = await second.ok('cat', 'notes.md')
      for (const line of ['eins', 'zwei', 'due', 'tre']) expect(merged).toContain(`${line}\n`)
      expect(merged).not.toMatch(/^(<<<<<<<|=======|>>>>>>>)/m)
      await second.ok('create', 'rest.md', '--text', 'goes on')
      await send(first)
      expect(await first.ok('cat', 'notes.md')).toBe(merged)
    },
  )

  test(
    'two new files conflict, because an index of names is one file',
    { tags: 'slow' },
    async () => {
      const { first, second } = await pair()
      await create(first, '/a.md')
      await create(second, '/b.md')
      await send(first)
      const { exitCode, stdout } = await second.call(['sync'])
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining('merged in')])
      expect(await second.ok('ls')).toBe('a.md\nb.md\nnotes.md\n')
      expect((await second.call(['conflicts'])).stdout).toBe('')
    },
  )
})

describe('row 4', () => {
  test('a forced push by the host wipes the memory', { tags: 'slow' }, async () => {
    const { first, remote } = await pair()
    const tree = git(['hash-object', '-t', 'tree', '-w', '/dev/null'], remote).trim()
    moveBranch(remote, git(['commit-tree', '-m', 'Backfill', tree], remote).trim())
    const { exitCode, stderr } = await first.call(['sync'])
    expect([exitCode, stderr]).toEqual([TAMPERED, expect.stringContaining('does not verify')])
    expect(await first.ok('cat', 'notes.md')).toBe('one\ntwo\nthree\n')
  })

  test(
    'a remote that was emptied, or put back, empties every machine',
    { tags: 'slow' },
    async () => {
      const { first, second, remote } = await pair()
      await create(second, '/later.md')
      const before = branchOf(remote)
      await send(second)
      await send(first)
      for (const heads of ['deleted', before]) {
        if (heads === 'deleted') git(['update-ref', '-d', 'refs/heads/main'], remote)
        else moveBranch(remote, before)
        const { exitCode, stderr } = await first.call(['sync'])
        expect([exitCode, stderr]).toEqual([ROLLED_BACK, expect.stringContaining('rolled back')])
        expect(await first.ok('ls')).toBe('later.md\nnotes.md\n')
      }
      expect((await first.call(['sync', '--repair'])).exitCode).toBe(0)
      const third = await nextMachine(await recovery(first), remote)
      expect(await third.ok('ls')).toBe('later.md\nnotes.md\n')
    },
  )

  test('success is reported over a file that is corrupted', async () => {
    const { first, remote } = await pair()
    await create(first, '/new.md')
    const before = branchOf(remote)
    spoilNewestPack(first.store)
    const { exitCode, stdout } = await first.call(['sync'])
    expect([exitCode, stdout]).toEqual([TAMPERED, ''])
    expect(branchOf(remote)).toBe(before)
  })

  test('“all done” is reported if nothing was sent', { tags: 'slow' }, async () => {
    const { first, remote } = await pair()
    await first.ok('remote', 'add', 'drive', '/nowhere/at/all.git')
    await first.ok('remote', 'add', 'away', 'http://127.0.0.1:9/x.git')
    await create(first, '/new.md')
    const { exitCode, stdout, stderr } = await first.call(['sync'])
    expect([exitCode, stdout]).toEqual([REFUSED, expect.stringMatching(/^origin: sent 1 commit /)])
    expect(stderr).toMatch(/^gitlocket: There is no git repos.*\nremote: drive\nhint: /)
    expect(stderr).toMatch(/^gitlocket: The remote cannot be reached.*\nremote: away\nhint: /m)
    expect((await first.call(['sync', 'away'])).exitCode).toBe(OFFLINE)
    for (const name of ['origin', 'drive', 'away']) await first.ok('remote', 'remove', name)
    const none = await first.call(['sync'])
    expect([none.exitCode, none.stderr]).toEqual([3, expect.stringContaining('has no remote')])
    expect(existsSync(remote)).toBe(true)
  })

  test('an unattended run ends at a conflict, with no way on', { tags: 'slow' }, async () => {
    const { first, second } = await pair()
    await edit(first, 'one', 'eins')
    await as(second, (store) => store.as(author).apply([{ type: 'delete', path: '/notes.md' }]))
    await send(first)
    const { exitCode } = await second.run(['sync', '--exit-code'], { input: '' })
    expect(exitCode).toBe(CONFLICTS_KEPT)
    // An edit survives a deletion, without a decision by a user.
    expect(await second.ok('cat', 'notes.md')).toBe('eins\ntwo\nthree\n')
    await second.ok('str-replace', 'notes.md', '--old', 'two', '--new', 'zwei')
    expect((await second.call(['sync'])).exitCode).toBe(0)
  })

  test(
    'a sync does not respond, and ending it leaves a lock behind',
    { tags: 'slow' },
    async () => {
      const { first, second, remote } = await pair()
      await create(second, '/new.md')
      await send(second)
      const server = await startGitServer({ repository: remote })
      server.fault = on(fetching, stall())
      await first.ok('remote', 'add', 'slow', server.url)
      const child = first.start(['sync', 'slow'])
      while (!server.requests.some(({ method }) => method === 'POST')) await pause(20)
      child.kill('SIGINT')
      const { exitCode, stderr } = await ended(child)
      expect([exitCode, stderr]).toEqual([CANCELLED, expect.stringContaining('Stopping')])
      server.fault = undefined
      expect((await first.call(['sync', 'slow'])).exitCode).toBe(0)
      expect(await first.ok('cat', 'new.md')).toBe('/new.md')
    },
  )

  test('a prompt asks for a password on an unattended machine', { tags: 'slow' }, async () => {
    const { first, remote } = await pair()
    const user = { username: 'me', password: 'secret' }
    const { url } = await startGitServer({ repository: remote, user })
    await first.ok('remote', 'add', 'https', url)
    const asks = first.file('ask', `#!/bin/sh\ntouch ${first.directory}/asked\necho secret\n`)
    chmodSync(asks, 0o755)
    first.file('.gitconfig', `[core]\n\taskPass = ${asks}\n`)
    const env = { GIT_ASKPASS: asks, SSH_ASKPASS: asks, DISPLAY: ':0' }
    const { exitCode, stderr } = await first.run(['sync', 'https'], { env })
    expect([exitCode, stderr]).toEqual([REFUSED, expect.stringContaining('credentials')])
    expect(existsSync(join(first.directory, 'asked'))).toBe(false)
  })
})

describe('row 5', () => {
  test(
    'a removed device can still read, and the old history is said to be safe',
    { tags: 'slow' },
    async () => {
      const { first, second, remote } = await pair()
      await send(second)
      const { data: devices } = await first.json('device', 'list')
      const other = (Array.isArray(devices) ? devices : []).find((one) => !one.this_device)
      const removed = await first.ok('device', 'remove', String(other.id))
      expect(removed).toContain('The removed device cannot read anything written from now on')
      expect(removed).toMatch(/the history so far: 4 commits\n {2}1 memory as they are/)
      await create(first, '/after.md')
      await send(first)
      const { exitCode, stderr } = await second.call(['sync'])
      expect([exitCode, stderr]).toEqual([
        WRONG_KEY,
        expect.stringMatching(/the owner dev_\w{26} removed it or locked it out/),
      ])
      // Not with the bytes of the host either.
      const copy = copyRemote(remote)
      expect((await second.call(['cat', 'after.md', '--store', copy])).exitCode).toBe(WRONG_KEY)
      expect(await second.ok('cat', 'notes.md')).toBe('one\ntwo\nthree\n')
    },
  )

  test('a rotated key still gives access', { tags: 'slow' }, async () => {
    const { first, remote, recoveryKey } = await pair()
    const made = await first.json('key', 'recovery', '--yes')
    await send(first)
    await expect(nextMachine({ recoveryKey }, remote)).rejects.toMatchObject({ code: 'wrong_key' })
    const third = await nextMachine({ recoveryKey: String(made['recovery_key']) }, remote)
    expect(await third.ok('cat', 'notes.md')).toBe('one\ntwo\nthree\n')
  })

  test('an added device cannot read earlier texts', { tags: 'slow' }, async () => {
    const { first, remote } = await pair()
    const home = newHome()
    await home.call(['device', 'card'])
    const identity = await parseIdentity(readFileSync(home.identityFile, 'utf8'))
    await as(first, (store) => store.as(author).devices.add(formatDeviceCard(identity), 'writer'))
    await create(first, '/after.md')
    await send(first)
    expect((await home.call(['join', await pinned(first, remote)])).exitCode).toBe(0)
    expect(await home.ok('ls')).toBe('after.md\nnotes.md\n')
  })
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Damages the last write as a failing disk or a half-copied file does. */
function spoilNewestPack(store: string): void {
  const packs = join(store, 'objects/pack')
  for (const name of readdirSync(packs).filter((one) => one.endsWith('.pack'))) {
    const bytes = readFileSync(join(packs, name))
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 60) ^ 1, bytes.length - 60)
    chmodSync(join(packs, name), 0o600)
    writeFileSync(join(packs, name), bytes)
  }
}

async function recovery(home: Home): Promise<{ readonly recoveryKey: string }> {
  const made = await home.json('key', 'recovery', '--keep-old')
  await send(home)
  return { recoveryKey: String(made['recovery_key']) }
}
