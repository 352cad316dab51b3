// Device names (FORMAT §1.5): a text for people, without anything that prints as something else.

import { describe, expect, test } from 'vitest'
import {
  checkDeviceName,
  checkNewDeviceName,
  fitDeviceName,
} from '../../../src/format/device-name.ts'

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

describe('a text that is made fit to be a name', () => {
  test.each([
    ['a name', 'anna-laptop', 'anna-laptop'],
    ['white space around it', ' \u3000a b\n', 'a b'],
    ['control and format characters', 'a\u0000b\u202ec\u00ad', 'abc'],
    ['the selector of an emoji', 'Ana\u2764\ufe0f', 'Ana\u2764'],
    ['half a surrogate pair, and what is not assigned', 'a\ud800b\u0378', 'ab'],
    ['another normal form', 'Zoe\u0308', 'Zo\u00eb'],
    ['what has another form without the character between', 'e\u200d\u0301', '\u00e9'],
    ['65 characters, the last of those that fit a space', `${'🦉'.repeat(63)} x`, '🦉'.repeat(63)],
    ['nothing that fits', '\u200b\n', ''],
  ])('%s', (_, text, name) => {
    expect(fitDeviceName(text)).toBe(name)
    expect(checkNewDeviceName(fitDeviceName(text))).toBe(name)
  })
})
