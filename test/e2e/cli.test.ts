// The command line as a newcomer meets it: every verb once, in one story, and what programs get.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { sample } from '../support/seed.ts'
import { ended, newHome, newHomeWithStore, sharedHome } from './cli-process.ts'

const timestamps = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
const ids = /(memver|mem|memstore|dev)_[0-9a-z]{26}/g

describe('the first five minutes', () => {
  test('init prints every path, the recovery key and the next command', async () => {
    const home = newHome()
    const text = await home.ok('init')
    expect(text).toMatch(/^Created the store memstore_[0-9a-z]{26}\n/)
    expect(text).toContain(`Store        ${home.store}\n`)
    expect(text).toContain(`Identity     ${home.identityFile} (keep it secret)\n`)
    expect(text).toMatch(/Fingerprint {2}dev_[0-9a-z]{26}\n/)
    expect(text).toMatch(/\n {2}GLKR1(-[0-9A-Z]{8}){8}\n/)
    expect(text).toMatch(/Next: gitlocket create /)
    expect(statSync(home.identityFile).mode & 0o777).toBe(0o600)
    expect(statSync(home.store).mode & 0o777).toBe(0o700)
  })

  test('init again changes nothing and reports that', async () => {
    const home = await newHomeWithStore()
    const identity = readFileSync(home.identityFile, 'utf8')
    const head = (await home.json('status'))['head']
    const text = await home.ok('init')
    expect(text).toMatch(/^The store memstore_[0-9a-z]{26} exists already; nothing was changed\n/)
    expect(text).not.toContain('GLKR1')
    expect(readFileSync(home.identityFile, 'utf8')).toBe(identity)
    expect((await home.json('status'))['head']).toBe(head)
  })

  test('init finishes after a crash that left the identity file alone', async () => {
    const home = newHome()
    await home.ok('init', '--store', join(home.directory, 'other'))
    expect(existsSync(home.identityFile)).toBe(true)
    mkdirSync(home.store, { recursive: true })
    expect(await home.ok('init')).toMatch(/^Created the store /)
  })

  test('a memory is created, edited, moved, looked at and deleted', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const type = async (...words: string[]): Promise<string> => {
      const { stdout, stderr, exitCode } = await home.call(words)
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
      return stdout
    }
    expect(await type('create', 'notes.md', '--text', 'one\ntwo\n')).toBe('Created /notes.md\n')
    expect(await type('str-replace', '/notes.md', '--old', 'two', '--new', '2')).toBe(
      'Edited /notes.md\n     1\tone\n     2\t2\n',
    )
    expect(await type('insert', 'notes.md', '--line', '1', '--text', '- half')).toBe(
      'Edited /notes.md\n',
    )
    expect(await type('cat', 'notes.md')).toBe('one\n- half\n2\n')
    expect(await type('view', 'notes.md', '--range', '2:')).toBe('     2\t- half\n     3\t2\n')
    expect(await type('mv', 'notes.md', 'plans/notes.md')).toBe(
      'Moved /notes.md to /plans/notes.md\n',
    )
    expect(await type('ls')).toBe('plans/\n')
    expect(await type('ls', 'plans/')).toBe('notes.md\n')
    expect(await type('list', '-lR')).toMatch(/^\/plans\/notes.md\t13\t\d{4}-\S+Z\t\n$/)
    expect(await type('view')).toBe('13B\t/\n13B\t/plans/\n13B\t/plans/notes.md\n')
    expect(await type('rm', 'plans')).toBe('Deleted /plans/ with 1 memory\n')
    expect(await type('ls')).toBe('')
    const verified = await type('verify')
    expect(verified).toMatch(/^Verified 6 commits, 5 versions and 0 memories; the head is [0-9a-f]/)
  })

  test('log prints like git: newest first, with author, device, date and reason', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a\n', '--session', 's1', '--reason', 'Because\nyes')
    await home.ok('mv', 'a.md', 'b.md', '--actor', 'bob')
    const text = (await home.ok('log')).replaceAll(ids, '$1_…').replaceAll(timestamps, 'then')
    expect(text).toBe(
      [
        'version memver_…',
        'Change:   moved /a.md => /b.md',
        'Actor:    user:bob',
        `Device:   ${hostname()} (dev_…)`,
        'Date:     then',
        '',
        'version memver_…',
        'Change:   created /a.md',
        'Actor:    user:alice',
        `Device:   ${hostname()} (dev_…)`,
        'Session:  s1',
        'Date:     then',
        '',
        '    Because',
        '    yes',
        '',
      ].join('\n'),
    )
    expect((await home.ok('history', 'b.md', '--oneline')).replaceAll(timestamps, 'then')).toMatch(
      /^\/a.md => \/b.md\tmoved\tuser:bob\t\tthen\t\tmemver_[0-9a-z]{26}\n$/,
    )
    expect((await home.ok('log', 'b.md', '--follow', '--oneline')).split('\n')).toHaveLength(3)
  })

  test('show and diff take an id, or the beginning of one', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\ntwo\n')
    await home.ok('str-replace', 'a.md', '--old', 'two', '--new', 'three')
    const oneline = (await home.ok('log', '--oneline')).split('\n')
    const [newest = '', oldest = ''] = oneline.map((line) =>
      (line.split('\t').at(-1) ?? '').slice(7, 15),
    )
    expect(await home.ok('show', newest)).toMatch(/^version memver_[^]*\n\none\nthree\n$/)
    const patch = await home.ok('diff', newest)
    expect(patch.replaceAll(ids, '$1_…')).toBe(
      'diff --git a/a.md b/a.md\n--- a/a.md\tmemver_…\n+++ b/a.md\tmemver_…\n' +
        '@@ -1,2 +1,2 @@\n one\n-two\n+three\n',
    )
    expect(await home.ok('diff', oldest, newest)).toBe(patch)
    expect(await home.ok('diff', oldest)).toMatch(/\nnew file .*\n--- \/dev\/null\n\+\+\+ b\/a.md/)
  })
})

