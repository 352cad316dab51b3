// Settings: one text per value, and the bounds of each field.

import { describe, expect, test } from 'vitest'
import { concatBytes, utf8 } from '../../../src/bytes.ts'
import { paddedLength } from '../../../src/format/envelope.ts'
import {
  checkSettings,
  decodeSettings,
  encodeSettings,
  type Settings,
} from '../../../src/format/settings.ts'

const code = (name: string): unknown => expect.objectContaining({ code: name })
const settings: Settings = {
  name: 'notes',
  description: '',
  metadata: {},
  archivedAt: undefined,
  limits: { contentBytes: 102_400, memories: 10_000 },
}
const canonical =
  '{"name":"notes","description":"","metadata":{},"archived_at":null,' +
  '"limits":{"content_bytes":102400,"memories":10000}}'

function blob(json: string | Uint8Array): Uint8Array {
  const text = typeof json === 'string' ? utf8(json) : json
  const header = Uint8Array.of(1, 0, 0, 0, text.length >>> 8, text.length & 255)
  const plaintext = concatBytes(header, text)
  const padded = new Uint8Array(paddedLength('settings', plaintext.length))
  padded.set(plaintext)
  return padded
}

function pad(plaintext: Uint8Array): Uint8Array {
  return blob(plaintext.subarray(6))
}

describe('settings_malformed:', () => {
  test.each([
    ['half a surrogate pair', canonical.replace('notes', '\\ud83d')],
    ['a limit of 0', canonical.replace('10000', '0')],
    ['a limit beyond the format', canonical.replace('102400', '16777217')],
    ['a time before 1970', canonical.replace('null', '-1')],
    ['a time that is false', canonical.replace('null', 'false')],
  ])('%s', (_, json) => {
    expect(() => decodeSettings(blob(json))).toThrow(code('settings_malformed'))
  })

  test('and the error does not repeat the text', () => {
    const thrown = catchError(() => decodeSettings(blob('secret text')))
    expect(`${thrown.stack} ${String(thrown.cause)}`).not.toContain('secret')
  })
})

test('own pairs do not count among those of users', () => {
  const own = Array.from({ length: 64 }, (_, index) => [`gitlocket_${index}`, 'v'])
  const users = Array.from({ length: 16 }, (_, index) => [`k${index}`, 'v'])
  const metadata = Object.fromEntries([...own, ...users])
  const value: Settings = { ...settings, metadata }
  expect(decodeSettings(pad(encodeSettings(checkSettings(value))))).toEqual(value)
})

describe('invalid_input:', () => {
  const pairs = Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])
  const own = Array.from({ length: 65 }, (_, index) => [`gitlocket_${index}`, 'v'])
  test.each<readonly [string, Partial<Settings>, RegExp]>([
    ['a name of 256 characters', { name: 'n'.repeat(256) }, /name/],
    ['a name with a tab', { name: 'a\tb' }, /name/],
    ['a description of 1,025 characters', { description: 'd'.repeat(1025) }, /description/],
    ['17 pairs', { metadata: Object.fromEntries(pairs) }, /16 pairs/],
    ['65 own pairs', { metadata: Object.fromEntries(own) }, /64 pairs/],
    [
      'too many bytes',
      { metadata: Object.fromEntries(own.slice(1).map(([key]) => [key, '🙂'.repeat(512)])) },
      /65536 bytes/,
    ],
    ['an empty key', { metadata: { '': 'v' } }, /key/],
    ['a key of 65 characters', { metadata: { ['k'.repeat(65)]: 'v' } }, /key/],
    ['a value of 513 characters', { metadata: { k: 'v'.repeat(513) } }, /value/],
    ['a malformed text', { description: '\ud83d' }, /description/],
    ['no contents', { limits: { contentBytes: 0, memories: 1 } }, /contentBytes/],
    ['too many memories', { limits: { contentBytes: 1, memories: 1_000_001 } }, /memories/],
  ])('%s', (_, change, named) => {
    const action = (): unknown => checkSettings({ ...settings, ...change })
    expect(action).toThrow(code('invalid_input'))
    expect(action).toThrow(named)
  })
})

function catchError(action: () => unknown): Error {
  try {
    action()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('Nothing was thrown')
}
