// Finds private keys (RFC 7468) whose lines begin with something else than the key: numbers, as
// `view` of the memory tool, `cat -n` and `grep -n` print them, marks of quotes and patches, names
// of log streams.
// Each line of the key must begin as the line of its frame does, digits aside. Looks at every
// character a bounded number of times.

import type { TextSpan } from './card-numbers.ts'

/** RFC 7468, RFC 4880, and PuTTY's own frame. */
const FRAME =
  /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}/g
const END_OF_FRAME = /[ \t"'`,|]{0,16}\r?\n/y
const HEADER = /[A-Za-z][A-Za-z-]{1,30}: /
/** `Proc-Type`, `DEK-Info`, `Version`, `Comment`, and an empty line. */
const HEADERS_MAX = 9
const PREFIX_MAX = 200
const LINE_MAX = 600
/** A line of a key has 64 characters or more, but for the last one. */
const FIRST_MIN = 40

export function findFramedKeys(text: string): readonly TextSpan[] {
  const found: TextSpan[] = []
  FRAME.lastIndex = 0
  for (let match = FRAME.exec(text); match !== null; match = FRAME.exec(text)) {
    const end = endOfKey(text, match.index, FRAME.lastIndex)
    if (end === undefined) continue
    found.push({ start: match.index, end })
    FRAME.lastIndex = end
  }
  return found
}

/** Where the key of a frame ends, or was cut off; undefined if the frame has no key. */
function endOfKey(text: string, start: number, afterFrame: number): number | undefined {
  END_OF_FRAME.lastIndex = afterFrame
  if (!END_OF_FRAME.test(text)) return undefined
  const before = text.slice(Math.max(0, start - PREFIX_MAX), start)
  const prefix = shapeOf(before.slice(before.lastIndexOf('\n') + 1))
  let next = END_OF_FRAME.lastIndex
  let end: number | undefined
  for (let headers = 0; headers <= HEADERS_MAX && next < text.length;) {
    const line = lineAt(text, next)
    const body = bodyOf(line, prefix)
    if (body === undefined || (end === undefined && body < FIRST_MIN)) {
      if (end !== undefined) break
      if (!HEADER.test(line) && shapeOf(line) !== prefix) break
      headers += 1
    } else {
      end = next + line.trimEnd().length
    }
    next += line.length + 1
  }
  return end
}

/** How many characters of base64 a line ends with, if it begins as the frame's line does. */
function bodyOf(line: string, prefix: string): number | undefined {
  const body = line.replace(/[\s"'`,|]{1,8}$/, '').replace(/={1,2}$/, '')
  let start = body.length
  while (start > 0 && isBase64(body.charCodeAt(start - 1))) start -= 1
  // A mark such as `+` may be taken for a character of the key.
  if (start === body.length || !prefix.startsWith(shapeOf(body.slice(0, start)))) return undefined
  return body.length - start
}

function lineAt(text: string, start: number): string {
  const line = text.slice(start, start + LINE_MAX)
  const end = line.indexOf('\n')
  return end === -1 ? line : line.slice(0, end)
}

/** What all lines of one rendering have in common: not the number, nor how far it is indented. */
function shapeOf(prefix: string): string {
  return prefix.replaceAll(/\d+/g, '0').replaceAll(/\s+/g, '').replaceAll('-', ':')
}

function isBase64(unit: number): boolean {
  const isDigit = unit >= 0x30 && unit <= 0x39
  const isLetter = (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a
  return isDigit || isLetter || unit === 0x2b || unit === 0x2f
}
