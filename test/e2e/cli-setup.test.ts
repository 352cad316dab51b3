// Setting a machine up: what could confuse a user is said, with what to do.

import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { newHome, newHomeWithStore } from './cli-process.ts'

describe('an identity file that others can open', () => {
  test.each(['640', '604', '620'])('with mode %s is refused, and says why', async (mode) => {
    const home = await newHomeWithStore()
    chmodSync(home.identityFile, mode)
    for (const words of [['ls'], ['device', 'card'], ['init']]) {
      const { exitCode, stdout, stderr } = await home.call(words)
      expect([exitCode, stdout]).toEqual([8, ''])
      expect(stderr).toContain(`mode ${mode}`)
      expect(stderr).toMatch(/writes in the name of this machine.*`chmod 600 /s)
    }
    chmodSync(home.identityFile, 0o400)
    expect(await home.ok('ls')).toBe('')
  })
})

describe('a store whose directory has vanished', () => {
  test('is named by init and by other commands, with the remote it was synced with', async () => {
    const url = bareRemote()
    const { home } = await firstMachine(url)
    const address = await pinned(home, url)
    const [, storeId = ''] = address.split('#')
    rmSync(home.store, { recursive: true })
    for (const words of [['init'], ['ls'], ['audit']]) {
      const { exitCode, stdout, stderr } = await home.call(words)
      expect([exitCode, stdout]).toEqual([7, ''])
      expect(stderr).toContain(`The store ${storeId} was at ${home.store}, and is gone\n`)
      expect(stderr).toContain(`\`gitlocket join '${address}'\` gets back`)
      expect(stderr.includes('init --new')).toBe(words[0] === 'init')
    }
    const { stderr } = await home.call(['init', '--json'])
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'not_a_store', memory_store_id: storeId, remotes: [url] },
    })
    // As the hint says, and without a secret: this machine is a device of it.
    await home.ok('join', address)
    expect(await home.ok('cat', 'notes.md')).toBe('one\ntwo\nthree\n')
  })

  test('also one that was never synced; --new makes another one', async () => {
    const home = newHome()
    const { memory_store_id: before } = await home.json('init')
    rmSync(home.store, { recursive: true })
    mkdirSync(home.store)
    const { exitCode, stderr } = await home.call(['init'])
    expect([exitCode, stderr]).toEqual([7, expect.stringContaining(`join '<url>#${before}'`)])
    const { memory_store_id: after } = await home.json('init', '--new')
    expect(after).not.toBe(before)
    expect(await home.ok('status')).toContain(String(after))
    rmSync(home.store, { recursive: true })
    expect((await home.call(['init'])).stderr).toContain(`#${after}'`)
  })

  test('does not stop a store at another directory', async () => {
    const home = newHome()
    await home.ok('init')
    await home.ok('--store', 'other', 'init')
    rmSync(home.store, { recursive: true })
    await home.ok('--store', 'third', 'init')
  })
})
