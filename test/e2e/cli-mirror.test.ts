// `mirror` on the built command line: once, watched by one process while others write, and what its
// user is asked.
// @module-tag slow

import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { patience } from '../support/patience.ts'
import { git } from '../support/temporary.ts'
import { ended, type Home, newHomeWithStore } from './cli-process.ts'

function notesOf(home: Home): {
  readonly directory: string
  readonly write: (name: string, text: string) => void
  readonly text: (name: string) => string | undefined
} {
  const directory = join(home.directory, 'notes')
  mkdirSync(directory)
  return {
    directory,
    write: (name, text) => writeFileSync(join(directory, name), text),
    text: (name) => {
      const path = join(directory, name)
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined
    },
  }
}

test('a directory is bound, listed, paused and let go', async () => {
  const home = await newHomeWithStore()
  const { directory, write, text } = notesOf(home)
  write('a.md', 'a\n')
  expect(await home.ok('mirror', 'notes')).toBe(`${directory} and /notes: saved 1 change\n`)
  await home.ok('write', '/notes/b.md', '--text', 'b\n')
  const { written, at } = JSON.parse(await home.ok('mirror', 'notes', '--json'))
  expect([written, at, text('b.md')]).toEqual([1, '/notes', 'b\n'])
  const { data } = JSON.parse(await home.ok('mirror', 'list', '--json'))
  expect(data).toMatchObject([{ type: 'mirror', directory, files: 2, problem: null }])
  await home.ok('mirror', 'pause', 'notes')
  expect(await home.ok('mirror', 'list')).toContain('\tpaused\n')
  const other = await home.call(['mirror', 'notes', '--at', '/elsewhere'])
  expect([other.exitCode, other.stderr]).toEqual([4, expect.stringContaining('mirrored at /notes')])
  await home.ok('mirror', 'stop', 'notes')
  expect([text('a.md'), existsSync(join(directory, '.gitlocket-mirror'))]).toEqual(['a\n', false])
  expect(await home.ok('cat', '/notes/a.md')).toBe('a\n')
  expect((await home.call(['mirror', 'stop', 'notes'])).exitCode).toBe(3)
})

test('refuses the store itself, a file, and a directory within another mirror', async () => {
  const home = await newHomeWithStore()
  const { directory, write } = notesOf(home)
  write('a.md', 'a\n')
  mkdirSync(join(directory, 'deep'))
  await home.ok('mirror', 'notes')
  for (const words of [['notes/deep'], ['.'], ['/'], ['notes/a.md'], ['missing']]) {
    const refused = await home.call(['mirror', ...words])
    expect([2, 4], words.join(' ')).toContain(refused.exitCode)
  }
  expect(JSON.parse(await home.ok('mirror', 'list', '--json')).data).toHaveLength(1)
})

test('a watcher carries changes both ways until it is ended', async () => {
  const home = await newHomeWithStore()
  const { write, text } = notesOf(home)
  write('a.md', 'a\n')
  await home.ok('mirror', 'notes')
  const watcher = home.start(['mirror', '--watch', '--json'])
  const stopped = ended(watcher)
  await vi.waitFor(async () => {
    write('b.md', 'b of the file\n')
    expect((await home.call(['cat', '/notes/b.md'])).stdout).toBe('b of the file\n')
  }, 60_000)
  await home.ok('write', '/notes/c.md', '--text', 'c of the store\n')
  await vi.waitFor(() => expect(text('c.md')).toBe('c of the store\n'), 60_000)
  watcher.kill('SIGTERM')
  expect((await stopped).exitCode).toBe(0)
})

test('status names deletions that wait, and a redaction reaches the file', async () => {
  const home = await newHomeWithStore()
  const { directory, write, text } = notesOf(home)
  write('a.md', 'a\nSECRET-4711\n')
  await home.ok('mirror', 'notes')
  rmSync(join(directory, 'a.md'))
  const held = await home.call(['mirror', 'notes'])
  expect(held.stderr).toContain('mirror confirm')
  const { needs_attention } = JSON.parse(await home.ok('status', '--json'))
  expect(needs_attention).toMatchObject([{ kind: 'mirror_deletions' }])
  await home.ok('mirror', 'refill', 'notes')
  expect(text('a.md')).toContain('SECRET')
  write('.hidden.txt', 'a copy of SECRET-4711\n')
  const words = ['--matching', 'SECRET-\\d+', '--overwrite', '--yes', '--prove']
  const redacted = await home.call(['redact', ...words])
  expect(redacted.exitCode).toBe(11)
  expect(redacted.stdout).toContain('/.hidden.txt: holds the text')
  expect(text('a.md')).toBe('a\n[redacted]\n')
  const residue = readdirSync(join(directory, '.gitlocket-mirror'))
  expect(residue).toEqual(['marker'])
})

