// The pattern of a redaction: what it matches, and that no message shows it, because it may be the
// secret itself.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CommandError, Input } from '../../../src/cli/call/command.ts'
import { checkSelects, patternOf } from '../../../src/cli/commands/redact-selection.ts'
import { StoreError } from '../../../src/errors.ts'
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

  const inFile = (
    content: string | Uint8Array,
    ...flags: readonly string[]
  ): RegExp | undefined => {
    const file = join(temporaryDirectory(), 'pattern')
    writeFileSync(file, content)
    return patternOf(input({ 'matching-file': file }, ...flags))
  }

  test.each<[content: string | Buffer]>([
    ['a-secret from a file'],
    ['a-secret from a file\n'],
    ['a-secret from a file\r\n\r\n'],
    ['\n  \na-secret from a file\r'],
    ['\ufeffa-secret from a file\r\n'],
    [Buffer.from('\ufeffa-secret from a file\r\n', 'utf16le')],
    [Buffer.from('\ufeffa-secret from a file\r\n', 'utf16le').swap16()],
  ])('is the line of %j, as an editor or a shell writes it', (content) => {
    expect(inFile(content)?.source).toBe('a-secret from a file')
    expect(inFile(content, 'literal')?.source).toBe('a-secret from a file')
  })

  test.each<[content: string | Buffer, sentence: RegExp]>([
    ['s3cret\nand more', /several lines/],
    ['s3cret ', /white space/],
    ['\u00a0s3cret', /white space/],
    [Buffer.from('s3cret', 'utf16le'), /NUL bytes/],
    [Buffer.from([0xff, 0xfe, 0x61]), /must be UTF-8/],
    [Buffer.from('caf\u00e9', 'latin1'), /must be UTF-8/],
    ['\ufeff\r\n', /must not be empty/],
  ])('in a file of %j is refused, for it would find nothing', (content, sentence) => {
    for (const flags of [[], ['literal']]) {
      const find = (): unknown => inFile(content, ...flags)
      expect(find).toThrow(StoreError)
      expect(find).toThrow(sentence)
      expect(find).not.toThrow(/s3cret/)
    }
  })

  test.each(['Caf\u00e9', 'Cafe\u0301'])('as plain text, %s matches both its forms', (matching) => {
    const pattern = patternOf(input({ matching }, 'literal'))
    for (const text of ['a Caf\u00e9.', 'a Cafe\u0301.']) expect(pattern?.test(text)).toBe(true)
    expect(pattern?.test('a Cafe.')).toBe(false)
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
