// `import` of plain files, for the rules that all sources share: unsuitable texts, existing
// memories, findings of the guard, and a source that is only read.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copiesOf, newHomeWithStore } from './cli-process.ts'

// Put together here, so that no scanner takes this file for a leak.
const token = `ghp_${'a1B2'.repeat(9)}`
/** The exit code of an import that held something back. */
const HELD = 6

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const newGuardedHome = copiesOf(async (home) => {
  await home.ok('init')
})

test('a second run imports nothing, and a changed file obeys --on-conflict', async () => {
  const home = await newHomeWithStore()
  home.file('in/a.md', 'one')
  home.file('in/b/c.md', 'two')
  expect(await home.json('import', 'in')).toMatchObject({ imported: 2, commits: 2 })
  const again = await home.json('import', 'in')
  expect(again).toMatchObject({ imported: 0, commits: 0, unchanged: 2, changes: [] })
  expect(await home.ok('import', 'in')).toBe('Imported 0 memories; 2 unchanged\n')
  home.file('in/a.md', 'other')
  const refused = await home.call(['import', 'in'])
  expect(refused).toMatchObject({ exitCode: 4, stdout: '' })
  expect(refused.stderr).toContain('Some paths are taken; nothing was imported\n  /a.md\n')
  const skipped = await home.json('import', 'in', '--on-conflict', 'skip')
  expect(skipped).toMatchObject({ imported: 0, unchanged: 1, skipped: 1 })
  const over = await home.json('import', 'in', '--on-conflict', 'overwrite')
  expect(over).toMatchObject({ changes: [{ path: '/a.md', action: 'overwrite' }], unchanged: 1 })
  expect(await home.ok('cat', 'a.md')).toBe('other')
})

test('one import is one session, which a rollback takes back', async () => {
  const home = await newHomeWithStore()
  await home.ok('create', 'kept.md', '--text', 'before')
  home.file('in/a.md', 'a')
  home.file('in/kept.md', 'after')
  const made = await home.json('import', 'in', '--on-conflict', 'overwrite')
  const session = String(made['session_id'])
  expect(session).toMatch(/^import-files-\d{8}T\d{9}Z$/)
  const { data } = JSON.parse(await home.ok('log', '--session', session, '--json'))
  expect(data).toHaveLength(2)
  expect(data[0]).toMatchObject({ reason: 'Imported from files' })
  await home.ok('rollback', '--session', session)
  expect(await home.ok('ls', '-R')).toBe('/kept.md\n')
  expect(await home.ok('cat', 'kept.md')).toBe('before')
  const named = ['--session', 'mine', '--reason', 'mine too']
  expect(await home.json('import', 'in/a.md', ...named)).toMatchObject({ session_id: 'mine' })
  expect(await home.json('show', 'a.md')).toMatchObject({ session_id: 'mine', reason: 'mine too' })
})

test('invalid files are refused as a whole, or left out with the reason', async () => {
  const home = await newHomeWithStore()
  home.file('in/bom.md', '\ufeffkept')
  home.file('in/good.md', 'good')
  home.file('in/large.md', 'a'.repeat(102_401))
  home.file('in/latin1.md', Uint8Array.of(0xe4, 0x0a))
  home.file('in/nul.md', 'a\0b')
  home.file('in/utf16.md', Buffer.from('\ufefftext', 'utf16le'))
  home.file('in/tab\there.md', 'a control character')
  home.file('in/\u2764\ufe0f.md', 'an emoji with a selector')
  home.file(`in/${'d/'.repeat(20)}deep.md`, 'too deep')
  const refused = await home.call(['import', 'in', '--json'])
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
  const { error } = JSON.parse(refused.stderr)
  expect(error.hint).toContain('--skip-unsuitable')
  const reasons = Object.fromEntries(
    error.unsuitable.map(({ origin, reason }: Record<string, string>) => [origin, reason]),
  )
  expect(reasons).toEqual({
    'in/large.md': 'more than 102400 bytes, which is the limit',
    'in/latin1.md': 'not UTF-8 text',
    'in/nul.md': 'contains NUL characters',
    'in/utf16.md': 'not UTF-8 text',
    'in/tab\there.md': expect.stringContaining('control'),
    'in/\u2764\ufe0f.md': expect.stringMatching(/: remove U\+FE0F$/),
    [`in/${'d/'.repeat(20)}deep.md`]: expect.stringContaining('20 segments'),
  })
  expect(await home.ok('ls')).toBe('')
  const { stdout, exitCode } = await home.call(['import', 'in', '--skip-unsuitable', '--json'])
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ imported: 2, left_out: { length: 7 } })
  expect(await home.ok('cat', 'bom.md')).toBe('\ufeffkept')
})

