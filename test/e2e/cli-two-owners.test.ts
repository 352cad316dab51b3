// Two owners who change who may open the store: online they are in step, and where a host hides one
// change, one command chooses.
// @module-tag slow

import { cpSync, renameSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { newCard, pairsOfMachines } from './cli-machines.ts'

describe('two owners who change the keyring', () => {
  const newPair = pairsOfMachines()

  test('one after the other, are in step at once', async () => {
    const { first, second } = await newPair()
    const ours = await newCard(first)
    const theirs = await newCard(second)
    await first.ok('device', 'add', ours.file, '--role', 'reader', '--fingerprint', ours.id)
    await first.ok('create', 'a.md', '--text', 'of the first')
    await second.ok('device', 'add', theirs.file, '--role', 'writer', '--fingerprint', theirs.id)
    await first.ok('sync')
    await second.ok('sync')
    for (const home of [first, second]) {
      expect(await home.ok('ls')).toBe('a.md\nnotes.md\n')
      const { data: devices } = await home.json('device', 'list')
      expect(devices).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: ours.id, role: 'reader' }),
          expect.objectContaining({ id: theirs.id, role: 'writer' }),
        ]),
      )
      await home.ok('verify')
    }
    expect((await first.json('status'))['head']).toBe((await second.json('status'))['head'])
  })

  /** Has the remote show its present state again, and back. */
  function hider(remote: string): () => void {
    const old = `${remote}.old`
    cpSync(remote, old, { recursive: true })
    return () => {
      renameSync(remote, `${remote}.new`)
      renameSync(old, remote)
      renameSync(`${remote}.new`, old)
    }
  }

  test('on two forks, since a host hides it, choose with one command', async () => {
    const { first, second, remote } = await newPair()
    const swap = hider(remote)
    await first.ok('key', 'rotate')
    swap()
    await second.ok('create', 'b.md', '--text', 'of the second')
    await second.ok('key', 'rotate')
    swap()
    const refused = await second.call(['sync'])
    expect(refused).toMatchObject({
      exitCode: 4,
      stderr: expect.stringMatching(/changed the keys.*sync --take-theirs.*sync --repair/s),
    })
    const both = await second.call(['sync', '--take-theirs', '--repair'])
    expect(both.exitCode).toBe(2)
    expect(await second.ok('sync', '--take-theirs')).toMatch(/given up\n.*\tkeyring\tdev_/s)
    await first.ok('sync')
    expect(await first.ok('cat', 'b.md')).toBe('of the second')
    expect((await first.json('status'))['head']).toBe((await second.json('status'))['head'])
  })

  test('on two forks, keep the local side and add the other’s devices again', async () => {
    const { first, second, remote } = await newPair()
    const card = await newCard(first)
    const swap = hider(remote)
    await first.ok('device', 'add', card.file, '--role', 'reader', '--fingerprint', card.id)
    swap()
    await second.ok('key', 'rotate')
    swap()
    for (const args of [
      ['--redo', 'members'],
      ['--repair', '--redo', 'all'],
    ]) {
      expect((await second.call(['sync', ...args])).exitCode).toBe(2)
    }
    expect(await second.ok('sync', '--repair', '--redo', 'members')).not.toContain('Left out')
    await first.ok('sync', '--take-theirs')
    for (const home of [first, second]) {
      const { data: devices } = await home.json('device', 'list')
      expect(devices).toContainEqual(expect.objectContaining({ id: card.id, role: 'reader' }))
    }
  })
})
