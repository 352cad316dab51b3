// write and append on the built command line, and the editor for new memories.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Home, mainFile, newHomeWithStore } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

describe('write', () => {
  test('creates a memory, and replaces its content', async () => {
    const home = await newHomeWithStore()
    expect(await home.ok('write', 'a.md', '--text', 'one\n')).toBe('Wrote /a.md\n')
    const { id } = await home.json('cat', 'a.md')
    expect(await home.ok('write', 'a.md', '--file', home.file('new', 'two\n'))).toBe(
      'Wrote /a.md\n',
    )
    expect(await home.json('cat', 'a.md')).toMatchObject({ id, content: 'two\n' })
    expect(await home.ok('write', 'a.md', '--text', 'two\n')).toBe('Nothing changed\n')
    await home.run(['write', 'a.md', '-'], { input: 'three' })
    expect(await home.ok('cat', 'a.md')).toBe('three')
  })

  test('never replaces a directory', async () => {
    const home = await newHomeWithStore()
    await home.ok('write', 'd/a.md', '--text', 'one\n')
    for (const verb of ['write', 'append']) {
      const { exitCode, stderr } = await home.call([verb, 'd', '--text', 'x'])
      expect([exitCode, stderr]).toEqual([4, expect.stringContaining('/d')])
    }
  })
})

describe('mv', () => {
  test('moves into a directory, also a new one with a slash at its end', async () => {
    const home = await newHomeWithStore()
    await home.ok('write', 'a.md', '--text', 'one\n')
    await home.ok('write', 'd/b.md', '--text', 'two\n')
    expect(await home.ok('mv', 'a.md', 'd')).toBe('Moved /a.md to /d/a.md\n')
    expect(await home.ok('mv', 'd', 'new/')).toBe('Moved /d to /new/d\n')
    expect(await home.ok('mv', 'new/d', '/')).toBe('Moved /new/d to /d\n')
    expect(await home.ok('mv', 'd/a.md', 'd/c.md')).toBe('Moved /d/a.md to /d/c.md\n')
    expect(await home.ok('ls', '-R')).toBe('/d/b.md\n/d/c.md\n')
  })

  test('replaces nothing in a directory', async () => {
    const home = await newHomeWithStore()
    await home.ok('write', 'a.md', '--text', 'one\n')
    await home.ok('write', 'd/a.md', '--text', 'two\n')
    expect((await home.call(['mv', 'a.md', 'd'])).exitCode).toBe(4)
    expect(await home.ok('cat', 'd/a.md')).toBe('two\n')
  })
})

test.each([
  [undefined, 'two', 'two'],
  ['one\n', 'two', 'one\ntwo\n'],
  ['one\n', 'two\n', 'one\ntwo\n'],
  ['one', 'two\n', 'one\ntwo'],
  ['', 'two\n', 'two\n'],
])('append to %j of %j gives %j', async (before, added, after) => {
  const home = await newHomeWithStore()
  if (before !== undefined) await home.ok('create', 'a.md', `--text=${before}`)
  const done = before === undefined ? 'Created' : 'Edited'
  expect(await home.ok('append', 'a.md', `--text=${added}`)).toBe(`${done} /a.md\n`)
  expect(await home.ok('cat', 'a.md')).toBe(after)
})

