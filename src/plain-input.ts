// Reads what people and their tools hand over as a secret, a token, a pattern or JSON: in files, on
// standard input, in variables. Editors and shells of Windows put a byte-order mark in front or
// write UTF-16, and secret stores put a newline behind; none of that belongs to the value. The one
// place that decides so. Contents of memories are kept byte for byte and do not come here.

import { utf8Text } from './bytes.ts'

export const MARK = '\u{feff}'

/**
 * The text without its byte-order mark, of UTF-8, or of UTF-16 that begins with a mark. Undefined
 * if the bytes are neither.
 */
export function decodePlain(bytes: Uint8Array): string | undefined {
  try {
    return withoutMark(decode(bytes))
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return utf16('utf-16le', bytes)
  return first === 0xfe && second === 0xff ? utf16('utf-16be', bytes) : utf8Text(bytes)
}

function utf16(form: string, bytes: Uint8Array): string {
  return new TextDecoder(form, { fatal: true }).decode(bytes)
}

function withoutMark(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text
}

/**
 * The only line of a text, without mark and line ends; spaces belong to it. Undefined if the text
 * is empty or has more lines.
 */
export function onlyLine(text: string): string | undefined {
  const line = withoutMark(text).replace(/[\r\n]+$/, '')
  return line === '' || /[\r\n]/.test(line) ? undefined : line
}