test('a redaction searches files whatever the bytes of their names', async () => {
  const home = await newHomeWithStore()
  const { directory, write } = notesOf(home)
  write('a.md', 'SECRET-4711\n')
  await home.ok('mirror', 'notes')
  const below = (...bytes: readonly number[]): Buffer =>
    Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(bytes)])
  mkdirSync(below(0x64, 0xfe))
  writeFileSync(Buffer.concat([below(0x64, 0xfe), Buffer.from('/x.md')]), 'SECRET-4711\n')
  writeFileSync(below(0x62, 0xff), 'SECRET-4711\n')
  write('z\u001B[31m.md', 'SECRET-4711\n')
  const words = ['--matching', 'SECRET-\\d+', '--overwrite', '--yes', '--prove']
  const { stdout } = await home.call(['redact', ...words])
  const [, list = ''] = /may hold erased texts, in 3 paths:\n((?: {2}.*\n){3})/.exec(stdout) ?? []
  expect(list.split('\n').toSorted()).toEqual([
    '',
    '  /b\uFFFD: holds the text',
    '  /d\uFFFD/x.md: holds the text',
    '  /z‹U+001B›[31m.md: holds the text',
  ])
})

test('undo and rollback reach the files while a watcher runs', async () => {
  const home = await newHomeWithStore()
  const { write, text } = notesOf(home)
  write('a.md', 'a\n')
  await home.ok('mirror', 'notes')
  const start = String((await home.json('status'))['head'])
  const watcher = home.start(['mirror', '--watch'])
  const stopped = ended(watcher)
  const texts = (): unknown => ['a.md', 'b.md', 'c.md'].map(text)
  const become = (...all: readonly unknown[]): Promise<void> =>
    vi.waitFor(() => expect(texts()).toEqual(all), patience)
  await home.ok('write', '/notes/a.md', '--text', 'a\npoison\n', '--session', 'bad')
  await home.ok('write', '/notes/b.md', '--text', 'b\n', '--session', 'good')
  await become('a\npoison\n', 'b\n', undefined)
  expect((await home.call(['undo', 'bad', '--yes'])).exitCode).toBe(0)
  await become('a\n', 'b\n', undefined)
  write('c.md', 'c\n')
  await vi.waitFor(async () => expect(await home.ok('ls', '/notes')).toContain('c.md'), patience)
  expect((await home.call(['rollback', '--to', start, '--yes'])).exitCode).toBe(0)
  await become('a\n', undefined, undefined)
  watcher.kill('SIGTERM')
  expect((await stopped).exitCode).toBe(0)
})

