// Paths of the memory tool on the command line: `/memories/foo.md`, copied from a transcript.

import { describe, expect, test } from 'vitest'
import { type Home, newHomeWithStore } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

async function withNote(path = 'a.md'): Promise<Home> {
  const home = await newHomeWithStore()
  await home.ok('create', path, '--text', 'one\n')
  return home
}

describe('/memories/ in front of a path', () => {
  test('means the root in every command', { tags: 'slow' }, async () => {
    const home = await withNote()
    expect(await home.ok('cat', '/memories/a.md')).toBe('one\n')
    expect(await home.ok('ls', '/memories')).toBe('a.md\n')
    expect(await home.ok('view', '/memories/')).toContain('a.md')
    const created = await home.json('create', '/memories/dir/b.md', '--text', 'b')
    expect(created['path']).toBe('/dir/b.md')
    await home.ok('str-replace', '/memories/a.md', '--old', 'one', '--new', 'two')
    await home.ok('insert', '/memories/a.md', '--line', '0', '--text', 'zero\n')
    expect(await home.ok('mv', '/memories/a.md', '/memories/c.md')).toBe('Moved /a.md to /c.md\n')
    expect((await home.json('log', '/memories/c.md'))['data']).toHaveLength(1)
    expect(await home.ok('diff', '/memories/c.md')).toContain('/c.md')
    expect((await home.json('blame', '/memories/c.md'))['memory']).toBe('/c.md')
    const plan = await home.call(['redact', '--path', '/memories/dir', '--dry-run', '--json'])
    expect(plan.stdout).toContain('/dir/b.md')
    await home.ok('rm', '/memories/dir')
    const [version] = Array.from(Object(created['memory_version_ids']), String)
    await home.ok('restore', '/memories/dir/b.md', '--to', String(version))
    expect(await home.ok('cat', 'dir/b.md')).toBe('b')
    await home.ok('export', 'out', '--from', '/memories/c.md')
    expect(await home.ok('ls', '-R')).not.toContain('memories')
  })

  test('belongs to the store if the store has such a path', async () => {
    const home = await withNote('memories/a.md')
    expect(await home.ok('cat', '/memories/a.md')).toBe('one\n')
    expect(await home.ok('cat', '/memories/memories/a.md')).toBe('one\n')
    await home.ok('create', 'b.md', '--text', 'b')
    expect(await home.ok('cat', '/memories/b.md')).toBe('b')
  })

  test('exits with 2 off a terminal if both may be meant', async () => {
    const home = await withNote('memories/a.md')
    await home.ok('create', 'a.md', '--text', 'other')
    for (const words of [
      ['cat', '/memories/a.md'],
      ['create', '/memories/new.md', '--text', 'x'],
      ['ls', '/memories'],
    ]) {
      const { exitCode, stdout, stderr } = await home.call(words)
      expect([exitCode, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/may mean \/.*hint: Write memories/s)
    }
    const { stderr } = await home.call(['rm', '/memories/a.md', '--json'])
    expect(JSON.parse(stderr)).toMatchObject({ error: { paths: ['/a.md', '/memories/a.md'] } })
    expect(await home.ok('cat', 'memories/a.md')).toBe('one\n')
    expect(await home.ok('cat', '/a.md')).toBe('other')
  })

  test.skipIf(terminal.missing)(
    `asks on a terminal${terminal.note}`,
    { tags: 'slow' },
    async () => {
      const home = await withNote('memories/a.md')
      await home.ok('create', 'a.md', '--text', 'other\n')
      const answers: readonly (readonly [string, string])[] = [
        ['1', 'other'],
        ['2', 'one'],
      ]
      for (const [answer, text] of answers) {
        const typed: [string, string][] = [['Which one? [1/2] ', `${answer}\r`]]
        const { exitCode, screen } = onTerminal(home, ['cat', '/memories/a.md'], { typed })
        expect([exitCode, screen]).toEqual([0, expect.stringMatching(new RegExp(`${text}\\s*$`))])
      }
    },
  )
})
