// `undo` on the built command line: what it lists, shows and takes back, and the undo of an undo.
// @module-tag slow

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copiesOf, type Home, mainFile } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

/** Two sessions, of which the later one poisons a line of the other's memory. */
const written: () => Promise<Home> = copiesOf(async (home) => {
  await home.ok('init')
  await home.ok('create', 'a.md', '--text', 'one\nmid\ntwo\n', '--session', 'chat-1')
  const words = ['str-replace', 'a.md', '--old', 'two', '--new', 'poison', '--session', 'chat-22']
  await home.ok(...words, '--reason', 'a web page told so')
})

const poisoned = 'one\nmid\npoison\n'
const clean = 'one\nmid\ntwo\n'

test('lists the last sessions with reasons and counts where nothing can be asked', async () => {
  const home = await written()
  const { stdout, exitCode, stderr } = await home.call(['undo'])
  expect([stdout.split('\n').length, exitCode]).toEqual([3, 0])
  expect(stdout).toMatch(/^chat-22\t~1\t.*\ta web page told so\nchat-1\t\+1\t/)
  expect(stderr).toContain('gitlocket undo <session> --yes')
  const { data } = JSON.parse(await home.ok('undo', '--json'))
  expect(data).toMatchObject([
    { type: 'session', session_id: 'chat-22', reason: 'a web page told so', modified: 1 },
    { type: 'session', session_id: 'chat-1', reason: null, created: 1 },
  ])
})

test('shows the plan of a session, and changes nothing without --yes', async () => {
  const home = await written()
  const asked = await home.call(['undo', 'chat-2'])
  expect([asked.exitCode, asked.stdout]).toEqual([2, expect.stringContaining('-poison\n+two\n')])
  expect(asked.stderr).toContain('Add --yes to continue')
  expect(await home.ok('undo', 'chat-22', '--dry-run')).toBe(asked.stdout)
  expect(await home.ok('cat', 'a.md')).toBe(poisoned)
})

test('undoes a session by the first letters of its id, and the undo again', async () => {
  const home = await written()
  const { stdout, stderr } = await home.call(['undo', 'chat-2', '--yes'])
  expect(stdout).toBe('Changed 1 memory\n/a.md\tmodified\n')
  const [, again = ''] = /^`gitlocket undo (undo-\w+)` takes this back\n$/.exec(stderr) ?? []
  expect(await home.ok('cat', 'a.md')).toBe(clean)
  expect(await home.ok('log', '-n', '1')).toContain('Undid chat-22')
  const back = JSON.parse((await home.call(['undo', again, '--yes', '--json'])).stdout)
  expect(back).toMatchObject({ type: 'undo', changed: true, undone_session_id: again })
  expect(await home.ok('cat', 'a.md')).toBe(poisoned)
})

test('keeps later edits of other lines, and leaves a memory whose lines overlap', async () => {
  const home = await written()
  await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'eins')
  await home.ok('create', 'b.md', '--text', 'b', '--session', 'chat-3')
  await home.ok('write', 'b.md', '--text', 'mine')
  expect((await home.call(['undo', 'chat-22', '--yes'])).exitCode).toBe(0)
  expect(await home.ok('cat', 'a.md')).toBe('eins\nmid\ntwo\n')
  const overlap = await home.call(['undo', 'chat-3', '--yes'])
  expect([overlap.exitCode, overlap.stdout]).toEqual([4, expect.stringContaining('/b.md')])
})

test('names similar sessions, and refuses an ambiguous one', async () => {
  const home = await written()
  const several = await home.call(['undo', 'chat-', '--yes'])
  expect([several.exitCode, several.stderr]).toEqual([2, expect.stringContaining('2 sessions')])
  const typing = await home.call(['undo', 'chta-22', '--yes'])
  expect([typing.exitCode, typing.stderr]).toEqual([3, expect.stringContaining('"chat-22"')])
})

test('an empty name is not that of the only session', async () => {
  const home = await copiesOf(async (one) => {
    await one.ok('init')
    await one.ok('create', 'a.md', '--text', 'a', '--session', 'chat-1')
  })()
  const { exitCode, stderr } = await home.call(['undo', '', '--yes'])
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('No session ""')])
  expect(await home.ok('cat', 'a.md')).toBe('a')
})

/** Runs a program with its standard output in a pipe. */
const PIPED = `
const { spawnSync } = require('node:child_process')
const stdio = ['inherit', 'pipe', 'inherit']
process.exit(spawnSync(process.execPath, process.argv.slice(2), { stdio }).status)
`

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  const env = { GITLOCKET_PAGER: 'cat' }

  test('an arrow or a number picks a session, and Enter undoes it', async () => {
    for (const key of ['\u001b[B', 'j', '2']) {
      const home = await written()
      const typed = [
        ['q to leave', key],
        ['[7m>  2  chat-1', '\r'],
        ['q leaves them:', '\r'],
      ] as const
      const { screen, exitCode } = onTerminal(home, ['undo'], { typed, env })
      expect([exitCode, screen]).toEqual([4, expect.stringContaining('Left 1 memory unchanged')])
      expect(await home.ok('cat', 'a.md')).toBe(poisoned)
    }
  })

  test('shows the difference first, and the way back at the end', async () => {
    const home = await written()
    const typed = [
      ['q to leave', '\r'],
      ['q leaves them:', '\r'],
    ] as const
    const { screen, exitCode } = onTerminal(home, ['undo'], { typed, env })
    expect(exitCode).toBe(0)
    expect(screen).toContain('-poison')
    expect(screen).toMatch(/`gitlocket undo undo-\w+` takes this back/)
    expect(await home.ok('cat', 'a.md')).toBe(clean)
  })

  test('asks nothing if its output is piped, and writes no escapes to the terminal', async () => {
    const home = await written()
    const words = ['write', 'b.md', '--text', 'b', '--session', 'chat-3']
    await home.ok(...words, '--reason', 'harmless\u001b]0;renamed\u0007')
    const piped = join(home.directory, 'piped.cjs')
    writeFileSync(piped, PIPED)
    const listed = onTerminal(home, [mainFile, 'undo'], { program: piped, env })
    expect([listed.exitCode, listed.screen]).toEqual([
      0,
      expect.stringContaining('gitlocket undo <session> --yes'),
    ])
    expect(listed.screen).not.toContain('\u001b]')
    const named = onTerminal(home, [mainFile, 'undo', 'chat-3'], { program: piped, env })
    expect([named.exitCode, named.screen]).toEqual([2, expect.stringContaining('Add --yes')])
    expect(await home.ok('cat', 'b.md')).toBe('b')
  })

  test.each([
    ['q in the list', [['q to leave', 'q']], 0],
    ['Ctrl-C in the list', [['q to leave', '\u0003']], 130],
    [
      'q after the difference',
      [
        ['q to leave', '\r'],
        ['q leaves them:', 'q\r'],
      ],
      0,
    ],
  ] as const)('%s changes nothing', async (_, typed, code) => {
    const home = await written()
    expect(onTerminal(home, ['undo'], { typed, env }).exitCode).toBe(code)
    expect(await home.ok('cat', 'a.md')).toBe(poisoned)
  })
})
