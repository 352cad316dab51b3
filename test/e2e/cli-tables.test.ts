// Every list at three widths, as golden files to look at: `npx vitest run -u` writes them anew. The
// clock stands still, and ids are masked, since each run has its own.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { git } from '../support/temporary.ts'
import { type Home, sharedHome } from './cli-process.ts'

const NOW = Date.UTC(2026, 2, 10, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const lists: readonly (readonly string[])[] = [
  [],
  ['status'],
  ['ls', '-l'],
  ['ls', '-lR'],
  ['log', '--oneline'],
  ['log', '--oneline', '--utc', '-n', '2'],
  ['search', 'retried'],
  ['search', 'retried', '--at', '5d'],
  ['blame', '/projects/billing/decisions.md'],
  ['conflicts'],
  ['device', 'list'],
  ['remote', 'list'],
  ['redact', '--path', '/projects', '--overwrite', '--dry-run'],
  ['undo', 'chat-9', '--dry-run'],
  ['expire', '--unchanged', '11d', '--redact-older', '4d', '--dry-run'],
  ['guard', 'list'],
  ['store', 'list'],
  ['workspace', 'list'],
  ['api-key', 'list'],
]

const [laptop, server, desktop] = [sharedHome(), sharedHome(), sharedHome()]
const masks = new Map<string, string>()

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  await fillStore()
  await fillServer()
  vi.setSystemTime(NOW)
  await maskIds()
})

afterAll(() => {
  vi.useRealTimers()
})

describe('every list', { tags: 'slow' }, () => {
  test.each([60, 80, 140])('fits on a terminal of %d columns', async (columns) => {
    const screens: string[] = []
    for (const words of lists) {
      const home = words[0] === 'remote' ? desktop : laptop
      const screen = masked(await home.screen(columns, words))
      screens.push(`$ gitlocket ${words.join(' ')}\n${screen}`)
    }
    const text = screens.join('\n')
    await expect(text).toMatchFileSnapshot(`tables-${columns}.txt`)
    const tooWide = text.split('\n').filter((line) => widthOf(line) > columns)
    expect(tooWide.filter((line) => !/^(?:\$|[0-9a-f]{64}$)/.test(line))).toEqual([])
  })
})

const decisions = '/projects/billing/decisions.md'

async function fillStore(): Promise<void> {
  const url = join(laptop.directory, 'remote.git')
  git(['init', '--quiet', '--bare', '--initial-branch=main', url], '/')
  for (const home of [laptop, server, desktop]) home.variables['TZ'] = 'UTC'
  const made = await at(45 * DAY, laptop, ['init', '--name', 'laptop', '--json'])
  const recoveryKey = String(Object(JSON.parse(made)).recovery_key)
  await at(44 * DAY, laptop, ['remote', 'add', 'origin', url])
  await fillFirst()
  await at(9 * DAY, laptop, ['sync'])
  const address = String((await laptop.json('status'))['address'])
  for (const [home, name] of [
    [server, 'build-server'],
    [desktop, 'desktop'],
  ] as const) {
    const env = { GITLOCKET_RECOVERY_KEY_FILE: home.file('key', recoveryKey) }
    await at(8 * DAY, home, ['join', `${url}#${address}`, '--name', name], env)
  }
  await diverge()
  await at(2 * DAY, laptop, ['device', 'remove', 'desktop', '--yes'])
  await at(26 * HOUR, server, ['sync'])
  await redactAndWrite()
  const url2 = 'https://git.example.com/agents/customer-support-europe/memory.git'
  await at(0, desktop, ['remote', 'remove', 'origin'])
  await at(0, desktop, ['remote', 'add', 'origin', url2])
  await at(0, desktop, ['remote', 'add', 'backup', '/srv/git/memory.git'])
}

/** The first weeks, of a user and of an agent. */
async function fillFirst(): Promise<void> {
  const text = [
    '# Decisions, billing',
    '',
    'Failed charges are retried three times, one hour apart.',
    'Ask Anna before changing it; finance reads the numbers of retried charges every Monday.',
    '\tNumbers are never reused.',
    '',
  ].join('\n')
  const ines = ['--actor', 'ines']
  await at(44 * DAY, laptop, ['create', decisions, '--text', text, ...ines])
  await at(43 * DAY, laptop, ['create', '/people/anna.md', '--text', '# Anna\n', ...ines])
  const long = '/projects/billing/archive/2025/quarterly-review-with-finance/open-questions.md'
  const agent = ['--session', 'import-files-20260226T115401602Z']
  const reason = 'imported from the old wiki, with the open questions that finance asked'
  await at(12 * DAY, laptop, ['create', long, '--text', 'Why?\n', ...agent, '--reason', reason])
  const memo = '# 買い物\n再試行 was retried\n'
  await at(11 * DAY, laptop, ['create', '/メモ/買い物リスト.md', '--text', memo, ...agent])
  await at(11 * DAY, laptop, ['create', '/todo.md', '--text', 'Call the payment team\n'])
  const key = ['--text', 'the key was sk-old\n']
  await at(10 * DAY, laptop, ['create', '/people/old.md', ...key, ...agent])
}

