// What people and programs of other systems hand over, and the value in it.

import { describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { decodePlain, onlyLine } from '../../src/plain-input.ts'

describe('the text of bytes', () => {
  test.each<[bytes: Uint8Array, wanted: string | undefined]>([
    [utf8('é\r\n'), 'é\r\n'],
    [utf8('\ufeffé'), 'é'],
    [utf8('\ufeff\ufeffé'), '\ufeffé'],
    [utf8('é\ufeff'), 'é\ufeff'],
    [new Uint8Array(), ''],
    [Buffer.from('\ufeffé😀\r\n', 'utf16le'), 'é😀\r\n'],
    [Buffer.from('\ufeffé😀\r\n', 'utf16le').swap16(), 'é😀\r\n'],
    [Buffer.from([0xff, 0xfe, 0x61]), undefined],
    [Buffer.from('\ufeff\ud800', 'utf16le'), undefined],
    [Buffer.from([0x61, 0xff]), undefined],
  ])('%j is %j', (bytes, wanted) => {
    expect(decodePlain(bytes)).toBe(wanted)
  })
})

test.each<[text: string, wanted: string | undefined]>([
  ['a token', 'a token'],
  ['\ufeffa token\r\n', 'a token'],
  ['a token\n\n', 'a token'],
  [' a token ', ' a token '],
  ['', undefined],
  ['\ufeff\r\n', undefined],
  ['a\nb', undefined],
  ['\na', undefined],
])('the only line of %j is %j', (text, wanted) => {
  expect(onlyLine(text)).toBe(wanted)
})