test('a mirrored repository shows no file of ours, and follows a checkout', async () => {
  const home = await newHomeWithStore()
  const { directory, write, text } = notesOf(home)
  const names = Array.from({ length: 16 }, (_, at) => `${at}.md`)
  for (const name of names) write(name, `${name}\n`)
  const run = (...words: readonly string[]): string =>
    git(['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words], directory)
  run('init', '--quiet', '--initial-branch=main')
  run('add', '.')
  run('commit', '--quiet', '--message', 'all')
  run('checkout', '--quiet', '-b', 'few')
  run('rm', '--quiet', ...names.slice(1))
  write('0.md', 'of the branch\n')
  run('commit', '--quiet', '--all', '--message', 'few')
  run('checkout', '--quiet', 'main')
  await home.ok('mirror', 'notes')
  expect(run('status', '--short')).toBe('')
  run('checkout', '--quiet', 'few')
  const held = await home.call(['mirror', 'notes'])
  expect(held.stderr).toContain('Deleted at once: 15 files')
  expect(await home.ok('cat', '/notes/0.md')).toBe('of the branch\n')
  run('checkout', '--quiet', 'main')
  await home.ok('mirror', 'notes')
  expect((await home.ok('ls', '/notes')).trim().split('\n')).toHaveLength(16)
  expect([text('0.md'), run('status', '--short')]).toEqual(['0.md\n', ''])
  await home.ok('mirror', 'stop', 'notes')
  expect(existsSync(join(directory, '.gitlocket-mirror'))).toBe(false)
})

test.skipIf(process.platform !== 'linux')(
  'login writes a unit that starts the watcher',
  async () => {
    const home = await newHomeWithStore()
    const shown = await home.ok('mirror', 'login')
    expect(shown).toContain('systemctl --user enable --now gitlocket-mirror.service')
    const { file } = await home.json('mirror', 'login', '--write', '--sync')
    const unit = readFileSync(String(file), 'utf8')
    expect(unit).toContain(`ExecStart="${process.execPath}" "`)
    expect(unit).toContain('" "mirror" "--watch" "--sync"\n')
  },
)

test('a damaged list of mirrors is named, and stops no other command', async () => {
  const home = await newHomeWithStore()
  const { write } = notesOf(home)
  write('a.md', 'a\nSECRET-4711\n')
  await home.ok('mirror', 'notes')
  const store = readdirSync(home.stateDirectory).find((name) => name.startsWith('mem')) ?? ''
  const place = join(home.stateDirectory, store)
  const list = readdirSync(place).find((name) => name.endsWith('.mirrors')) ?? ''
  writeFileSync(join(place, list), 'damaged')
  const { needs_attention } = JSON.parse(await home.ok('status', '--json'))
  expect(needs_attention).toMatchObject([{ kind: 'mirrors_damaged' }])
  const words = ['--matching', 'SECRET-\\d+', '--overwrite', '--yes', '--prove']
  const redacted = await home.call(['redact', ...words])
  expect([redacted.exitCode, redacted.stdout]).toEqual([11, expect.stringContaining('damaged')])
  expect((await home.call(['mirror', 'notes'])).stderr).toContain('delete it')
})

test('a directory has one mirror, among all stores', async () => {
  const home = await newHomeWithStore()
  const { directory, write } = notesOf(home)
  write('a.md', 'a\n')
  await home.ok('mirror', 'notes')
  const other = ['--store', join(home.directory, 'other')]
  await home.call([...other, 'init', '--no-passphrase'])
  const refused = await home.call([...other, 'mirror', 'notes'])
  expect([refused.exitCode, refused.stderr]).toEqual([4, expect.stringContaining('mirror stop')])
  writeFileSync(join(directory, '.gitlocket-mirror/marker'), '00112233445566ff\n')
  rmSync(join(directory, 'a.md'))
  expect((await home.call(['mirror', 'notes'])).stderr).toContain('another mirror')
  expect(await home.ok('cat', '/notes/a.md')).toBe('a\n')
})

test.skipIf(process.platform !== 'linux')('a directory in RAM is of its user alone', async () => {
  const home = await newHomeWithStore()
  const { directory, write, text } = notesOf(home)
  write('a.md', 'a\n')
  await home.call(['mirror', 'notes', '--in-memory'])
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  rmSync(directory, { recursive: true })
  await home.call(['mirror', 'notes', '--in-memory'])
  expect([text('a.md'), statSync(directory).mode & 0o777]).toEqual(['a\n', 0o700])
  const refused = await home.call(['mirror', '/usr', '--in-memory', '--at', '/usr'])
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('in RAM')])
})

test('stop gives a file back that a crash has left without its name', async () => {
  const home = await newHomeWithStore()
  const { directory, write, text } = notesOf(home)
  write('x.md', 'one\n')
  await home.ok('mirror', 'notes')
  const hash = createHash('sha256').update('one\n').digest('hex')
  const aside = join(directory, '.gitlocket-mirror', `replacing-${hash}-0011223344556677`)
  mkdirSync(aside)
  renameSync(join(directory, 'x.md'), join(aside, 'x.md'))
  writeFileSync(join(aside, 'x.md'), 'one\nunsaved\n')
  await home.ok('mirror', 'stop', 'notes')
  expect([text('x.md'), existsSync(join(directory, '.gitlocket-mirror'))]).toEqual([
    'one\nunsaved\n',
    false,
  ])
  expect(await home.ok('cat', '/notes/x.md')).toBe('one\nunsaved\n')
})