test('links, pipes and sockets are left out unopened; a named one is refused', async () => {
  const home = await newHomeWithStore()
  home.file('outside/secret.md', 'secret')
  home.file('in/good.md', 'good')
  const inside = (name: string): string => join(home.directory, 'in', name)
  symlinkSync(join(home.directory, 'outside/secret.md'), inside('file-link.md'))
  symlinkSync(join(home.directory, 'outside'), inside('directory-link'))
  symlinkSync('nowhere', inside('dangling.md'))
  symlinkSync('.', inside('loop'))
  // Opening it would wait for a writer that never comes.
  execFileSync('mkfifo', [inside('pipe.md')])
  const made = await home.call(['import', 'in', '--json'])
  expect(JSON.parse(made.stdout)).toMatchObject({
    imported: 1,
    left_out: [
      { origin: 'in/dangling.md', reason: 'symbolic link' },
      { origin: 'in/directory-link', reason: 'symbolic link' },
      { origin: 'in/file-link.md', reason: 'symbolic link' },
      { origin: 'in/loop', reason: 'symbolic link' },
      { origin: 'in/pipe.md', reason: 'pipe, socket or device' },
    ],
  })
  expect(await home.ok('ls', '-R')).toBe('/good.md\n')
  const pipe = await home.call(['import', 'in/pipe.md'])
  expect(pipe).toMatchObject({ exitCode: 2, stdout: '' })
  expect(pipe.stderr).toContain('neither a regular file nor a directory')
})

test('nothing of the source changes, not even when it was read last', async () => {
  const home = await newHomeWithStore()
  const file = home.file('in/a/b.md', 'text')
  const old = new Date('2001-02-03T04:05:06Z')
  utimesSync(file, old, old)
  const before = statSync(file)
  await home.ok('import', 'in')
  await home.ok('import', 'in', '--to', 'again')
  const after = statSync(file)
  expect(after).toMatchObject({ mtime: old, ctimeMs: before.ctimeMs, mode: before.mode })
  if (process.platform === 'linux') expect(after.atime).toEqual(old)
  expect(readdirSync(join(home.directory, 'in'))).toEqual(['a'])
})

test('a directory that can only be read is imported', async () => {
  const home = await newHomeWithStore()
  home.file('in/a.md', 'text')
  execFileSync('chmod', ['-R', 'a-w', join(home.directory, 'in')])
  await home.ok('import', 'in')
  expect(await home.ok('ls')).toBe('a.md\n')
  execFileSync('chmod', ['-R', 'u+w', join(home.directory, 'in')])
})

test('a dry run shows all changes, and what would refuse them', async () => {
  const home = await newHomeWithStore()
  home.file('in/a.md', 'a')
  home.file('in/b.md', 'b')
  expect(await home.ok('import', 'in', '--dry-run')).toBe(
    'Would import 2 memories\n  create /a.md\n  create /b.md\n',
  )
  await home.ok('create', 'a.md', '--text', 'other')
  home.file('in/nul', '\0')
  const refused = await home.call(['import', 'in', '--dry-run'])
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
  expect(refused.stderr).toContain('  in/nul: contains NUL characters\n')
  expect(refused.stderr).toContain('  /a.md\n')
  expect(await home.json('verify')).toMatchObject({ commits: 2 })
})

test('texts that the guard finds are held back and listed, and the rest is imported', async () => {
  const home = await newGuardedHome()
  const leak = `one\ntoken ${token}\n`
  home.file('in/a.md', 'fine')
  home.file('in/leak.md', leak)
  home.file(`in/${token}.md`, 'the name is the secret')
  const words = ['import', 'in', '--to', 'notes']
  const dry = await home.call([...words, '--dry-run'])
  expect(dry).toMatchObject({ exitCode: HELD, stdout: expect.stringMatching(/^Would import 1 /) })
  expect(await home.ok('ls')).toBe('')
  const { stdout, stderr, exitCode } = await home.call(words)
  expect(exitCode).toBe(HELD)
  expect(stdout).toMatch(/^Imported 1 memory; held back 2\n/)
  expect(stderr).toContain(
    [
      `  in/${token}.md: GitHub token in its path`,
      '  in/leak.md: GitHub token in line 2',
      `    gitlocket guard allow ${sha256Of(leak)}`,
      'Take the secret out',
    ].join('\n'),
  )
  expect(stderr).not.toContain(`token ${token}`)
  expect(await home.ok('ls', '-R')).toBe('/notes/a.md\n')
  const again = await home.call([...words, '--json'])
  expect(again.exitCode).toBe(HELD)
  expect(JSON.parse(again.stdout)).toMatchObject({
    imported: 0,
    unchanged: 1,
    held: [
      { origin: `in/${token}.md`, findings: [{ line: null }], sha256: null },
      {
        origin: 'in/leak.md',
        path: '/notes/leak.md',
        findings: [{ rule: 'GitHub token', line: 2 }],
        sha256: sha256Of(leak),
      },
    ],
  })
})

