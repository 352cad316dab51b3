// `conflicts --resolve` on the built command line: with --keep, and on a terminal.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import { pairsOfMachines } from './cli-machines.ts'
import { type Home, mainFile } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

const newPair = pairsOfMachines()

/** The second machine has merged two edits of line 1, and the first one's edit of line 3. */
async function merged(): Promise<Home> {
  const { first, second } = await newPair()
  for (const [old, next] of [
    ['one', 'eins'],
    ['three', 'drei'],
  ] as const) {
    await first.ok('str-replace', 'notes.md', '--old', old, '--new', next)
  }
  await second.ok('str-replace', 'notes.md', '--old', 'one', '--new', 'uno')
  for (const home of [first, second]) await home.ok('sync')
  return second
}

test('--keep chooses the overlapping lines and marks the merge', async () => {
  const home = await merged()
  await home.ok('append', 'notes.md', '--text', 'four\n')
  const asked = await home.call(['conflicts', '--resolve'])
  expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining('add --keep ours')])
  const settle = ['conflicts', '--resolve', 'notes.md', '--keep']
  const wrong = await home.call([...settle, 'other'])
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('theirs, both')])
  const { settled, left } = await home.json(...settle, 'ours', '--reason', 'uno is right')
  expect([settled, left]).toMatchObject([[{ type: 'merge', path: '/notes.md' }], 0])
  expect(await home.ok('cat', 'notes.md')).toBe('uno\ntwo\ndrei\nfour\n')
  expect(await home.ok('log', '-n', '1')).toContain('uno is right')
  expect((await home.call(['conflicts'])).stdout).toBe('')
  expect(await home.ok('conflicts', '--resolve')).toBe('No merge needs a decision\n')
})

test('--keep refuses to overwrite later edits of the same lines', async () => {
  const home = await merged()
  await home.ok('str-replace', 'notes.md', '--old', 'uno', '--new', 'un')
  const late = await home.call(['conflicts', '--resolve', 'notes.md', '--keep', 'theirs'])
  expect([late.exitCode, late.stderr]).toEqual([4, expect.stringContaining('changed since')])
  expect(await home.ok('conflicts')).toContain('/notes.md')
})

test('--keep takes no name that both sides have', async () => {
  const home = await merged()
  const { data } = JSON.parse(await home.ok('device', 'list', '--json'))
  for (const { id } of data) await home.ok('device', 'rename', id, 'twin')
  const { exitCode, stderr } = await home.call([
    'conflicts',
    '--resolve',
    'notes.md',
    '--keep',
    'twin',
  ])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('choose ours or theirs')])
  expect(await home.ok('conflicts')).toContain('/notes.md')
})

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  test('shows both sides and asks again until an answer fits', async () => {
    const home = await merged()
    const typed = [
      ['(q)uit?', 'x\r'],
      ['(q)uit?', 'THEIRS\r'],
    ] as const
    const { screen, exitCode } = onTerminal(home, ['conflicts', '--resolve'], { typed })
    expect(exitCode).toBe(0)
    expect(screen).toContain('-eins')
    expect(screen).toContain('+uno')
    expect(screen).toContain('1 of 1  ')
    expect(await home.ok('cat', 'notes.md')).toBe('eins\ntwo\ndrei\n')
    expect((await home.call(['conflicts'])).stdout).toBe('')
  })

  test('takes an edited text', async () => {
    const home = await merged()
    const env = { VISUAL: 'sed -i s/uno/both/' }
    const typed = [['(q)uit?', 'e\r']] as const
    const { screen } = onTerminal(home, ['conflicts', '--resolve'], { typed, env })
    expect(screen).toContain('Saved your text in /notes.md')
    expect(await home.ok('cat', 'notes.md')).toContain('both\n')
    expect((await home.call(['conflicts'])).stdout).toBe('')
  })

  test('asks again after an edit that changed nothing, even if an agent wrote', async () => {
    const home = await merged()
    const append = `${process.execPath} ${mainFile} append notes.md --text four`
    const env = { VISUAL: `sh -c "${append} >/dev/null" --` }
    const typed = [
      ['(q)uit?', 'e\r'],
      ['(q)uit?', 'q\r'],
    ] as const
    const { screen } = onTerminal(home, ['conflicts', '--resolve'], { typed, env })
    expect(screen).not.toContain('Saved your text')
    expect(screen).toContain('1 merge is still to review')
    expect(await home.ok('cat', 'notes.md')).toContain('four')
    expect(await home.ok('conflicts')).toContain('/notes.md')
  })

  test('skips, and quits with the rest unsettled', async () => {
    const home = await merged()
    const { head } = await home.json('status')
    const typed = [['(q)uit?', 'q\r']] as const
    const { screen } = onTerminal(home, ['conflicts', '--resolve'], { typed })
    expect(screen).toContain('1 merge is still to review')
    expect((await home.json('status'))['head']).toBe(head)
    expect(await home.ok('conflicts')).toContain('/notes.md')
  })
})
