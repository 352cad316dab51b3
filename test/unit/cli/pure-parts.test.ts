// The pure parts of the command line: arguments, times, sizes, the progress bar, paths of files.

import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CommandError } from '../../../src/cli/call/command.ts'
import {
  exportFile,
  exportProblem,
  findCaseTwins,
  ignoresCase,
} from '../../../src/cli/machine/memory-files.ts'
import { parseCommandLine, wantsJson } from '../../../src/cli/program.ts'
import { resolveNamed } from '../../../src/cli/store/named.ts'
import { errorText, wrap } from '../../../src/cli/terminal/output.ts'
import { progressLine, type ProgressState } from '../../../src/cli/terminal/progress.ts'
import { storePath } from '../../../src/cli/text/store-path.ts'
import {
  findTime,
  localTime,
  parseDuration,
  parseTime,
  timeAgo,
} from '../../../src/cli/text/times.ts'
import { numberText, sizeText } from '../../../src/cli/text/words.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test('a local time can be given back as an option, to the second', () => {
  for (const time of [0, 1_700_000_000_000, 1_750_000_000_000]) {
    const text = localTime(time)
    expect(text).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
    expect(findTime(text, 0)).toBe(time)
  }
})

test('an empty name is the name of nothing, not of a device without a name', () => {
  const devices = [
    { id: 'dev_aaaa1', name: '' },
    { id: 'dev_bbbb2', name: 'laptop' },
  ]
  const kind = { kind: 'device', list: 'gitlocket device list' }
  expect(resolveNamed(devices, 'aaaa', kind)).toBe('dev_aaaa1')
  expect(resolveNamed(devices, 'laptop', kind)).toBe('dev_bbbb2')
  expect(() => resolveNamed(devices, '', kind)).toThrow('There is no device ""')
})

async function run(args: readonly string[]) {
  const invocation = await parseCommandLine(args)
  if (invocation.type !== 'run') throw new Error('no command was found')
  return invocation
}

describe('a command line', () => {
  test('may have its common options before or after the verb', async () => {
    for (const args of [
      ['--store', 'x', '--json', 'log', 'a'],
      ['log', 'a', '--json', '--store=x'],
      ['history', '--store', 'x', 'a', '--json'],
    ]) {
      const { command, input } = await run(args)
      expect([command.name, input.argument(0), input.text('store'), input.flag('json')]).toEqual([
        'log',
        'a',
        'x',
        true,
      ])
    }
  })

  test.each<[args: string[], text: string | undefined]>([
    [['create', 'a', '--text', '- a list'], '- a list'],
    [['create', 'a', '--text', '--'], '--'],
    [['create', 'a', '--text='], ''],
    [['create', 'a', '--text=--json'], '--json'],
    [['create', 'a', '--text', '--unknown'], '--unknown'],
  ])('%j gives --text %j', async (args, text) => {
    const { input } = await run(args)
    expect(input.text('text')).toBe(text)
  })

  test('accepts any number of a repeated argument, even zero', async () => {
    for (const typed of [[], ['a'], ['a', 'b', 'c']]) {
      const { input } = await run(['redact', ...typed])
      expect(input.arguments(0)).toEqual(typed)
    }
  })

  test('keeps each value of a repeated option, and uses the last one', async () => {
    const args = ['report', '--certificate', 'a', '--format', 'csv', '--certificate=b']
    const { input } = await run(args)
    expect([input.texts('certificate'), input.text('certificate')]).toEqual([['a', 'b'], 'b'])
    expect([input.texts('out'), input.text('out'), input.texts('format')]).toEqual([
      [],
      undefined,
      ['csv'],
    ])
  })

  test('ends its options at --', async () => {
    const { input } = await run(['cat', '--', '--json'])
    expect(input.argument(0)).toBe('--json')
    expect(input.flag('json')).toBe(false)
    expect(wantsJson(['cat', '--', '--json'])).toBe(false)
  })

  test.each<[args: string[], name: string | undefined]>([
    [['--help'], undefined],
    [['help'], undefined],
    [['help', 'log'], 'log'],
    [['help', 'key', 'show'], 'key show'],
    [['log', '-h'], 'log'],
    [['create', '--help'], 'create'],
    [['device', '--help'], undefined],
    [['help', '--all'], undefined],
  ])('%j asks for help on %s', async (args, name) => {
    const invocation = await parseCommandLine(args)
    expect(invocation.type).toBe('help')
    expect(invocation.type === 'help' ? invocation.command?.name : '').toBe(name)
  })
})

