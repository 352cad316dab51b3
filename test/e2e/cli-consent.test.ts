// What destroys asks on a terminal and needs --yes elsewhere, on the built command line.
// @module-tag slow

import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createStore, formatIdentity, generateIdentity } from '../../src/index.ts'
import { author } from '../support/stores.ts'
import { homeWithPassphrase } from './cli-machines.ts'
import { newHome, newHomeWithStore } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

describe('off a terminal', () => {
  test.each<[words: string[], would: string]>([
    [['key', 'recovery'], 'The recovery keys that exist would be replaced'],
    [['key', 'passwd', '--remove'], 'The passphrase would be removed'],
    [['expire', '--unchanged', '1s'], '1 memory would be deleted'],
  ])('%j changes nothing without --yes', async (words, would) => {
    const home = await homeWithPassphrase()
    await home.ok('create', 'a.md', '--text', 'a')
    if (words[0] === 'expire') await setTimeout(1000)
    const { head } = await home.json('status')
    const { exitCode, stdout, stderr } = await home.call(words)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`gitlocket: ${would}, and there is no terminal to ask on\nhint: `)
    expect(stderr).toMatch(/dd --yes to continue\n$/)
    expect((await home.json('status'))['head']).toBe(head)
    await home.ok(...words, '--yes')
    expect((await home.json('status'))['head']).not.toBe(head)
  })

  test('key recovery --keep-old and an expire of nothing ask no question', async () => {
    const home = await newHomeWithStore()
    await home.ok('key', 'recovery', '--keep-old')
    expect(await home.ok('expire', '--unchanged', '1d')).toBe('Deleted 0 memories\n')
  })
})

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  test.each<[words: string[], question: string]>([
    [['key', 'recovery'], 'also those on paper? [y/N]'],
    [['key', 'passwd', '--remove'], 'Remove the passphrase?'],
    [['expire', '--unchanged', '1s'], 'Delete 1 memory? [y/N]'],
  ])('%j asks, and "no" changes nothing', { tags: 'slow' }, async (words, question) => {
    const home = await homeWithPassphrase()
    await home.ok('create', 'a.md', '--text', 'a')
    await setTimeout(1000)
    const { head } = await home.json('status')
    const no = onTerminal(home, words, { typed: [[question, 'n\r']] })
    expect(no).toEqual({ exitCode: 130, screen: expect.stringContaining('nothing was changed') })
    expect((await home.json('status'))['head']).toBe(head)
    const yes = onTerminal(home, words, { typed: [[question, 'y\r']] })
    expect(yes).toEqual({ exitCode: 0, screen: expect.any(String) })
    expect((await home.json('status'))['head']).not.toBe(head)
  })
})

test('rm of a directory counts the deleted memories, and takes -r', async () => {
  const home = await newHomeWithStore()
  for (const path of ['d/a.md', 'd/b/c.md', 'e.md']) await home.ok('create', path, '--text', 'x')
  expect(await home.ok('rm', '-r', 'd/')).toBe('Deleted /d/ with 2 memories\n')
  expect(await home.ok('rm', 'e.md')).toBe('Deleted /e.md\n')
})

test.skipIf(terminal.missing)(
  `expire spares memories that were changed since it asked${terminal.note}`,
  { tags: 'slow' },
  async () => {
    const home = newHome()
    const identity = await generateIdentity()
    const { store } = await createStore({
      directory: home.store,
      stateDirectory: home.stateDirectory,
      identity,
      clock: () => Date.now() - 2 * 86_400_000,
    })
    for (const path of ['/a.md', '/b.md']) await store.as(author).write(path, 'old')
    await store.close()
    home.file('.config/gitlocket/identity', formatIdentity(identity))
    const words = ['expire', '--unchanged', '1d']
    const meanwhile = ['write', 'a.md', '--text', 'new']
    const typed = [['Delete 2 memories? [y/N]', 'y\r', meanwhile]] as const
    const done = onTerminal(home, words, { typed })
    expect(done).toEqual({ exitCode: 0, screen: expect.stringContaining('Deleted 1 memory\n') })
    expect(await home.ok('ls')).toBe('a.md\n')
    expect(await home.ok('cat', 'a.md')).toBe('new')
  },
)