test(
  'concurrent appends of processes to a memory that does not exist yet are all kept',
  { tags: 'slow' },
  async () => {
    const home = await newHomeWithStore()
    const lines = Array.from({ length: 6 }, (_, index) => `line ${index}\n`)
    const ended = await Promise.all(
      lines.map(async (input) => home.run(['append', 'log.md', '-'], { input })),
    )
    expect(ended.map(({ exitCode }) => exitCode)).toEqual(lines.map(() => 0))
    expect(ended.filter(({ stdout }) => stdout === 'Created /log.md\n')).toHaveLength(1)
    const text = await home.ok('cat', 'log.md')
    expect(text.split(/(?<=\n)/).toSorted()).toEqual(lines.toSorted())
  },
)

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  const editing = (home: Home, script: string) => {
    const EDITOR = `sh ${home.file('editor', script)}`
    return (...words: string[]) =>
      onTerminal(home, [...words, '--allow-disk-temp'], { env: { EDITOR } })
  }

  test.each(['create', 'edit'])(
    '%s of a new path opens the editor',
    { tags: 'slow' },
    async (verb) => {
      const home = await newHomeWithStore()
      const created = editing(home, 'printf "new\\n" > "$1"')(verb, 'a.md')
      expect(created).toEqual({ exitCode: 0, screen: 'Created /a.md\n' })
      expect(await home.ok('cat', 'a.md')).toBe('new\n')
      const unsaved = editing(home, 'true')(verb, 'b.md')
      expect(unsaved).toEqual({ exitCode: 0, screen: 'Nothing changed\n' })
      expect(await home.ok('ls')).toBe('a.md\n')
    },
  )

  const other = (words: string): string => `${process.execPath} ${mainFile} ${words} > /dev/null`

  test(
    'lines that overlap are shown in the editor, and the marks are not saved',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'one\ntwo\nthree\n')
      const script = `if grep -q yours "$1"; then cp "$1" shown; sed -i '/^[<=>]\\{7\\}/d' "$1"
      else ${other('str-replace a.md --old two --new 2')}; sed -i s/two/zwei/ "$1"; fi`
      const EDITOR = `sh ${home.file('editor', script)}`
      const { exitCode, screen } = onTerminal(home, ['edit', 'a.md', '--allow-disk-temp'], {
        env: { EDITOR },
        typed: [['Open the editor with both? [y/N]', 'y\r']],
      })
      expect([exitCode, screen]).toEqual([0, expect.stringContaining('Edited /a.md')])
      expect(await home.ok('cat', 'a.md')).toBe('one\nzwei\n2\nthree\n')
      expect(readFileSync(`${home.directory}/shown`, 'utf8')).toBe(
        'one\n<<<<<<< yours\nzwei\n=======\n2\n>>>>>>> there now\nthree\n',
      )
    },
  )

  test('marks are never saved, and the text is printed', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one\n')
    const script = `if grep -q yours "$1"; then :; else ${other('write a.md --text 1')}
      echo eins > "$1"; fi`
    const EDITOR = `sh ${home.file('editor', script)}`
    const { exitCode, screen } = onTerminal(home, ['edit', 'a.md', '--allow-disk-temp'], {
      env: { EDITOR },
      typed: [['Open the editor with both? [y/N]', 'y\r']],
    })
    expect([exitCode, screen]).toEqual([4, expect.stringContaining('eins\n=======\n1\n')])
    expect(await home.ok('cat', 'a.md')).toBe('1')
  })

  test(
    'a memory that appears while create has the editor open is not replaced',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const script = `${other('create a.md --text theirs')}; echo mine > "$1"`
      const EDITOR = `sh ${home.file('editor', script)}`
      const { exitCode, screen } = onTerminal(home, ['create', 'a.md', '--allow-disk-temp'], {
        env: { EDITOR },
        typed: [['Open the editor with both? [y/N]', 'n\r']],
      })
      expect([exitCode, screen]).toEqual([4, expect.stringContaining('mine\n')])
      expect(await home.ok('cat', 'a.md')).toBe('theirs')
    },
  )

  test(
    'create refuses a path that is taken before the editor opens',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      const { exitCode, screen } = editing(home, 'touch opened')('create', 'a.md')
      expect([exitCode, screen]).toEqual([
        4,
        expect.stringContaining('There is a memory at /a.md already'),
      ])
      expect(await home.ok('cat', 'a.md')).toBe('a')
    },
  )

  test('off a terminal edit of a new path is an error', async () => {
    const home = await newHomeWithStore()
    expect(await home.call(['edit', 'a.md'])).toMatchObject({ exitCode: 3 })
  })
})
