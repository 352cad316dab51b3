// Names of entities become names of files: always valid, never shared, even if a disk ignores case,
// and the same when entities are added at the end.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { entityFiles } from '../../src/cli/import/mcp-memory.ts'
import { foldCase } from '../../src/cli/machine/memory-files.ts'
import { checkNewPath } from '../../src/format/path.ts'
import { full, seed } from '../support/seed.ts'

const pieces: readonly string[] = [
  'a A b B - . .. / \\ : * _ é e\u0301 ß SS İ i ı \u0301 日本 😀 \u200b \u202e \ufeff \u0378'.split(
    ' ',
  ),
  [
    'con',
    'NUL',
    'relations',
    '.git',
    'x'.repeat(300),
    '語'.repeat(90),
    '-0a1b2c3d',
    '\u2764\ufe0f',
  ],
  [' ', '\t', '\n', '\0', '\u3164', '\u2800'],
].flat()

const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

const anyName = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }) },
)
const someNames = fc.uniqueArray(anyName.map((parts) => parts.join('').toWellFormed()))

function expectSound(files: ReadonlyMap<string, string>, names: readonly string[]): void {
  const all = names.map((name) => files.get(name) ?? '')
  for (const file of all) {
    expect(checkNewPath(`/place/${file}`).split('/')).toHaveLength(3)
    expect(file).toMatch(/^[^.-].*\.md$/u)
    expect(Buffer.byteLength(file)).toBeLessThanOrEqual(255)
    expect(file).not.toMatch(devices)
  }
  const folded = all.map((file) => foldCase(file).normalize('NFC'))
  expect(new Set([...folded, 'relations.md']).size).toBe(all.length + 1)
}

describe('entityFiles', () => {
  test('valid and injective for any names, and stable when some are added', () => {
    fc.assert(
      fc.property(someNames, someNames, (first, more) => {
        const names = [...new Set([...first, ...more])]
        const files = entityFiles(names, ['relations.md'])
        expectSound(files, names)
        const before = entityFiles(first, ['relations.md'])
        for (const one of first) expect(files.get(one)).toBe(before.get(one))
      }),
      { seed, numRuns: full ? 5000 : 200 },
    )
  })

  test('names that suffixes of others have been guessed for', () => {
    const first = ['Ada', 'ada'].map((name) => entityFiles(['ADA', name]).get(name) ?? '')
    const names = ['ADA', ...first.map((file) => file.replace(/\.md$/, '')), 'Ada', 'ada']
    expectSound(entityFiles(names, ['relations.md']), names)
  })

  test.each([
    ['Ada Lovelace', 'Ada-Lovelace.md'],
    ['default_user', 'default_user.md'],
    ['src/cli/main.ts', 'src-cli-main.ts.md'],
    ['../../etc/passwd', 'etc-passwd.md'],
    ['.git', 'git.md'],
    ['日本語', '日本語.md'],
    ['', 'entity.md'],
    ['…', 'entity.md'],
    ['\u2764\ufe0f Health', 'Health.md'],
    ['a\u3164b', 'a-b.md'],
    ['\ufe0f', 'entity.md'],
  ])('%j is readable in %j', (name, file) => {
    expect(entityFiles([name]).get(name)).toBe(file)
  })
})