describe('log finds', () => {
  const home = sharedHome()
  beforeAll(async () => {
    await home.ok('init')
    await home.ok('create', 'a.md', '--text', 'a', '--session', 's1')
    await home.ok('create', 'b.md', '--text', 'b')
    await home.ok('rm', 'b.md', '--actor', 'bob')
  })

  test.each([
    [['--actor', 'bob'], 1],
    [['--actor', 'nobody'], 0],
    [['--session', 's1'], 1],
    [['--operation', 'created'], 2],
    [['--since', '1h'], 3],
    [['--until', '2020-01-01'], 0],
    [['--limit', '2'], 2],
    [['a.md'], 1],
    [['/'], 3],
    [['--operation', 'created', '--actor', 'bob'], 0],
  ])('with %j %d versions', async (words, count) => {
    expect((await home.json('log', ...words))['data']).toHaveLength(count)
  })
})

describe('texts', () => {
  test.each(
    sample<[name: string, content: string]>(
      [
        ['an empty text', ''],
        ['no final newline', 'a'],
        ['carriage returns, a byte-order mark and a tab', '\uFEFFa\r\n\tb\r'],
        ['control characters', '\u001b[31mred\u0007\n'],
        ['what begins as an option', '--json\n- a\n'],
      ],
      3,
    ),
  )(
    '%s goes in by standard input and comes out as it was',
    { tags: 'slow' },
    async (_, content) => {
      const home = await newHomeWithStore()
      const made = await home.run(['create', 'a.md', '-'], { input: content })
      expect(made).toEqual({ stdout: 'Created /a.md\n', stderr: '', exitCode: 0 })
      expect(await home.ok('cat', 'a.md')).toBe(content)
    },
  )

  test('a text comes from a file or an option', async () => {
    const home = await newHomeWithStore()
    home.file('text', 'from a file\n')
    await home.ok('create', 'a', '--file', 'text')
    await home.ok('create', 'b', '--text=--json')
    home.file('old', 'a file')
    await home.ok('str-replace', 'a', '--old-file', 'old', '--new', '- disk')
    expect(await home.ok('cat', 'a')).toBe('from - disk\n')
    expect(await home.ok('cat', 'b')).toBe('--json')
  })
})

