// Finds the secrets in a text: as it stands, and as it reads when what renders it is taken off
// (escapes, colours, invisible characters, base64, the numbers of lines). An ordinary text is
// searched for the marks of all patterns in one pass, and needs no more. All searches are linear in
// the text.

import { unseenClass } from '../../format/characters.ts'
import { Bytes } from '../../platform/bytes.ts'
import { findCardNumbers, type TextSpan } from './card-numbers.ts'
import { decodedPatterns, type Pattern, secretPatterns } from './secret-patterns.ts'

/** The position of a secret in a text, in UTF-16 units, and its kind. Holds none of the text. */
export interface Secret extends TextSpan {
  readonly rule: string
}

const CARD = 'payment card number'
const MAYBE_CARD = /\d{13}|\d{4}[ -]\d{4,6}[ -]\d{4}/

/** The secrets in a text, in the order of their positions; each once, however often it is seen. */
export function findSecrets(text: string): readonly Secret[] {
  const found = [secretsIn(text)]
  const escaped = resolveEscapes(text)
  for (const one of escaped) found.push(moved(secretsIn(one.text), one.origin))
  for (const outer of [{ text, origin: unmoved }, ...escaped]) {
    for (const { text: inner, origin } of decodeBase64(outer.text)) {
      const secrets = [...secretsIn(inner), ...matchesOf(decodedPatterns, inner)]
      found.push(moved(moved(secrets, origin), outer.origin))
    }
  }
  return distinct(found.flat())
}

function secretsIn(text: string): Secret[] {
  const cards = MAYBE_CARD.test(text) ? findCardNumbers(text) : []
  const hasFrame = text.includes('PRIVATE KEY') || text.includes('Private-Lines')
  const keys = hasFrame ? findFramedKeys(text) : []
  return [
    ...cards.map(({ start, end }) => ({ rule: CARD, start, end })),
    ...matchesOf(candidatesFor(text), text),
    ...keys.map(({ start, end }) => ({ rule: 'private key', start, end })),
  ]
}

function moved(secrets: readonly Secret[], origin: RenderedText['origin']): Secret[] {
  return secrets.map(({ rule, start, end }) => ({ rule, ...origin({ start, end }) }))
}

/** Of those of one kind that overlap, the first. */
function distinct(secrets: readonly Secret[]): readonly Secret[] {
  const ends = new Map<string, number>()
  return secrets
    .toSorted((a, b) => a.start - b.start)
    .filter(({ rule, start, end }) => {
      if (start < (ends.get(rule) ?? 0)) return false
      ends.set(rule, end)
      return true
    })
}

function matchesOf(patterns: readonly Pattern[], text: string): readonly Secret[] {
  const found: Secret[] = []
  for (const { rule, pattern, isSecret } of patterns) {
    for (const match of text.matchAll(pattern)) {
      if (!isSecret(match)) continue
      found.push({ rule, start: match.index, end: match.index + match[0].length })
    }
  }
  return found
}

/** Which patterns may match, by the marks that a text has. */
function candidatesFor(text: string): readonly Pattern[] {
  const has = new Set([...exact.findIn(text), ...folded.findIn(text)])
  return secretPatterns.filter((one) => one.marks.length === 0 || has.has(one))
}

/** Searches for the marks of many patterns at once. */
class Marks {
  readonly #pattern: RegExp
  readonly #patterns: ReadonlyMap<string, readonly Pattern[]>

  constructor(flags: 'g' | 'gi', patterns: readonly Pattern[]) {
    const marks = [...new Set(patterns.flatMap((one) => one.marks))]
    const longestFirst = marks.toSorted((a, b) => b.length - a.length)
    this.#pattern = new RegExp(longestFirst.map(literal).join('|'), flags)
    this.#patterns = new Map(
      marks.map((mark) => {
        const begins = patterns.filter((one) => one.marks.some((other) => mark.startsWith(other)))
        return [mark, begins]
      }),
    )
  }

  findIn(text: string): Set<Pattern> {
    const found = new Set<Pattern>()
    const pattern = this.#pattern
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const mark = pattern.ignoreCase ? match[0].toLowerCase() : match[0]
      for (const one of this.#patterns.get(mark) ?? []) found.add(one)
      // Marks may overlap.
      pattern.lastIndex = match.index + 1
    }
    return found
  }
}

const exact = new Marks(
  'g',
  secretPatterns.filter(({ pattern }) => !pattern.ignoreCase),
)
const folded = new Marks(
  'gi',
  secretPatterns.filter(({ pattern }) => pattern.ignoreCase),
)

function literal(mark: string): string {
  return mark.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`)
}

function unmoved(place: TextSpan): TextSpan {
  return place
}

interface RenderedText {
  readonly text: string
  /** The place in the original of a place here. */
  readonly origin: (place: TextSpan) => TextSpan
}

/** Escapes of escapes, as in JSON that is a string of JSON. */
const ROUNDS_MAX = 3
/** Secrets of Kubernetes that Helm keeps are base64 of base64. */
const DECODED_DEPTH = 2

const UNSEEN = `${unseenClass}+`
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
function resolveEscapes(text: string): readonly RenderedText[] {
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
function decodeBase64(text: string, depth: number = DECODED_DEPTH): readonly RenderedText[] {
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
    const inner = Bytes.from(run, 'base64').toString('latin1')
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

function findFramedKeys(text: string): readonly TextSpan[] {
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
