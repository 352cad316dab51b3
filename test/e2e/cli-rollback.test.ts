// restore, rollback and undo on the built command line: the plan, the change, the memories left
// unchanged, and that each can be undone.

import { describe, expect, test } from 'vitest'
import { type Home, newHomeWithStore } from './cli-process.ts'

async function headOf(home: Home): Promise<string> {
  return String((await home.json('status'))['head'])
}

async function newestVersion(home: Home): Promise<string> {
  const { data: versions } = await home.json('log', '--limit', '1')
  if (!Array.isArray(versions)) throw new Error('log printed no versions')
  return String(versions[0]?.id)
}

describe('restore', () => {
  test('restores a version of a memory as one new version', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    const first = await newestVersion(home)
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two')
    expect(await home.ok('restore', 'a.md', '--to', first.slice(0, 17))).toBe(
      'Changed 1 memory\n/a.md\tmodified\n',
    )
    expect(await home.ok('cat', 'a.md')).toBe('one\n')
    const { data: versions } = await home.json('log')
    expect(versions).toMatchObject([{ operation: 'modified', reason: /restore/ }, {}, {}])
    expect(await home.ok('restore', 'a.md', '--to', first)).toBe('Nothing has to change\n')
  })

  test('restores a deleted memory under its id', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    const { id } = await home.json('cat', 'a.md')
    const commit = await headOf(home)
    await home.ok('rm', 'a.md')
    const answer = await home.json('restore', 'a.md', '--to', commit, '--reason', 'Needed')
    expect(answer).toMatchObject({
      dry_run: false,
      changed: true,
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      memory_version_ids: [expect.stringMatching(/^memver_/)],
      steps: [{ memory_id: id, operation: 'created', path_before: null, path_after: '/a.md' }],
      left: [],
    })
    expect((await home.json('cat', 'a.md'))['id']).toBe(id)
    expect((await home.json('log', '--limit', '1'))['data']).toMatchObject([{ reason: 'Needed' }])
    await home.ok('rm', 'a.md')
    await home.ok('restore', String(id), '--to', commit)
    expect(await home.ok('cat', 'a.md')).toBe('one\n')
  })

  test('--dry-run prints the plan and a patch, and changes nothing', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    const first = await newestVersion(home)
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two')
    const head = await headOf(home)
    expect(await home.ok('restore', 'a.md', '--to', first, '--dry-run')).toBe(
      [
        'Would change 1 memory',
        '/a.md\tmodified',
        '',
        'diff --git a/a.md b/a.md',
        '--- a/a.md',
        '+++ b/a.md',
        '@@ -1,1 +1,1 @@',
        '-two',
        '+one',
        '',
      ].join('\n'),
    )
    expect(await headOf(home)).toBe(head)
  })
})

describe('rollback', () => {
  test(
    'restores everything in one commit, and is itself rolled back',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'one\n')
      await home.ok('create', 'd/b.md', '--text', 'b\n')
      const then = await headOf(home)
      await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two')
      await home.ok('rm', 'd')
      await home.ok('create', 'new.md', '--text', 'new\n')
      const now = await headOf(home)
      const { commits } = await home.json('status')
      const lines = (await home.ok('rollback', '--to', then)).trimEnd().split('\n')
      expect(lines[0]).toBe('Changed 3 memories')
      expect(lines.slice(1).toSorted()).toEqual([
        '/a.md\tmodified',
        '/d/b.md\tcreated',
        '/new.md\tdeleted',
      ])
      expect(await home.ok('ls', '-R')).toBe('/a.md\n/d/b.md\n')
      expect((await home.json('status'))['commits']).toBe(Number(commits) + 1)
      await home.ok('rollback', '--to', now, '--as', 'carol', '--reason', 'No')
      expect(await home.ok('ls', '-R')).toBe('/a.md\n/new.md\n')
      expect(await home.ok('cat', 'a.md')).toBe('two\n')
      expect((await home.json('log', '--limit', '1'))['data']).toMatchObject([
        { created_by: { user_id: 'carol' }, reason: 'No' },
      ])
    },
  )

  test('--path leaves everything else unchanged', async () => {
    const home = await newHomeWithStore()
    const then = await headOf(home)
    await home.ok('create', 'a.md', '--text', 'a')
    await home.ok('create', 'd/b.md', '--text', 'b')
    await home.ok('rollback', '--to', then, '--path', 'd')
    expect(await home.ok('ls', '-R')).toBe('/a.md\n')
  })
})

describe('undo', () => {
  test("undoes a session's writes, and keeps the changes of others", { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\ntwo\nthree\nfour\nfive\n')
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'evil', '--session', 'bad')
    await home.ok('create', 'trap.md', '--text', 'evil', '--session', 'bad')
    await home.ok('str-replace', 'a.md', '--old', 'five', '--new', '5')
    const answer = await home.json('rollback', '--session', 'bad')
    expect(answer).toMatchObject({ changed: true, left: [] })
    expect(await home.ok('cat', 'a.md')).toBe('one\ntwo\nthree\nfour\n5\n')
    expect(await home.ok('ls')).toBe('a.md\n')
  })

  test(
    'leaves memories that cannot be separated, lists them, and exits with 4',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'one\n')
      await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'evil', '--actor', 'mallory')
      await home.ok('create', 'trap.md', '--text', 'evil', '--actor', 'mallory')
      await home.ok('str-replace', 'a.md', '--old', 'evil', '--new', 'evil indeed')
      const plan = await home.call(['undo', '--actor', 'mallory', '--dry-run', '--json'])
      expect(plan.exitCode).toBe(4)
      expect(JSON.parse(plan.stdout)).toMatchObject({
        dry_run: true,
        changed: false,
        steps: [{ path_before: '/trap.md', path_after: null }],
        left: [{ path: '/a.md', reason: 'overlap' }],
      })
      const done = await home.call(['undo', '--actor', 'mallory'])
      expect(done).toEqual({
        exitCode: 4,
        stdout:
          'Changed 1 memory\n/trap.md\tdeleted\n\n' +
          'Left 1 memory unchanged\n' +
          '/a.md\tlater edits by others touch the same lines\n' +
          'Next: `gitlocket blame /a.md` shows who wrote which line; edit the memory, or restore ' +
          'an earlier version of it\n',
        stderr: '',
      })
      const again = await home.call(['undo', '--actor', 'mallory'])
      expect([again.exitCode, again.stdout]).toEqual([4, expect.stringMatching(/^Left 1 memory/)])
      expect(await home.ok('cat', 'a.md')).toBe('evil indeed\n')
    },
  )

  test('takes a span of time', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a', '--session', 's')
    expect(await home.ok('undo', '--session', 's', '--until', '1h')).toBe('Nothing has to change\n')
    expect(await home.ok('undo', '--session', 's', '--since', '1h')).toContain('/a.md\tdeleted')
  })
  test('of a session or an actor that never wrote fails, and names similar ones', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a', '--session', 'cleaning')
    for (const [words, sentence] of [
      [
        ['--session', 'cleanin'],
        'No session "cleanin" has written anything; did you mean "cleaning"?',
      ],
      [['--session', 'nosuch'], 'No session "nosuch" has written anything\n'],
      [
        ['--actor', 'alcie', '--dry-run'],
        'No actor "alcie" has written anything; did you mean "alice"?',
      ],
    ] as const) {
      const { exitCode, stdout, stderr } = await home.call(['rollback', ...words])
      expect([exitCode, stdout, stderr]).toEqual([3, '', expect.stringContaining(sentence)])
    }
  })
})
