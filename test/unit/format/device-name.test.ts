// Device names (FORMAT §1.5): a text for people, without anything that prints as something else.

import { describe, expect, test } from 'vitest'
import { checkDeviceName, checkNewDeviceName } from '../../../src/format/device-name.ts'

const refused = expect.objectContaining({ code: 'invalid_input' })

describe('a device name', () => {
  test.each([
    ['nothing', ''],
    ['a word', 'laptop'],
    ['words with spaces between them', 'Zoë’s old laptop (2)'],
    ['64 characters', 'x'.repeat(64)],
    ['64 characters outside the basic plane', '🦉'.repeat(64)],
    ['a combining sequence that has no other form', 'x\u0301'],
    ['a format character of no category Cf', '\u00b7'],
  ])('may be %s', (_, name) => {
    expect(checkDeviceName(name)).toBe(name)
    expect(checkNewDeviceName(name)).toBe(name)
  })

  test.each<[string, unknown]>([
    ['no text', 5],
    ['undefined', undefined],
    ['65 characters', 'x'.repeat(65)],
    ['65 characters outside the basic plane', '🦉'.repeat(65)],
    ['a line break', 'a\nb'],
    ['NUL', 'a\0'],
    ['DEL', 'a\u007f'],
    ['a C1 control', 'a\u0085'],
    ['a soft hyphen', 'a\u00adb'],
    ['a zero-width joiner', 'a\u200db'],
    ['a right-to-left override', 'a\u202eb'],
    ['a language tag', 'a\u{e0061}'],
    ['a line separator', 'a\u2028b'],
    ['a paragraph separator', 'a\u2029b'],
    ['half a surrogate pair', 'a\ud800'],
    ['a space before', ' a'],
    ['a space after', 'a '],
    ['a no-break space after', 'a\u00a0'],
    ['an ideographic space alone', '\u3000'],
    ['a byte-order mark', '\ufeffa'],
  ])('is not %s', (_, name) => {
    expect(() => checkDeviceName(name)).toThrow(refused)
    expect(() => checkNewDeviceName(name)).toThrow(refused)
  })

  test.each(['a\u0378', 'e\u0301'])('%j is read, and not given', (name) => {
    expect(checkDeviceName(name)).toBe(name)
    expect(() => checkNewDeviceName(name)).toThrow(refused)
  })

  test('that is refused is not repeated', () => {
    expect(() => checkDeviceName('SECRET\n')).not.toThrow(/SECRET/)
  })
})