describe('for programs', () => {
  test('every answer is one JSON value on one line', async () => {
    const home = newHome()
    const made = await home.json('init')
    expect(made).toMatchObject({ created: true, store: home.store, passphrase: false })
    expect(await home.json('create', 'a.md', '--text', 'a')).toMatchObject({
      path: '/a.md',
      changed: true,
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      memory_version_ids: [expect.stringMatching(/^memver_/)],
    })
    expect(await home.json('cat', 'a.md')).toMatchObject({
      type: 'memory',
      id: expect.stringMatching(/^mem_/),
      path: '/a.md',
      content: 'a',
      content_size_bytes: 1,
      content_sha256: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
    })
    const versions = (await home.json('log'))['data']
    expect(versions).toEqual([
      expect.objectContaining({
        type: 'memory_version',
        operation: 'created',
        created_by: { type: 'user_actor', user_id: 'alice' },
        session_id: null,
      }),
    ])
    expect(await home.json('status')).toMatchObject({ memories: 1, commits: 2, role: 'owner' })
    expect(await home.json('verify')).toMatchObject({ verified: true, commits: 2 })
    expect(await home.json('ls')).toEqual({
      data: [
        { type: 'memory', path: '/a.md', content_size_bytes: 1, updated_at: expect.any(String) },
      ],
      next_page: null,
    })
    await home.ok('create', 'd/b.md', '--text', 'bb')
    const prefix = { type: 'memory_prefix', path: '/d/', content_size_bytes: 2 }
    expect(await home.json('ls')).toMatchObject({ data: [{ path: '/a.md' }, prefix] })
    expect((await home.json('view'))['data']).toMatchObject([
      { type: 'memory_prefix', path: '/' },
      { path: '/a.md' },
      prefix,
      { path: '/d/b.md' },
    ])
  })

  test('a change that changes nothing makes no commit', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    const answer = await home.json('str-replace', 'a.md', '--old', 'a', '--new', 'a')
    expect(answer).toMatchObject({ changed: false, commit: null, memory_version_ids: [] })
  })

  test('--store and the variables name the places', { tags: 'slow' }, async () => {
    const home = newHome()
    const env = {
      GITLOCKET_STORE: join(home.directory, 's'),
      GITLOCKET_IDENTITY_FILE: join(home.directory, 'i/key'),
      GITLOCKET_STATE_DIRECTORY: join(home.directory, 'state'),
    }
    expect((await home.call(['init'], env)).exitCode).toBe(0)
    expect(readdirSync(home.directory).toSorted()).toEqual(['i', 's', 'state'])
    expect((await home.call(['--store', 's', 'ls'], env)).exitCode).toBe(0)
    expect((await home.run(['ls', '--store', 't'], { env })).exitCode).toBe(7)
  })

  test('a reader that closes the pipe early is a success', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.run(['create', 'a', '-'], { input: 'line\n'.repeat(20_000) })
    const child = home.start(['cat', 'a'])
    child.stdout?.destroy()
    expect(await ended(child)).toEqual({ stdout: '', stderr: '', exitCode: 0 })
  })
})

