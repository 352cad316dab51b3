// The shape of the tree and its English (test/tidy/house.ts, english.ts): each within its limit.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { git } from './support/temporary.ts'
import { allowances, commentsOf, oddities, oddTexts, testNamesOf, textsOf } from './tidy/english.ts'
import { declaredTwice, isWithin, measuresOf } from './tidy/house.ts'
import { sourceFile } from './tidy/source.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = git(['ls-files', '--cached', '--others', '--exclude-standard', '-z'], root).split(
  '\0',
)
const sources = paths
  .filter((path) => /\.(?:tsx?|mjs)$/.test(path) && existsSync(join(root, path)))
  .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')))
const documents = paths
  .filter((path) => path.endsWith('.md') && existsSync(join(root, path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

describe('the shape of the tree', () => {
  test('is within its limits', () => {
    expect(measuresOf(sources).filter((measure) => !isWithin(measure))).toEqual([])
  })

  test('finds names that two files declare', () => {
    const texts = ['type D = string', 'export interface D {\n  readonly d: string\n}']
    const files = texts.map((text, index) => sourceFile(`src/${index}.ts`, text))
    expect(declaredTwice(files)).toEqual(['D'])
  })
})

describe('the language', () => {
  const found = oddTexts(sources, documents)

  test.each([...found.keys()])('of %s is within its allowance', (room) => {
    expect(found.get(room)).toBeLessThanOrEqual(allowances[room] ?? 0)
  })

  test('has no allowance that is larger than needed', () => {
    const loose = Object.entries(allowances).filter(([room, most]) => {
      return most > (found.get(room) ?? 0)
    })
    expect(loose).toEqual([])
  })

  test.each([
    ['a fragment', 'Of a request whose address or host is missing.'],
    ['a relative clause without a noun', 'Refuses what is not a file.'],
    ['beside', 'Kept beside the journal.'],
    ['none as an adjective', 'Undefined if there is none.'],
    ['so many', 'At least so many bytes.'],
    ['a clause as the subject', 'Whoever has the key opens it.'],
    ['a subject that begins with Who', 'Who has the key opens it.'],
    ['a plan for the future', 'A memory that is to be kept.'],
    ['a state as a movement', 'The file is gone.'],
    ['a pronoun for people', 'A name that nobody chose.'],
  ])('finds %s', (_, text) => {
    expect(oddities(text)).toHaveLength(1)
  })

  test('finds nothing in plain English, nor in code', () => {
    const plain = 'Returns the previous value. Who may read it? No one else; see `what is`.'
    expect(oddities(plain)).toEqual([])
  })

  test('is read in comments, texts and names of tests', () => {
    const file = sourceFile(
      'test/a.test.ts',
      "// One\n// comment.\ntest('opens a file', () => {\n  f('a text of words') // Two.\n})",
    )
    expect(commentsOf(file).map(({ text }) => text)).toEqual(['One comment.', 'Two.'])
    expect(testNamesOf(file).map(({ text }) => text)).toEqual(['opens a file'])
    expect(textsOf(file).map(({ line }) => line)).toEqual([3, 4])
  })
})
