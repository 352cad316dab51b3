// `gitlocket search`: a line for each memory that is found, with who wrote it, and the same as
// JSON. On a terminal it is coloured and escaped.
// @module-tag slow

import { beforeAll, expect, test } from 'vitest'
import { sharedHome } from './cli-process.ts'

const home = sharedHome()

beforeAll(async () => {
  await home.ok('init')
  await home.ok(
    'create',
    'a/locks.md',
    '--text',
    'first\nA deadlock \u001b[31mhere\n',
    '--actor',
    'alice',
  )
  await home.ok('create', 'b/deadlock.md', '--text', 'nothing\n', '--actor', 'bob')
})

/** Without the time, which is that of the run. */
async function found(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await home.call(['search', ...words])
  return stdout.split('\n').map((line) => line.replace(/\t\d{4}-[\dT:.-]+Z/, ''))
}

test('prints path, line, snippet, author and age', async () => {
  expect(await found('deadlock')).toEqual([
    '/b/deadlock.md\t\t\tuser:bob\t',
    '/a/locks.md\t2\tA deadlock  [31mhere\tuser:alice\t',
    '',
  ])
  expect(await home.ok('grep', 'deadlock', '--path', '/memories/a')).toMatch(
    /^\/a\/locks\.md\t2\t.*\tuser:alice\t\t\d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
  )
})

test('colours matches, and escapes the texts of agents', async () => {
  await home.ok('create', 'c.md', '--text', 'a \u009b31m deadline\n')
  const text = await home.ok('search', 'deadline', '--color', 'always')
  expect(text).toContain('\u001b[1mdeadline\u001b[m')
  expect(text).not.toContain('\u009b')
})

test('passes every option on', async () => {
  expect(await found('daedlock')).toEqual([''])
  expect(await found('daedlock', '--fuzzy')).toHaveLength(3)
  expect(await found('deadl', '--whole-words')).toEqual([''])
  expect(await found('--regex', '^A dead')).toHaveLength(2)
  const page = await home.json('search', 'deadlock', '--limit', '1')
  const cursor = String(page['next_page'])
  const next = await home.json('search', 'deadlock', '--after', cursor)
  expect(next).toMatchObject({ data: [{ memory: { path: '/a/locks.md' } }], next_page: null })
})

test('searches the past', async () => {
  const { data } = await home.json('log', '--limit', '1')
  const id = String(Array.isArray(data) ? data[0].id : '')
  await home.ok('rm', 'b/deadlock.md')
  expect(await found('deadlock')).toHaveLength(2)
  expect(await found('deadlock', '--all-versions')).toHaveLength(3)
  const [first] = await found('deadlock', '--at', id)
  expect(first).toMatch(/^\/b\/deadlock\.md\t\t\tuser:bob\t\tmemver_[0-9a-z]{26}$/)
})

test('gives JSON in wire names, with the author', async () => {
  expect(await home.json('search', 'first')).toMatchObject({
    data: [
      {
        type: 'memory_search_hit',
        memory: { type: 'memory', path: '/a/locks.md', content: null },
        line: 1,
        snippet: 'first',
        created_by: { type: 'user_actor', user_id: 'alice' },
        session_id: null,
      },
    ],
    next_page: null,
  })
})

test('no hits are a success; a bad query is a failure', async () => {
  const nothing = await home.run(['search', 'zzz'])
  expect([nothing.exitCode, nothing.stdout]).toEqual([0, ''])
  expect(nothing.stderr).toContain('Nothing matches')
  const refused = await home.run(['search', '--regex', '(secret'])
  expect(refused.exitCode).not.toBe(0)
  expect(refused.stderr).toContain('The regular expression is not valid')
  expect(refused.stderr).not.toContain('secret')
})
