// The verbs that read the history: log and its forms, diff between points in time, blame, and past
// states of the store. Tests on a terminal are in cli-terminal.test.ts.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { openStore, parseIdentity } from '../../src/index.ts'
import { author } from '../support/stores.ts'
import { requires } from '../support/tools.ts'
import { type Home, newHomeWithStore, sharedHome } from './cli-process.ts'

const git = requires('git')

/** Ids of all versions, oldest first. */
async function versionsOf(home: Home): Promise<readonly string[]> {
  const { data: versions } = await home.json('log', '--reverse')
  if (!Array.isArray(versions)) throw new Error('log printed no versions')
  return versions.map(({ id }) => String(id))
}

async function headOf(home: Home): Promise<string> {
  return String((await home.json('status'))['head'])
}

describe('a history', () => {
  const home = sharedHome()
  let ids: readonly string[] = []
  let beginning = ''
  beforeAll(async () => {
    await home.ok('init')
    beginning = await headOf(home)
    await home.ok('create', 'a.md', '--text', 'one\ntwo\n', '--session', 's1')
    await home.ok('create', 'b/c.md', '--text', 'c\n')
    await home.ok('str-replace', 'a.md', '--old', 'two', '--new', 'zwei', '--actor', 'bob')
    await home.ok('mv', 'a.md', 'b/a.md')
    await home.ok('rm', 'b/c.md')
    ids = await versionsOf(home)
  })

  test('log prints a page at a time, and --after continues', async () => {
    const first = await home.json('log', '--limit', '2')
    const cursor = String(first['next_page'])
    expect(first['data']).toMatchObject([{ id: ids[4] }, { id: ids[3] }])
    expect(cursor).toBe(ids[3])
    const second = await home.json('log', '--limit', '3', '--after', cursor)
    expect(second).toMatchObject({ data: [{ id: ids[2] }, { id: ids[1] }, { id: ids[0] }] })
    expect(second['next_page']).toBeNull()
    expect((await home.json('log', '--skip', '4'))['data']).toMatchObject([{ id: ids[0] }])
    expect((await home.json('log', '--skip', '9'))['data']).toEqual([])
  })

  test('log --reverse begins with the oldest, and continues from there', async () => {
    const shown = (await home.ok('log', '--oneline', '--reverse', '-n', '2')).split('\n')
    expect(shown.map((line) => line.split('\t').at(-1))).toEqual([ids[0], ids[1], ''])
    const after = ['--reverse', '--after', ids[2] ?? '']
    expect((await home.json('log', ...after))['data']).toMatchObject([
      { id: ids[3] },
      { id: ids[4] },
    ])
  })

  test('log --patch shows the changes of each version', async () => {
    const text = await home.ok('log', '-p', '--actor', 'bob')
    expect(text).toMatch(/^version memver_[^]*\n\ndiff --git a\/a.md b\/a.md\n--- a\/a.md\t/)
    expect(text).toContain('\n one\n-two\n+zwei\n')
    const { data: versions } = await home.json('log', '-p', '--limit', '2')
    expect(versions).toMatchObject([
      { diff: expect.stringContaining('deleted file mode 100644') },
      { diff: expect.stringContaining('rename from a.md\nrename to b/a.md') },
    ])
  })

  test.each([
    ['auto', false],
    ['never', false],
    ['always', true],
  ])('--color %s in a pipe: colours are %s', async (when, coloured) => {
    const text = await home.ok('log', '--color', when)
    expect(text.startsWith('\u001b[33mversion memver_')).toBe(coloured)
    expect(text.includes('\u001b')).toBe(coloured)
  })

  test('diff of a path shows the newest change of its memory, or all later ones', async () => {
    const text = await home.ok('diff', 'b/a.md')
    expect(text).toBe(await home.ok('diff', ids[3] ?? ''))
    expect(await home.ok('diff', ids[0] ?? '', 'b/a.md')).toContain('\n-two\n+zwei\n')
    const gone = await home.call(['diff', 'gone.md'])
    expect(gone.stderr).toContain('Nothing is or was at ')
    expect(gone.exitCode).toBe(3)
  })

  test('diff --from compares two points in time', async () => {
    const [, second = '', , , last = ''] = ids
    const patch = await home.ok('diff', '--from', second)
    expect(patch).toContain('rename from a.md\nrename to b/a.md\n')
    expect(patch).toContain('deleted file mode 100644\n--- a/b/c.md\n+++ /dev/null\n')
    expect(await home.ok('diff', '--from', second, '--name-only')).toBe(
      '/a.md => /b/a.md\n/b/c.md\n',
    )
    expect(await home.ok('diff', '--from', second, '--stat')).toContain(
      ' 2 memories changed, +1 -2 lines\n',
    )
    expect(await home.ok('diff', '--from', last)).toBe('')
    expect(await home.ok('diff', '--from', second, '--to', last, 'b/c.md', '--name-only')).toBe(
      '/b/c.md\n',
    )
    const whole = await home.json('diff', '--from', beginning.slice(0, 12))
    expect(whole).toMatchObject({
      from: { commit: beginning.slice(0, 12) },
      to: null,
      redacted: 0,
      data: [
        {
          type: 'memory_change',
          path_before: null,
          path_after: '/b/a.md',
          diff: expect.any(String),
        },
      ],
    })
    const back = await home.ok('diff', '--from', last, '--to', second, '--name-only')
    expect(back.split('\n').toSorted()).toEqual(['', '/b/a.md => /a.md', '/b/c.md'])
  })

  test('blame names the version, actor and session of each line', async () => {
    const text = await home.ok('blame', 'b/a.md')
    const [first = '', second = ''] = text.split('\n')
    expect(first).toMatch(/^user:alice\ts1\t\d{4}-\S+Z\t\tmemver_[0-9a-z]{26}\t\t1\tone$/)
    expect(second).toMatch(/^user:bob\t\t\d{4}-\S+Z\t\tmemver_[0-9a-z]{26}\t\t2\tzwei$/)
    expect(await home.json('blame', 'b/a.md')).toMatchObject({
      type: 'blame',
      data: [
        { line_number: 1, text: 'one', memory_version_id: ids[0], uncertain: false },
        { line_number: 2, text: 'zwei', memory_version_id: ids[2] },
      ],
      versions: [{ id: ids[0] }, { id: ids[2] }],
    })
    const then = await home.json('blame', 'a.md', '--at', ids[1] ?? '')
    expect(then['data']).toMatchObject([{ text: 'one' }, { text: 'two' }])
  })

  test('--at shows an earlier state of the store', async () => {
    const [, second = ''] = ids
    expect(await home.ok('ls', '-R')).toBe('/b/a.md\n')
    expect(await home.ok('ls', '-R', '--at', second)).toBe('/a.md\n/b/c.md\n')
    expect(await home.ok('cat', 'a.md', '--at', second)).toBe('one\ntwo\n')
    expect(await home.ok('view', 'a.md', '--at', second)).toBe('     1\tone\n     2\ttwo\n')
    expect(await home.ok('view', '--at', beginning)).toBe('0B\t/\n')
    expect((await home.call(['cat', 'b/a.md', '--at', second])).exitCode).toBe(3)
    expect(await home.json('cat', 'a.md', '--at', second)).toMatchObject({
      content: 'one\ntwo\n',
      memory_version_id: ids[0],
      at: { commit: expect.stringMatching(/^[0-9a-f]{40}$/), redacted: 0, displaced: 0 },
    })
    expect(await home.ok('ls', '-R', '--at', '0s')).toBe('/b/a.md\n')
    expect((await home.call(['ls', '--at', '2020-01-01'])).exitCode).toBe(3)
  })

  test.skipIf(git.missing)(`git apply makes one export from another${git.note}`, async () => {
    const [, second = ''] = ids
    const [then, now] = [join(home.directory, 'then'), join(home.directory, 'now')]
    await home.ok('export', then, '--at', second)
    await home.ok('export', now)
    const patch = await home.ok('diff', '--from', second)
    execFileSync('git', ['apply', '-'], { cwd: then, input: patch, env: home.environment() })
    expect(filesIn(then)).toEqual(filesIn(now))
  })
})