describe('times', () => {
  const now = Date.parse('2026-02-01T12:00:00Z')
  test.each([
    ['90s', '2026-02-01T11:58:30.000Z'],
    ['36h', '2026-01-31T00:00:00.000Z'],
    ['2w', '2026-01-18T12:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:30:00+01:00', '2026-01-31T11:30:00.000Z'],
  ])('%s is %s', (text, time) => {
    expect(new Date(parseTime('since', text, now)).toISOString()).toBe(time)
  })

  test.each(['', 'x', '1', '1y', '-1d', '2026-02-30T', '2026-1-1', 'Infinityd'])(
    '%j is refused',
    (text) => {
      expect(() => parseTime('since', text, now)).toThrow(/must be a duration/)
    },
  )

  test('a text that is not a time is not parsed as one', () => {
    expect(findTime('memver_3k9f', now)).toBeUndefined()
    expect(findTime('deadbeef', now)).toBeUndefined()
  })

  test.each([
    ['today', '2026-02-01'],
    ['yesterday', '2026-01-31'],
    ['Sunday', '2026-02-01'],
    ['monday', '2026-01-26'],
    ['saturday', '2026-01-31'],
  ])('%s begins with the local %s', (text, day) => {
    expect(localTime(parseTime('since', text, now)).slice(0, 19)).toBe(`${day} 00:00:00`)
  })

  test('durations are counted in units, and nothing else is a duration', () => {
    expect(parseDuration('unchanged', '90d')).toBe(90 * 86_400_000)
    expect(() => parseDuration('unchanged', '2026-01-31')).toThrow(/--unchanged must be a duration/)
  })

  test.each([
    [0, 'just now'],
    [-5000, 'just now'],
    [1000, '1s ago'],
    [119_000, '1m ago'],
    [7_200_000, '2h ago'],
    [3 * 86_400_000, '3d ago'],
    [400 * 86_400_000, `on ${localTime(now - 400 * 86_400_000).slice(0, 10)}`],
  ])('%d ms before is %s', (elapsed, text) => {
    expect(timeAgo(now - elapsed, now)).toBe(text)
  })
})

describe('on the screen', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [999_949, '999.9 kB'],
    [999_950, '1.0 MB'],
    [1.5e9, '1.5 GB'],
    [2e12, '2.0 TB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text)
  })

  test.each([0, 7, 999, 1000, 102_400, 16_777_216, Number.MAX_SAFE_INTEGER])(
    '%d is grouped as English does',
    (count) => {
      expect(numberText(count)).toBe(count.toLocaleString('en'))
    },
  )

  test.each<[Omit<ProgressState, 'title'>, string]>([
    [{ done: 0, total: 10, elapsedMs: 8000 }, '[----------------]  0 %  0 of 10'],
    [
      { done: 5, total: 10, elapsedMs: 8000 },
      '[########--------]  50 %  5 of 10  0.6/s  about 8 s',
    ],
    [{ done: 10, total: 10, elapsedMs: 8000 }, '[################]  100 %  10 of 10  1.3/s'],
    [
      { done: 1, total: 1000, elapsedMs: 8000 },
      '[----------------]  0 %  1 of 1,000  0.1/s  about 134 min',
    ],
    [{ done: 1, total: 1000, elapsedMs: 2999 }, '[----------------]  0 %  1 of 1,000  0.3/s'],
    [{ done: 1000, total: Infinity, elapsedMs: 8000 }, '1,000  125/s'],
    [
      { done: 720_000, total: 29_000_000, elapsedMs: 7000, inBytes: true },
      '[----------------]  2 %  0.7 of 29.0 MB  103 kB/s  about 5 min',
    ],
    [
      { done: 12, total: 700, elapsedMs: 1000, inBytes: true },
      '[----------------]  1 %  12 of 700 B  12 B/s',
    ],
    [{ done: 3_000_000, total: Infinity, elapsedMs: 1000, inBytes: true }, '3.0 MB  3.0 MB/s'],
  ])('%j', (state, line) => {
    expect(progressLine({ title: 'Work', ...state })).toBe(`Work  ${line}`)
  })

  test('a phase without an amount shows its name', () => {
    const title = 'Waiting for the remote'
    expect(progressLine({ title, done: 0, elapsedMs: 0 })).toBe(`${title}…`)
  })
})

