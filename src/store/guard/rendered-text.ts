// A text as it is rendered: escapes of JSON, URLs, HTML and Markdown resolved, colours and hidden
// characters (FORMAT §1.6) taken out, base64 of readable text decoded. Each result knows the place
// in the original. Most texts have no escapes, and cost two searches. Linear in the text.

import { unseenClass } from '../../format/characters.ts'
import type { TextSpan } from './card-numbers.ts'

export interface RenderedText {
  readonly text: string
  /** The place in the original of a place here. */
  readonly origin: (place: TextSpan) => TextSpan
}

/** Escapes of escapes, as in JSON that is a string of JSON. */
const ROUNDS_MAX = 3
/** Secrets of Kubernetes that Helm keeps are base64 of base64. */
const DECODED_DEPTH = 2

const UNSEEN = `(?:${unseenClass}|[\\u{fe00}-\\u{fe0f}]|[\\u{e0100}-\\u{e01ef}])+`
const COLOUR = String.raw`\u{1b}\[[0-9;:]{0,32}[A-Za-z]`
const ESCAPE = new RegExp(
  [
    String.raw`\\u\{(?<braced>[0-9A-Fa-f]{1,6})\}`,
    String.raw`\\u(?<four>[0-9A-Fa-f]{4})`,
    String.raw`(?:\\x|%|=(?=3D))(?<two>[0-9A-Fa-f]{2})`,
    String.raw`\\(?<letter>[nrt])`,
    String.raw`\\(?<mark>[!-\/:-@\[-\x60\{-~])`,
    String.raw`&#x(?<hex>[0-9A-Fa-f]{1,6});`,
    String.raw`&#(?<decimal>\d{1,7});`,
    '&(?<entity>amp|quot|apos|lt|gt|equals|lowbar|colon|sol|period|hyphen);',
    UNSEEN,
    COLOUR,
  ].join('|'),
  'gu',
)
/** Whether anything of it is there, in little time. */
const HAS_ESCAPE = new RegExp(
  [String.raw`\\[!-\/:-@\[-\x60\{-~nrtux]|%[0-9A-Fa-f]{2}|=3D|&[#a-z]|\u{1b}\[`, UNSEEN].join('|'),
  'u',
)
const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  equals: '=',
  lowbar: '_',
  colon: ':',
  sol: '/',
  period: '.',
  hyphen: '-',
}

/** Four characters of base64 or base64url that stand for three of ASCII. */
const QUARTET = '[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]'
const BASE64_START = new RegExp(`(?<![A-Za-z0-9+/_-])(?:${QUARTET}){6,1024}`, 'g')
/** Also on the next line, as `base64` wraps its output. */
const BASE64_MORE = new RegExp(`(?:\\r?\\n[ \\t>|]{0,16})?(?:${QUARTET}){1,1024}`, 'y')
const BASE64_END = /[A-Za-z0-9+/_-]{0,3}={0,2}/y

/** The text after each round in which escapes were resolved, the last with none left. */
export function resolveEscapes(text: string): readonly RenderedText[] {
  const found: RenderedText[] = []
  let last: RenderedText = { text, origin: (place) => place }
  for (let round = 0; round < ROUNDS_MAX && HAS_ESCAPE.test(last.text); round += 1) {
    const next = resolved(last)
    if (next.text === last.text) break
    found.push(next)
    last = next
  }
  return found
}

/** The texts in readable base64, and in those again. */
export function decodeBase64(text: string, depth: number = DECODED_DEPTH): readonly RenderedText[] {
  const found: RenderedText[] = []
  BASE64_START.lastIndex = 0
  const places: TextSpan[] = []
  for (let match = BASE64_START.exec(text); match !== null; match = BASE64_START.exec(text)) {
    const place = { start: match.index, end: endOfBase64(text, BASE64_START.lastIndex) }
    places.push(place)
    BASE64_START.lastIndex = place.end
  }
  for (const place of places) {
    const run = text.slice(place.start, place.end).replaceAll(/[^A-Za-z0-9+/_-]/g, '')
    const inner = Buffer.from(run, 'base64').toString('latin1')
    found.push({ text: inner, origin: () => place })
    if (depth <= 1) continue
    for (const nested of decodeBase64(inner, depth - 1)) {
      found.push({ text: nested.text, origin: () => place })
    }
  }
  return found
}

function endOfBase64(text: string, start: number): number {
  let end = start
  for (;;) {
    BASE64_MORE.lastIndex = end
    if (!BASE64_MORE.test(text)) break
    end = BASE64_MORE.lastIndex
  }
  BASE64_END.lastIndex = end
  BASE64_END.test(text)
  return BASE64_END.lastIndex
}

function resolved({ text, origin }: RenderedText): RenderedText {
  /** Behind each escape: the place in the result, and in the text. */
  const made: number[] = [0]
  const read: number[] = [0]
  let length = 0
  let done = 0
  const parts: string[] = []
  for (const match of text.matchAll(ESCAPE)) {
    const meant = meaningOf(match)
    if (meant === undefined) continue
    parts.push(text.slice(done, match.index), meant)
    length += match.index - done + meant.length
    done = match.index + match[0].length
    made.push(length)
    read.push(done)
  }
  parts.push(text.slice(done))
  const at = (position: number): number => {
    const index = lastNotAbove(made, position)
    return (read[index] ?? 0) + position - (made[index] ?? 0)
  }
  return {
    text: parts.join(''),
    origin: ({ start, end }) => origin({ start: at(start), end: at(end) }),
  }
}

/** Only ASCII: no secret has more, and an escape of half a character has no meaning alone. */
function meaningOf({ 0: whole, groups = {} }: RegExpExecArray): string | undefined {
  const { letter, mark, entity, decimal } = groups
  if (letter !== undefined) return letters[letter]
  if (mark !== undefined) return mark
  if (entity !== undefined) return entities[entity]
  const hex = groups['braced'] ?? groups['four'] ?? groups['two'] ?? groups['hex']
  if (hex === undefined && decimal === undefined) return whole === '' ? undefined : ''
  const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  if (unseenPoint(point)) return ''
  return point < 0x80 ? String.fromCharCode(point) : undefined
}

function unseenPoint(point: number): boolean {
  return point >= 0x80 && point <= 0x10ffff && ONE_UNSEEN.test(String.fromCodePoint(point))
}

const ONE_UNSEEN = new RegExp(`^${UNSEEN}$`, 'u')

/** The index of the last number that is at most `limit`, in numbers that grow. */
function lastNotAbove(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((numbers[middle] ?? 0) <= limit) low = middle
    else high = middle - 1
  }
  return low
}