describe('blame marks', () => {
  test('a line that may be older than a redacted version', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    await home.ok('insert', 'a.md', '--line', '1', '--text', 'two')
    await home.ok('insert', 'a.md', '--line', '2', '--text', 'three')
    const ids = await versionsOf(home)
    await home.call(['redact', ids[1] ?? '', '--yes'])
    const { stdout, stderr } = await home.call(['blame', 'a.md'])
    expect(stdout).toMatch(/\tmemver_\w+\t\*\t2\ttwo$/m)
    expect(stderr).toMatch(/^\* a version was redacted/)
  })
})

function filesIn(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    files.map((path) => [path.slice(directory.length), readFileSync(path, 'utf8')]),
  )
}

describe('a clock that was wrong', () => {
  test(
    'is reported after the next write, and its times are marked as doubtful',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const { identityFile, stateDirectory, store: directory } = home
      const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
      const clock = (): number => Date.UTC(2099, 0, 1)
      const store = await openStore({ directory, stateDirectory, identity, clock })
      await store.as(author).apply([{ type: 'create', path: '/ahead.md', content: 'a\n' }])
      await store.close()
      const report = 'behind the newest record (2099-01-01T00:00:00.000Z)'
      expect(await home.ok('status')).toContain(report)
      expect(await home.json('status')).toMatchObject({
        clock_leap: { newest_record: '2099-01-01T00:00:00.000Z' },
      })
      expect((await home.call(['doctor'])).stdout).toMatch(/warn +Clock .*behind the newest record/)
      const written = await home.call(['create', 'after.md', '--text', 'b'])
      expect([written.exitCode, written.stderr]).toEqual([0, expect.stringContaining(report)])
      expect((await home.call(['create', 'more.md', '--text', 'b'])).stderr).toBe('')
      expect(await home.ok('status')).not.toContain('The clock')
      const { data: versions } = await home.json('log', '--reverse')
      const [ahead, after] = Array.isArray(versions) ? versions : []
      expect(ahead).toMatchObject({
        created_at: '2099-01-01T00:00:00.000Z',
        placed_at: after.created_at,
      })
      expect(after.placed_at).toBeNull()
      const date = `Date:     2099-01-01T00:00:00.000Z (doubtful: later versions were written `
      expect(await home.ok('log', '/ahead.md')).toContain(`${date}${after.created_at})\n`)
      expect(await home.ok('show', ahead.id)).toContain(`${date}${after.created_at})\n`)
      const marked = {
        stdout: expect.stringContaining(`\t${after.created_at}?\t`),
        stderr: expect.stringMatching(/^\? the clock of the device was wrong/),
      }
      expect(await home.call(['log', '--oneline', '/ahead.md'])).toMatchObject(marked)
      expect(await home.call(['blame', '/ahead.md'])).toMatchObject(marked)
      const then = await home.call(['ls', '--at', after.created_at])
      expect(then).toMatchObject({
        stdout: expect.stringContaining('after.md'),
        stderr: expect.stringMatching(
          /^1 change stamped after that time is taken for older, since/,
        ),
      })
    },
  )
})
