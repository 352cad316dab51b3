// Paths of the past on the built command line: the memory that was at a path, where it moved, and
// how it comes back.

import { describe, expect, test } from 'vitest'
import { newHomeWithStore } from './cli-process.ts'

describe('restore', () => {
  test('without --to restores the last content of a deleted memory', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two')
    await home.ok('rm', 'a.md')
    expect(await home.ok('restore', 'a.md')).toBe('Changed 1 memory\n/a.md\tcreated\n')
    expect(await home.ok('cat', 'a.md')).toBe('two\n')
    const again = await home.call(['restore', 'a.md'])
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('is not deleted')])
    await home.ok('mv', 'a.md', 'b.md')
    const moved = await home.call(['restore', 'a.md'])
    expect([moved.exitCode, moved.stderr]).toEqual([2, expect.stringContaining(': /b.md\n')])
  })

  test('of a path that never was names similar ones, of a directory the way', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'd/a.md', '--text', 'one\n')
    await home.ok('rm', 'd')
    const typo = await home.call(['restore', 'd/b.md'])
    const similar = 'Nothing is or was at /d/b.md; did you mean "/d/a.md"?'
    expect([typo.exitCode, typo.stderr]).toEqual([3, expect.stringContaining(similar)])
    const directory = await home.call(['restore', 'd'])
    const way = expect.stringContaining('gitlocket rollback --path /d')
    expect([directory.exitCode, directory.stderr]).toEqual([3, way])
  })
})

describe('show', () => {
  test('takes a path: the newest version there, also after a deletion', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'notes', '--text', 'one\n')
    const { id } = await home.json('show', 'notes')
    expect(await home.json('show', '/notes')).toMatchObject({
      id,
      path: '/notes',
      content: 'one\n',
    })
    expect(await home.json('show', String(id).slice(7, 13))).toMatchObject({ id })
    await home.ok('rm', 'notes')
    expect(await home.json('show', '/notes')).toMatchObject({ operation: 'deleted' })
    const never = await home.call(['show', '/note'])
    const similar = 'Nothing is or was at /note; did you mean "/notes"?'
    expect([never.exitCode, never.stderr]).toEqual([3, expect.stringContaining(similar)])
  })
})

describe('log', () => {
  test('calls a move a move, and names the new path of a memory', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    await home.ok('mv', 'a.md', 'd/b.md')
    expect(await home.ok('log', '--oneline', '-n', '1')).toMatch(/^\/a\.md => \/d\/b\.md\tmoved\t/)
    expect(await home.ok('log', '-n', '1')).toContain('\nChange:   moved /a.md => /d/b.md\n')
    expect(await home.json('show', 'd/b.md')).toMatchObject({
      operation: 'modified',
      path: '/d/b.md',
      moved_from: '/a.md',
    })
    const { exitCode, stdout, stderr } = await home.call(['log', 'a.md', '--oneline'])
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\/a.md\tcreated\t/)])
    expect(stderr).toBe('/a.md moved to /d/b.md: `gitlocket log /d/b.md` continues there\n')
  })

  test('names the new path of a directory, and nothing for deleted memories', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'd/a.md', '--text', 'one\n')
    await home.ok('mv', 'd', 'e/f')
    expect((await home.call(['log', 'd'])).stderr).toContain('/d moved to /e/f: ')
    await home.ok('rm', 'e')
    expect(await home.ok('log', 'd', '--oneline')).toContain('/d/a.md')
  })

  test('of a path that never was fails, and names similar ones', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'notes.md', '--text', 'one\n')
    const { exitCode, stdout, stderr } = await home.call(['log', 'ntoes.md'])
    expect([exitCode, stdout]).toEqual([3, ''])
    expect(stderr).toContain('Nothing is or was at /ntoes.md; did you mean "/notes.md"?')
    expect(await home.ok('log', '/', '--oneline')).toContain('/notes.md')
  })
})

describe('diff --from', () => {
  test('a time before the beginning compares with the empty store', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    expect(await home.ok('diff', '--from', '2001-01-01')).toContain('--- /dev/null\n+++ b/a.md\n')
    expect(await home.ok('diff', '--from', '2001-01-01', '--to', '2001-01-02')).toBe('')
    const { data } = await home.json('diff', '--from', '0s', '--to', '2001-01-01')
    expect(data).toMatchObject([{ path_before: '/a.md', path_after: null }])
  })
})