test('the next import takes a text that an owner has since let through', async () => {
  const home = await newGuardedHome()
  home.file('in/leak.md', `token ${token}\n`)
  home.file('in/other.md', `token ${token}`)
  const held = await home.call(['import', 'in', '--json'])
  const [{ sha256 }] = JSON.parse(held.stdout).held
  await home.ok('guard', 'allow', sha256)
  const made = await home.call(['import', 'in', '--json'])
  expect(made.exitCode).toBe(HELD)
  expect(JSON.parse(made.stdout)).toMatchObject({ imported: 1, held: [{ origin: 'in/other.md' }] })
  expect(await home.ok('cat', 'leak.md')).toBe(`token ${token}\n`)
})

test('a refused import imports nothing, even if texts are held back', async () => {
  const home = await newGuardedHome()
  home.file('in/a.md', 'fine')
  home.file('in/leak.md', `token ${token}\n`)
  home.file('in/nul', '\0')
  expect((await home.call(['import', 'in'])).exitCode).toBe(2)
  expect(await home.ok('ls')).toBe('')
  const part = await home.call(['import', 'in', '--skip-unsuitable'])
  expect(part).toMatchObject({ exitCode: HELD, stdout: expect.stringMatching(/^Imported 1 /) })
  expect(await home.ok('ls')).toBe('a.md\n')
})

test('a memory that holds a secret already is overwritten, but takes no second one', async () => {
  const home = await newGuardedHome()
  const other = `ghp_${'c3D4'.repeat(9)}`
  await home.ok('settings', '--guard', 'off')
  await home.ok('create', 'a.md', '--text', `token ${token}\n`)
  await home.ok('settings', '--guard', 'on')
  const words = ['import', 'in', '--on-conflict', 'overwrite']
  home.file('in/a.md', `token ${token}\nedited\n`)
  await home.ok(...words)
  home.file('in/a.md', `token ${token}\nand ${other}\n`)
  const { stderr, exitCode } = await home.call(words)
  expect(exitCode).toBe(HELD)
  expect(stderr).toContain('in/a.md: GitHub token in line 2\n')
})

test('without a guard, secrets are imported and named', async () => {
  const home = await newHomeWithStore()
  await home.ok('settings', '--guard', 'off')
  home.file('in/leak.md', `token ${token}\n`)
  for (const words of [
    ['import', 'in', '--dry-run'],
    ['import', 'in'],
  ]) {
    const made = await home.call(words)
    expect(made).toMatchObject({ exitCode: 0 })
    expect(made.stderr).toMatch(/the guard of this store is off:\n {2}in\/leak\.md: .* in line 1\n/)
    expect(made.stderr).not.toContain(token)
  }
  expect(await home.ok('cat', 'leak.md')).toContain(token)
})

test('a store without room is left unchanged', async () => {
  const home = await newHomeWithStore()
  await home.ok('settings', '--memory-limit', '2')
  for (const name of ['a', 'b', 'c']) home.file(`in/${name}.md`, name)
  const full = await home.call(['import', 'in'])
  expect(full.stderr).toContain('would hold 3 memories; its limit is 2. Nothing was imported')
  expect(await home.ok('ls')).toBe('')
})

test('a memory above or below the path is a conflict that no option overwrites', async () => {
  const home = await newHomeWithStore()
  await home.ok('create', 'a', '--text', 'file')
  await home.ok('create', 'b.md/c', '--text', 'below')
  home.file('in/a/x.md', 'x')
  home.file('in/b.md', 'b')
  const over = await home.call(['import', 'in', '--on-conflict', 'overwrite'])
  expect(over).toMatchObject({ exitCode: 4 })
  expect(over.stderr).toContain('nothing was imported\n  /a\n  /b.md/c\n')
  const skip = await home.json('import', 'in', '--on-conflict', 'skip')
  expect(skip).toMatchObject({ imported: 0, skipped: 2 })
})

test('an empty directory, a missing one and no source at all', async () => {
  const home = await newHomeWithStore()
  mkdirSync(join(home.directory, 'empty'))
  expect(await home.ok('import', 'empty')).toBe('Imported 0 memories\n')
  expect((await home.call(['import', 'missing'])).stderr).toContain('There is nothing at missing')
  expect((await home.call(['import'])).stderr).toContain('needs <directory-or-file>')
})

test('a name with a newline adds no line to the output', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  home.file('in/a\nImported 9 memories.md', 'x')
  const { stderr } = await home.run(['import', 'in'])
  expect(stderr).toContain('  in/a‹U+000A›Imported 9 memories.md: ')
  const left = await home.run(['import', 'in', '--skip-unsuitable'])
  expect(left.stdout + left.stderr).not.toContain('\nImported 9')
})