/** The same line is edited on two machines, and a merge keeps both. */
async function diverge(): Promise<void> {
  const edit = (text: string, ...more: readonly string[]): readonly string[] => {
    return ['str-replace', decisions, '--old', 'three times', '--new', text, ...more]
  }
  const why = ['--reason', 'what the customer said on Monday']
  await at(4 * DAY, server, edit('five times', '--session', 'chat-4f1c', ...why))
  await at(4 * DAY, server, ['sync'])
  // A version on top of another commit is the newer one, whatever their hashes are.
  await at(3 * DAY, desktop, ['settings', '--description', 'of the billing team'])
  await at(3 * DAY, desktop, edit('four times', '--actor', 'bob'))
  await at(3 * DAY - MINUTE, desktop, ['sync'])
  await at(2 * DAY + HOUR, laptop, ['sync'])
}

async function redactAndWrite(): Promise<void> {
  const erase = ['redact', '--path', '/people/old.md', '--delete', '--yes', '--as', 'ines']
  await at(5 * HOUR, laptop, erase)
  await at(4 * HOUR, laptop, ['sync'])
  await at(3 * HOUR, laptop, ['mv', '/todo.md', '/people/todo.md', '--session', 'chat-4f1c'])
  const allowed = 'a'.repeat(64)
  await at(2 * HOUR, laptop, ['guard', 'allow', allowed])
  const more = ['append', '/people/anna.md', '--text', 'Knows billing.\n']
  await at(3 * MINUTE, laptop, [...more, '--session', 'chat-9', '--reason', 'asked in the chat'])
}

async function fillServer(): Promise<void> {
  await at(40 * DAY, laptop, ['workspace', 'create', 'customer support, Europe'])
  const inWorkspace = ['--workspace', 'customer support, Europe']
  await at(40 * DAY, laptop, ['api-key', 'create', '--name', 'website', ...inWorkspace])
  await at(6 * DAY, laptop, ['api-key', 'create', '--name', 'nightly import of tickets'])
  await at(5 * DAY, laptop, ['api-key', 'revoke', 'website'])
  await at(4 * DAY, laptop, [
    'store',
    'create',
    'answers that customers were given',
    ...inWorkspace,
  ])
  await at(20 * MINUTE, laptop, ['store', 'create', 'notes'])
}

async function at(
  before: number,
  home: Home,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  vi.setSystemTime(NOW - before)
  const { exitCode, stdout, stderr } = await home.call(words, env)
  if (exitCode === 0) return stdout
  throw new Error(`gitlocket ${words.join(' ')} exited with ${exitCode}: ${stderr}`)
}

/** The first digits of each id become a name of the same width. */
async function maskIds(): Promise<void> {
  const kinds = [
    ['log', '--reverse'],
    ['device', 'list'],
    ['store', 'list'],
    ['workspace', 'list'],
    ['api-key', 'list'],
  ]
  for (const words of kinds) {
    const { data } = await laptop.json(...words)
    for (const [index, { id }] of Object.entries<{ id: string }>(Object(data))) {
      const digits = id.slice(id.indexOf('_') + 1)
      masks.set(digits.slice(0, 8), `${id.split('_')[0]?.slice(-3)}${index.padStart(5, '0')}`)
    }
  }
}

function masked(screen: string): string {
  return screen
    .replaceAll(/\b[0-9a-z]{8}\b/g, (digits) => masks.get(digits) ?? digits)
    .replaceAll(/^Words .*(?:\n {11}.*)*/gm, 'Words      …')
    .replaceAll(/^Address .*(?:\n {11}.*)*/gm, 'Address    …')
}

function widthOf(line: string): number {
  return Array.from(line).reduce((sum, one) => sum + (/[\u3000-\u9fff]/.test(one) ? 2 : 1), 0)
}
