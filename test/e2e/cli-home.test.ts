// `gitlocket` alone, `status` and help: what a user meets first.

import { describe, expect, test } from 'vitest'
import { dailyHelp } from '../../src/cli/help.ts'
import { bareRemote } from '../support/clones.ts'
import { newHome, newHomeWithStore } from './cli-process.ts'

describe('gitlocket alone', () => {
  test('shows how to begin where there is no store', async () => {
    const screen = await newHome().screen(80, [])
    expect(screen).toContain('There is no store on this machine yet')
    expect(screen).toMatch(/gitlocket init.*\n.*gitlocket join <url>.*\n.*gitlocket setup /)
  })

  test('shows what agents wrote, and what a user did not', async () => {
    const home = await newHomeWithStore()
    const empty = await home.screen(80, [])
    expect(empty).toContain('No agent has written a memory yet')
    expect(empty).toMatch(/^`gitlocket setup claude-code --write` gives an agent this memory$/m)
    await home.ok('create', 'mine.md', '--text', 'by a user')
    const agent = ['--session', 'chat-9', '--reason', 'asked in the chat']
    await home.ok('create', 'a.md', '--text', 'a', ...agent)
    await home.ok('write', 'a.md', '--text', 'b', ...agent)
    const screen = await home.screen(80, [])
    expect(screen).toMatch(
      /^Since yesterday\nSESSION .*\nchat-9 +\+1 ~1 +1 .* asked in the chat\n\n/m,
    )
    expect(screen).toContain('\nNothing needs attention\n')
  })

  test('prints help in a pipe and with --json', async () => {
    const home = await newHomeWithStore()
    expect(await home.ok()).toBe(dailyHelp)
    expect(await home.json()).toEqual({ type: 'help', help: dailyHelp })
  })
})

describe('status', () => {
  test('names what needs attention, for users and for programs', async () => {
    const home = await newHomeWithStore()
    expect(await home.json('status')).toMatchObject({ needs_attention: [] })
    await home.ok('remote', 'add', 'origin', bareRemote())
    await home.ok('settings', '--guard', 'off')
    expect((await home.json('status'))['needs_attention']).toEqual([
      { kind: 'never_synced', text: 'Never synced with origin', command: 'gitlocket sync' },
      { kind: 'guard_off', text: expect.any(String), command: 'gitlocket settings --guard on' },
    ])
    await home.ok('sync')
    await home.ok('create', 'a.md', '--text', 'a')
    const { remotes } = await home.json('status')
    expect(remotes).toMatchObject([{ unsent_commits: 1, synced_at: expect.any(String) }])
    const text = await home.ok('status')
    expect(text).toMatch(/^Remote {5}origin: synced on \S+, 1 to send$/m)
    expect(text).toMatch(/^ {2}1 commit not sent to origin +gitlocket sync$/m)
    expect(text.split('\nNeeds attention\n')[0]?.trimEnd().split('\n')).toHaveLength(6)
  })
})

describe('help', () => {
  test.each([
    [['help', '--all'], 'Exit codes:'],
    [['help', 'environment'], 'Environment:'],
    [['help', 'exit-codes'], 'Exit codes:'],
    [['help', 'key'], '  key passwd'],
    [['key', '--help'], '  key passwd'],
    [['device', '-h'], '  device remove <device>…'],
    [['help', 'key', 'passwd'], 'Usage:\n  gitlocket key passwd [options]\n'],
  ])('%j prints %j', async (words, part) => {
    expect(await newHome().ok(...words)).toContain(part)
  })

  test('is as wide as the terminal', async () => {
    const screen = await newHome().screen(72, ['help', '--all'])
    expect(screen.split('\n').filter((line) => line.length > 72)).toEqual([])
  })
})
