// Commands that take a time, on a store where a record of 1970 has made an edit of today older:
// each tells whose record it is and how to ask otherwise. None changes nothing without a word.

import { readFileSync, rmSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { createStore, openStore, parseIdentity } from '../../src/index.ts'
import { author, leastStretch } from '../support/stores.ts'
import { copiesOf, type Home, sharedHome } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

const DAY = 24 * 60 * 60 * 1000
const agent = { actor: { type: 'session', id: 'agent-2' } } as const

/** Rules of ten and of five days ago, an edit of today, and another memory with a clock of 1970. */
async function fill(home: Home): Promise<void> {
  await home.ok('init')
  const { identityFile, stateDirectory, store: directory } = home
  for (const made of [directory, stateDirectory]) rmSync(made, { recursive: true })
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const places = { directory, stateDirectory, identity, stretch: leastStretch }
  let time = Date.now() - 10 * DAY
  const clock = (): number => time
  const { store } = await createStore({ ...places, clock })
  await store.as(author).write('/rules.md', 'ten days ago\n')
  time += 5 * DAY
  await store.as(author).write('/rules.md', 'five days ago\n')
  await store.close()
  time = Date.now()
  const later = await openStore({ ...places, clock })
  await later.as(agent).write('/rules.md', 'poison\n')
  time = 5000
  await later.as(agent).write('/innocent.md', 'nothing\n')
  await later.close()
}

const newHome = copiesOf(fill)

const sentence = new RegExp(
  String.raw`^1 change stamped after \S+(?: time)? is taken for older, since the device dev_\w+ ` +
    'has dated a record 1970-01-01T00:00:05Z',
  'm',
)

describe('a rollback to a time', () => {
  test('is refused if it would change nothing, with the commands to run instead', async () => {
    const home = await newHome()
    const refused = await home.call(['rollback', '--to', '1d', '--json'])
    expect([refused.exitCode, refused.stdout]).toEqual([2, ''])
    const { error } = JSON.parse(refused.stderr)
    expect(error).toMatchObject({
      code: 'time_doubtful',
      message: expect.stringMatching(sentence),
      doubtful: {
        stamped_later: 1,
        dated_back: 1,
        left_out: 0,
        causes: [{ session: 'agent-2', by_grant: false, stamped_at: '1970-01-01T00:00:05.000Z' }],
      },
    })
    const [, stamped = '', undo = ''] =
      /`gitlocket (rollback --to \S+ --stamped)`.*`gitlocket (undo --session agent-2)`/.exec(
        error.hint,
      ) ?? []
    const { stdout } = await home.call([...stamped.split(' '), '--dry-run'])
    expect(stdout).toContain('+five days ago')
    expect((await home.call([...undo.split(' '), '--yes'])).exitCode).toBe(0)
    expect(await home.ok('cat', 'rules.md')).toBe('five days ago\n')
  })

  test('with --stamped takes the edit back, and tells what it leaves out', async () => {
    const home = await newHome()
    const done = await home.call(['rollback', '--to', '1d', '--stamped', '--yes'])
    expect(done.exitCode).toBe(0)
    expect(done.stderr).toMatch(/^1 change is left out, as/)
    expect(await home.ok('cat', 'rules.md')).toBe('five days ago\n')
    expect((await home.call(['cat', 'innocent.md'])).exitCode).toBe(3)
  })

  test('that changes something tells the same, as a member and as a line', async () => {
    const home = await newHome()
    await home.call(['create', 'new.md', '--text', 'new'])
    const plan = ['rollback', '--to', '1d', '--dry-run']
    expect(await home.json(...plan)).toMatchObject({
      steps: [{ path_before: '/new.md' }],
      doubtful: { stamped_later: 1 },
    })
    expect((await home.call(plan)).stderr).toMatch(sentence)
    expect(await home.json(...plan, '--path', '/new.md')).not.toHaveProperty('doubtful')
  })

  test.skipIf(terminal.missing)(
    `tells it on a terminal before it asks, and once${terminal.note}`,
    { tags: 'slow' },
    async () => {
      const home = await newHome()
      await home.call(['create', 'new.md', '--text', 'new'])
      const typed = [['[y/N]', 'y\r']] as const
      const { screen } = onTerminal(home, ['rollback', '--to', '1d'], { typed })
      const parts = screen
        .replaceAll(/\s+/g, ' ')
        .split('1 change stamped after that time is taken')
      expect(parts).toHaveLength(2)
      expect(parts[1]).toMatch(/--stamped.*undo --session agent-2.*Change 1 memory.*\[y\/N\]/)
    },
  )

  test('of one memory is refused too', async () => {
    const home = await newHome()
    const refused = await home.call(['restore', 'rules.md', '--to', '1d'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toMatch(/gitlocket restore \/rules\.md --to \S+ --stamped/)
    expect((await home.call(['restore', 'rules.md', '--to', '1d', '--stamped'])).exitCode).toBe(0)
    expect(await home.ok('cat', 'rules.md')).toBe('five days ago\n')
  })
})

test('an undo by time that reaches nothing is refused', async () => {
  const home = await newHome()
  const refused = await home.call(['undo', '--session', 'agent-2', '--since', '1d', '--yes'])
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining('Without --since and --until'),
  ])
})

describe('a state of the past', () => {
  const home = sharedHome()
  beforeAll(() => fill(home))

  test.each([
    ['cat', 'rules.md', '--at', '1d'],
    ['ls', '--at', '1d'],
    ['view', '--at', '1d'],
    ['search', 'poison', '--at', '1d'],
    ['blame', 'rules.md', '--at', '1d'],
    ['diff', '--from', '6d', '--to', '1d'],
    ['export', 'out', '--dry-run', '--at', '1d'],
  ])('%s %s %s tells it on standard error', async (...words) => {
    const { stderr, exitCode } = await home.call(words)
    expect([exitCode, stderr]).toEqual([0, expect.stringMatching(sentence)])
    expect(stderr).toContain('--stamped takes the times as stamped')
    const json = JSON.stringify(await home.json(...words))
    expect(json).toContain('"doubtful":{"stamped_later":1,"dated_back":1')
  })

  test('by a version or a commit has no doubt', async () => {
    const at = String((await home.json('status'))['head'])
    expect(await home.ok('cat', 'rules.md', '--at', at)).toBe('poison\n')
  })

  test('--stamped shows what the records state', async () => {
    const { stdout } = await home.call(['cat', 'rules.md', '--at', '1d', '--stamped'])
    expect(stdout).toBe('five days ago\n')
    const { stdout: patch } = await home.call(['diff', '--from', '6d', '--to', '1d', '--stamped'])
    expect(patch).toContain('-ten days ago\n+five days ago')
    const wrong = [
      ['cat', 'rules.md', '--stamped'],
      ['rollback', '--session', 'agent-2', '--stamped'],
      ['cat', 'rules.md', '--at', String((await home.json('status'))['head']), '--stamped'],
    ]
    for (const words of wrong) expect((await home.call(words)).exitCode).toBe(2)
  })
})