describe('plain files', () => {
  test(
    'an export imports into another store, with its history by file',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a\n')
      await home.ok('create', 'b/ü c.md', '--text', 'ü\n')
      const target = join(home.directory, 'out')
      expect(await home.ok('export', target)).toBe(`Exported 2 memories to ${target}\n`)
      expect(readFileSync(join(target, 'b/ü c.md'), 'utf8')).toBe('ü\n')
      expect(statSync(join(target, 'a.md')).mode & 0o777).toBe(0o600)
      expect(statSync(join(target, 'b')).mode & 0o777).toBe(0o700)
      const other = join(home.directory, 'other')
      await home.ok('init', '--store', other)
      const dry = await home.json('import', target, '--store', other, '--dry-run')
      expect(dry).toMatchObject({ imported: 2, commits: 0, dry_run: true })
      const made = await home.json('import', target, '--store', other)
      expect(made).toMatchObject({ imported: 2, commits: 2, skipped: 0, left_out: [] })
      expect(await home.ok('ls', '-R', '--store', other)).toBe('/a.md\n/b/ü c.md\n')
    },
  )

  test('an occupied path fails before any change, is skipped or overwritten', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'in/a.md', '--text', 'old')
    home.file('in/a.md', 'new')
    home.file('in/b.md', 'new')
    const failed = await home.call(['import', 'in', '--to', 'in'])
    expect(failed.exitCode).toBe(4)
    expect(failed.stderr).toContain('nothing was imported\n  /in/a.md\n')
    expect(await home.ok('ls', 'in')).toBe('a.md\n')
    const skip = await home.ok('import', 'in', '--to', 'in', '--on-conflict', 'skip')
    expect(skip).toMatch(/^Imported 1 memory; skipped 1\n/)
    expect(await home.ok('cat', 'in/a.md')).toBe('old')
    const over = await home.ok('import', 'in', '--to', 'in', '--on-conflict', 'overwrite')
    expect(over).toMatch(/^Imported 1 memory; 1 unchanged\n/)
    expect(await home.ok('cat', 'in/a.md')).toBe('new')
  })

  test('links are not followed; files that cannot be memories are refused by name', async () => {
    const home = await newHomeWithStore()
    home.file('in/good.md', 'good')
    home.file('secret', 'secret')
    symlinkSync(join(home.directory, 'secret'), join(home.directory, 'in/link'))
    const linked = await home.call(['import', 'in'])
    expect(linked.stderr).toBe('Left out:\n  symbolic link (1): in/link\n')
    expect(await home.ok('ls', '-R')).toBe('/good.md\n')
    home.file('in/latin1', Uint8Array.of(0xe4, 0x0a))
    home.file('in/nul', 'a\0b')
    home.file('in/large', 'a'.repeat(102_401))
    const refused = await home.call(['import', 'in', '--to', '/again'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toMatch(/large: more than 102400 bytes/)
    expect(refused.stderr).toMatch(/latin1: not UTF-8 text/)
    expect(refused.stderr).toMatch(/nul: contains NUL characters/)
    expect(await home.ok('ls', '-R')).toBe('/good.md\n')
  })

  test('one file becomes one memory', async () => {
    const home = await newHomeWithStore()
    home.file('in.md', 'text')
    await home.ok('import', 'in.md')
    await home.ok('import', 'in.md', '--to', 'other/name.md')
    expect(await home.ok('ls', '-R')).toBe('/in.md\n/other/name.md\n')
  })

  test('an export writes no git configuration, and overwrites nothing', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'x/.git/config', '--text', '[core]\nfsmonitor = evil\n')
    await home.ok('create', 'ok.md', '--text', 'ok')
    const refused = await home.call(['export', 'out'])
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('/x/.git/config would be read by git as its own')
    expect(existsSync(join(home.directory, 'out'))).toBe(false)
    const part = await home.call(['export', 'out', '--skip-unsafe'])
    expect(part).toMatchObject({ exitCode: 0, stderr: 'Left out:\n  /x/.git/config\n' })
    expect(readdirSync(join(home.directory, 'out'))).toEqual(['ok.md'])
    expect((await home.call(['export', 'out', '--skip-unsafe'])).exitCode).toBe(4)
    await home.ok('rm', 'x')
    await home.ok('export', 'out', '--force')
  })

  test('an export does not write through a link', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a/b.md', '--text', 'new')
    await home.ok('create', 'c.md', '--text', 'new')
    const outside = home.file('outside/b.md', 'old')
    const file = home.file('c.md', 'old')
    mkdirSync(join(home.directory, 'out'))
    symlinkSync(join(home.directory, 'outside'), join(home.directory, 'out/a'))
    symlinkSync(file, join(home.directory, 'out/c.md'))
    expect((await home.call(['export', 'out', '--force'])).exitCode).toBe(4)
    await home.ok('rm', 'a')
    await home.ok('export', 'out', '--force')
    expect([readFileSync(outside, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['old', 'old'])
  })
})
