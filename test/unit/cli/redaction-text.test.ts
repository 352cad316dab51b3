// The pattern of a redaction: what it matches, and that no message shows it, because it may be the
// secret itself.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CommandError } from '../../../src/cli/command-error.ts'
import { Input } from '../../../src/cli/command.ts'
import { checkSelects, patternOf } from '../../../src/cli/redaction-text.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

function input(values: Readonly<Record<string, string>>, ...flags: readonly string[]): Input {
  const given = Object.entries(values).map(([name, value]) => [name, [value]] as const)
  return new Input([], new Map(given), new Set(flags))
}

describe('a pattern', () => {
  test.each<[source: string, flags: string[], text: string, matches: boolean]>([
    ['sk-[a-z]+', [], 'key: sk-abc', true],
    ['sk-[a-z]+', [], 'key: SK-ABC', false],
    ['sk-[a-z]+', ['ignore-case'], 'key: SK-ABC', true],
    ['^key', [], 'first\nkey: x', true],
    ['x$', [], 'x\nlast', true],
    ['a.c', ['literal'], 'abc', false],
    ['$a.c(*)[\\]{x}|/^?+-', ['literal'], '- $a.c(*)[\\]{x}|/^?+- -', true],
    ['\\p{Lu}', [], 'Ü', true],
  ])('%s with %j, on %j: %s', (matching, flags, text, matches) => {
    expect(patternOf(input({ matching }, ...flags))?.test(text)).toBe(matches)
  })

  test.each([
    ['a secret from a file\n', 'a secret from a file'],
    ['with a carriage return\r\nand more', 'with a carriage return'],
  ])('is the first line of %j', (text, wanted) => {
    const file = join(temporaryDirectory(), 'pattern')
    writeFileSync(file, text)
    expect(patternOf(input({ 'matching-file': file }))?.source).toBe(wanted)
  })

  test.each(['(', '[a', 'a**', '\\'])('%s is refused without being quoted', (pattern) => {
    const failed = catchError(() => patternOf(input({ matching: `s3cret${pattern}` })))
    expect(failed).toMatchObject({ code: 'invalid_input', hint: expect.any(String) })
    expect(String(failed)).not.toContain('s3cret')
  })

  test.each(['a*', '^', 'x|', '$'])('%s, which matches anything, is refused', (matching) => {
    expect(() => patternOf(input({ matching }))).toThrow(/matches the empty string/)
  })
})

test.each<[values: Readonly<Record<string, string>>, flags: string[], sentence: RegExp]>([
  [{}, [], /needs versions, or a condition/],
  [{ session: 's1' }, ['literal'], /--literal needs/],
  [{ session: 's1' }, ['ignore-case'], /--ignore-case needs/],
  [{ matching: 'a', 'matching-file': 'b' }, [], /not both/],
  [{ matching: '' }, [], /must not be empty/],
])('%j with %j is refused', (values, flags, sentence) => {
  expect(() => checkSelects(input(values, ...flags))).toThrow(sentence)
})

function catchError(work: () => unknown): CommandError {
  try {
    work()
  } catch (error) {
    if (error instanceof CommandError) return error
    throw error
  }
  throw new Error('nothing was refused')
}
