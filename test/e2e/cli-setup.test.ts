// Setting a machine up: what could confuse a user is said, with what to do.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { type Ended, type Home, newHome, newHomeWithStore } from './cli-process.ts'

describe('an identity file that others can open', () => {
  test.each(['640', '604', '620'])('with mode %s is refused, and says why', async (mode) => {
    const home = await newHomeWithStore()
    chmodSync(home.identityFile, mode)
    for (const words of [['ls'], ['device', 'card'], ['init']]) {
      const { exitCode, stdout, stderr } = await home.call(words)
      expect([exitCode, stdout]).toEqual([8, ''])
      expect(stderr).toContain(`mode ${mode}`)
      expect(stderr).toMatch(/writes in the name of this machine.*`chmod 600 /s)
      expect(stderr.replaceAll(home.directory, '/home/anna').length).toBeLessThan(500)
    }
    chmodSync(home.identityFile, 0o400)
    expect(await home.ok('ls')).toBe('')
  })

  test.skipIf(process.geteuid?.() !== 0)(
    'is taken if it belongs to another user, as a mounted secret may (run as root)',
    async () => {
      const home = await newHomeWithStore()
      chmodSync(home.identityFile, 0o644)
      chownSync(home.identityFile, 65_534, 65_534)
      expect(await home.ok('ls')).toBe('')
    },
  )
})

describe('a store whose directory has vanished', () => {
  test('is named by init and by other commands, with the remote it was synced with', async () => {
    const url = bareRemote()
    const { home } = await firstMachine(url)
    const address = await pinned(home, url)
    const [, storeId = ''] = /#([^+]*)/.exec(address) ?? []
    rmSync(home.store, { recursive: true })
    for (const words of [['init'], ['ls'], ['audit']]) {
      const { exitCode, stdout, stderr } = await home.call(words)
      expect([exitCode, stdout]).toEqual([7, ''])
      expect(stderr).toContain(`The store ${storeId} was at ${home.store}, and no longer exists\n`)
      expect(stderr).toContain(`\`gitlocket join '${url}#${storeId}'\` gets back`)
      expect(stderr.includes('init --new')).toBe(words[0] === 'init')
    }
    const { stderr } = await home.call(['init', '--json'])
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'not_a_store', memory_store_id: storeId, remotes: [url] },
    })
    // The joining machine does what the hint tells, without a secret: it is a device already.
    await home.ok('join', `${url}#${storeId}`)
    expect(await home.ok('cat', 'notes.md')).toBe('one\ntwo\nthree\n')
  })

  test('also one that was never synced; --new makes another one', async () => {
    const home = newHome()
    const { memory_store_id: before } = await home.json('init')
    rmSync(home.store, { recursive: true })
    mkdirSync(home.store)
    const { exitCode, stderr } = await home.call(['init'])
    expect([exitCode, stderr]).toEqual([
      7,
      expect.stringContaining(`join '<url>#${String(before)}'`),
    ])
    const { memory_store_id: after } = await home.json('init', '--new')
    expect(after).not.toBe(before)
    expect((await home.json('status'))['memory_store_id']).toBe(after)
    rmSync(home.store, { recursive: true })
    expect((await home.call(['init'])).stderr).toContain(`#${String(after)}'`)
  })

  test('is a hint alone: whatever lies where it is kept stops no command', async () => {
    const home = newHome()
    await home.ok('init')
    const notes = join(home.stateDirectory, 'places')
    const [note = ''] = readdirSync(notes)
    rmSync(join(notes, note))
    execFileSync('mkfifo', [join(notes, note)])
    expect(await home.ok('ls')).toBe('')
    expect(readFileSync(join(notes, note), 'utf8')).toMatch(/^memstore_\w{26}\n$/)
    rmSync(notes, { recursive: true })
    writeFileSync(notes, '')
    expect(await home.ok('ls')).toBe('')
  })

  test('does not stop a store at another directory', async () => {
    const home = newHome()
    await home.ok('init')
    await home.ok('--store', 'other', 'init')
    rmSync(home.store, { recursive: true })
    await home.ok('--store', 'third', 'init')
  })
})

describe('doctor', () => {
  /** But for the file system: the tests run in RAM. */
  function checksOf({ stdout }: Ended): readonly Readonly<Record<string, string>>[] {
    const { checks }: { checks: readonly Record<string, string>[] } = JSON.parse(stdout)
    return checks.filter(({ check }) => check !== 'File system')
  }

  async function failuresOf(home: Home, exitCode: number): Promise<unknown> {
    const ended = await home.call(['doctor', '--json'])
    expect(ended.exitCode).toBe(exitCode)
    return checksOf(ended).filter(({ level }) => level === 'fail')
  }

  test('before init finds nothing wrong except that there is no store yet', async () => {
    const home = newHome()
    const store = {
      check: 'Store',
      level: 'fail',
      found: `none yet at ${home.store}`,
      fix: expect.stringMatching(/`gitlocket init`.*`gitlocket join <url>`/),
    }
    expect(await failuresOf(home, 7)).toEqual([store])
    await home.call(['device', 'card'])
    expect(await failuresOf(home, 7)).toEqual([store])
    expect(checksOf(await home.call(['doctor', '--json']))).not.toContainEqual(
      expect.objectContaining({ level: 'warn' }),
    )
  })

  test('without the identity of an existing store points to its backup', async () => {
    const home = await newHomeWithStore()
    rmSync(home.identityFile)
    expect(await failuresOf(home, 8)).toEqual([
      expect.objectContaining({ check: 'Identity', fix: expect.stringContaining('recover`') }),
    ])
  })

  test('in the place of a vanished store names it', async () => {
    const home = newHome()
    const { memory_store_id: id } = await home.json('init')
    rmSync(home.store, { recursive: true })
    expect(await failuresOf(home, 7)).toEqual([
      expect.objectContaining({ check: 'Store', fix: expect.stringContaining(`#${String(id)}'`) }),
    ])
  })

  test('does not repair a directory that is not a store', async () => {
    const home = newHome()
    mkdirSync(home.store, { recursive: true })
    home.file('.local/share/gitlocket/store/letter.txt', 'Dear reader')
    await home.call(['device', 'card'])
    const failures = await failuresOf(home, 7)
    expect(failures).toEqual([expect.objectContaining({ check: 'Store' })])
  })

  test('on the machine of an auditor verifies the trail', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const auditor = newHome()
    const { card } = await auditor.json('device', 'card')
    const file = home.file('card', String(card))
    await home.ok('device', 'add', file, '--role', 'auditor', '--yes')
    const remote = bareRemote()
    await home.ok('remote', 'add', 'origin', remote)
    await home.ok('sync')
    await auditor.call(['join', await pinned(home, remote)])
    const ended = await auditor.call(['doctor', '--json'])
    expect([ended.exitCode, checksOf(ended).filter(({ level }) => level !== 'ok')]).toEqual([0, []])
    expect(checksOf(ended)).toContainEqual({
      check: 'Store',
      level: 'ok',
      found: expect.stringMatching(/^memstore_\w+, auditor: the trail of 2 commits verifies$/),
      fix: null,
    })
  })
})