describe('paths', () => {
  test.each([
    ['notes.md', '/notes.md'],
    ['/notes.md', '/notes.md'],
    ['a/b/', '/a/b'],
    ['/', '/'],
    ['', '/'],
  ])('%j is %s', (typed, path) => {
    expect(storePath(typed)).toBe(path)
  })

  test.each(['..', 'a/../b', '//', 'a//', './a', 'a\n'])('%j is refused', (typed) => {
    expect(() => storePath(typed)).toThrow(expect.objectContaining({ code: 'invalid_path' }))
  })

  test.each([
    '/.git',
    '/a/.GIT/config',
    '/.git ',
    '/.git..',
    '/git~1',
    `/${'x'.repeat(256)}`,
    '/..',
  ])('%s is not written as a file', (path) => {
    expect(exportProblem(path)).toMatch(/\w/)
    expect(() => exportFile('/tmp/out', path)).toThrow(/cannot be written as a file/)
  })

  test.each(['/a', '/.gitignore', '/.github/x', '/git', '/a b/c'])('%s is', (path) => {
    expect(exportProblem(path)).toBeUndefined()
    expect(exportFile('/tmp/out', path)).toBe(`/tmp/out${path}`)
  })

  test.each([
    [['/a', '/A', '/b'], ['/A']],
    [['/straße', '/STRASSE'], ['/STRASSE']],
    [['/notes', '/Notes/x'], ['/Notes/x']],
    [['/Notes/x/y', '/notes/X'], ['/notes/X']],
    [['/a/x', '/A/y', '/a/z', '/ax'], []],
  ])('of %j, a disk that ignores case cannot hold %j beside the others', (paths, twins) => {
    expect(findCaseTwins(paths)).toEqual(twins)
  })

  test('a disk is asked whether it ignores case, and keeps nothing of that', () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'a'))
    const isTaken = existsSync(join(directory, 'A'))
    expect(ignoresCase(directory)).toBe(isTaken)
    expect(readdirSync(directory)).toEqual(['a'])
  })
})

test('lines are broken between words, and never within a command or a path', () => {
  const text = 'Run `gitlocket remote add origin <url>`, then `gitlocket sync` again'
  expect(wrap(text, 30)).toEqual([
    'Run',
    '`gitlocket remote add origin <url>`,',
    'then `gitlocket sync` again',
  ])
  expect(wrap('One ` alone', 5)).toEqual(['One `', 'alone'])

  const error = new CommandError('not_a_store', 'Nothing is at that place', 'Look elsewhere')
  const sentences = 'gitlocket: Nothing\nis at that place\n'
  const hint = 'hint: Look\nelsewhere\n'
  const store = '/a directory/of a store'
  expect(errorText(error, false, store, 18)).toBe(`${sentences}store: ${store}\n${hint}`)
  const lines = 'gitlocket: Nothing is at that place\n'
  for (const columns of [undefined, 0, 80]) {
    expect(errorText(error, false, store, columns)).toMatch(lines)
  }
})
