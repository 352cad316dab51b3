// Names that macOS has taken apart (NFD): the command line and its imports compose them, and find a
// memory by either form.

import { expect, test } from 'vitest'
import { newHomeWithStore } from './cli-process.ts'

const decomposed = 'U\u0308bersicht/cafe\u0301.md'
const composed = '\u00dcbersicht/caf\u00e9.md'

test.each([[], ['--from', 'markdown']])('an import composes them, with %j', async (...from) => {
  const home = await newHomeWithStore()
  home.file(`vault/${decomposed}`, 'one')
  home.file('vault/plain.md', 'two')
  await home.ok('import', ...from, 'vault', '--to', 'A\u0308')
  expect(await home.ok('ls', '-R')).toBe(`/\u00c4/plain.md\n/\u00c4/${composed}\n`)
  expect(await home.ok('cat', `A\u0308/${decomposed}`)).toBe('one')
})

test('one file is named by its composed name', async () => {
  const home = await newHomeWithStore()
  home.file('cafe\u0301.md', 'one')
  await home.ok('import', 'cafe\u0301.md')
  expect(await home.ok('ls')).toBe('caf\u00e9.md\n')
})

test('an import refuses two names that are one when they are composed', async () => {
  const home = await newHomeWithStore()
  home.file('vault/cafe\u0301.md', 'one')
  home.file('vault/caf\u00e9.md', 'two')
  const { exitCode, stderr } = await home.call(['import', 'vault'])
  expect(exitCode).toBe(2)
  expect(stderr).toMatch(/vault\/caf\u00e9\.md: its path and that of vault\/cafe\u0301\.md exclude/)
  expect(await home.ok('ls')).toBe('')
})

test('a memory is created, found, changed and moved by either form', async () => {
  const home = await newHomeWithStore()
  await home.ok('create', composed, '--text', 'one\n')
  expect(await home.ok('cat', decomposed)).toBe('one\n')
  expect(await home.ok('cat', `/memories/${decomposed}`)).toBe('one\n')
  await home.ok('append', decomposed, '--text', 'two\n')
  expect(await home.ok('search', 'two', '--path', 'U\u0308bersicht')).toContain(composed)
  await home.ok('mv', decomposed, 'nai\u0308ve.md')
  await home.ok('create', 'e\u0301.md', '--text', 'x')
  expect(await home.ok('ls')).toBe('na\u00efve.md\n\u00e9.md\n')
  await home.ok('rm', 'e\u0301.md')
  expect(await home.ok('ls')).toBe('na\u00efve.md\n')
})
