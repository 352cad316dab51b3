// Text for eyes: shows the characters that draw nothing, or that a terminal would obey. This is the
// one list for terminals, reports, JSON on a terminal and the page of the console. Tests hold it
// against FORMAT §1.6, which is fixed for readers of a history; for eyes the newest Unicode counts,
// so the classes here are those of the engine. Changes what is shown, never what is stored.
//
// Some hidden characters are part of ordinary writing. They are left alone where they do what they
// are for, one at a time, so that ordinary text remains readable and no sentence fits into them:
//
// - CR before LF;
// - a variation selector 15 or 16 after an emoji, ZWJ between two emoji, and the keycap;
// - the tags of the flags of England, Scotland and Wales, the only ones that Unicode recommends;
// - ZWNJ or ZWJ after a letter of a script that needs them, such as Arabic or Devanagari, and the
//   selectors of Mongolian after one of its letters;
// - LRM, RLM or ALM with a right-to-left letter at most four characters away.
//
// Everything else is marked, as is any of these with a second hidden character next to it. Marked
// too, though ordinary, are a BOM at the start, soft hyphens and selectors of CJK characters: one
// mark in a text does no harm, and programs that compare or parse it stumble over them.

/**
 * C0 but for tab, newline and the CR before it, DEL, C1; what Unicode hides; and two symbols that
 * are blank.
 */
const unicodeHides = String.raw`\p{Cf}\p{Zl}\p{Zp}\p{DI}`
const hidden = String.raw`(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f${unicodeHides}\u2800\u{1d159}]`
const emoji = String.raw`[\p{ExtPict}\p{EMod}]`
const joining = String.raw`[\u0620-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff]`
const rightToLeft = String.raw`[\u05d0-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]`

const ordinary = [
  String.raw`(?<=${emoji})(?:\ufe0e|\ufe0f?\u200d(?=\p{ExtPict})|\ufe0f)`,
  String.raw`(?<=[\d#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=\u{1f3f4})\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|` +
    String.raw`\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}`,
  String.raw`(?<=${joining})[\u200c\u200d]`,
  String.raw`(?<=[\u1820-\u18aa])[\u180b-\u180f]`,
  String.raw`(?:(?<=${rightToLeft}[^\p{L}\n]{0,4})|(?=[^\p{L}\n]{1,5}${rightToLeft}))` +
    String.raw`[\u061c\u200e\u200f]`,
].join('|')

/** Finds ordinary characters, and in group 1 whole runs of hidden ones. */
const runs = new RegExp(`(?:${ordinary})(?!${hidden})|((?:${hidden})+)`, 'gu')

/** Most texts contain none of these, and `runs` is slower. */
const unusual = /[^\t\n -~]/

/** The characters that are escaped even on one unambiguous line. */
const allHidden = new RegExp(String.raw`[\t\n\r\p{Cs}]|${hidden}`, 'gu')

/** As many code points are named one by one. */
const NAMED_MAX = 3
/** As much of what characters spell is in a count. A mark has all of it. */
const SPELLED_MAX = 200

/** Hidden characters that stand next to each other. */
export interface HiddenRun {
  readonly characters: string
  /** `U+200B`, or the label of a longer run. */
  readonly mark: string
  /** `1 hidden character, U+200B`, or `6 hidden characters, U+E0049–U+E0072: "Ignore"`. */
  readonly label: string
}

export interface HiddenCount {
  /** Code points. */
  readonly count: number
  /** The mark for all hidden characters together; undefined if the text has none. */
  readonly label: string | undefined
}

/** The text with a mark such as `‹U+200B›` for each run of hidden characters. */
export function visible(text: string): string {
  return replaceRuns(text, (run) => `‹${markOf(run)}›`)
}

/** The same on one line: new lines and tabs are marked too. */
export function visibleLine(text: string): string {
  return visible(text.replaceAll(/[\t\n\r]/g, (character) => `‹${markOf(character)}›`))
}

/** On one line: each hidden character as `\u{…}`, even if it is ordinary, and half a pair. */
export function escapedLine(text: string): string {
  return text.replaceAll(allHidden, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`)
}

/** JSON with the same value, in which hidden characters are escaped. */
export function visibleJson(json: string): string {
  return replaceRuns(json, (run) => run.split('').map(escaped).join(''))
}

/**
 * The text in its order: parts to show unchanged, and runs to mark. A CR at the end, which no page
 * obeys, belongs to the end of a line.
 */
export function partsOf(text: string): readonly (string | HiddenRun)[] {
  if (!unusual.test(text)) return text === '' ? [] : [text]
  const parts: (string | HiddenRun)[] = []
  const line = text.endsWith('\r') ? text.slice(0, -1) : text
  let from = 0
  for (const { 1: characters, index } of line.matchAll(runs)) {
    if (characters === undefined) continue
    if (index > from) parts.push(text.slice(from, index))
    parts.push({ characters, mark: markOf(characters), label: labelOf(characters) })
    from = index + characters.length
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

/** How many characters of the texts `visible` marks, and what they are. */
export function countHidden(...texts: readonly string[]): HiddenCount {
  const found = texts
    .filter((text) => unusual.test(text))
    .flatMap((text) => Array.from(text.matchAll(runs), ([, run = '']) => run))
  const all = found.join('')
  const label = all === '' ? undefined : labelOf(all, SPELLED_MAX)
  return { count: pointsOf(all).length, label }
}

function replaceRuns(text: string, replacement: (run: string) => string): string {
  if (!unusual.test(text)) return text
  return text.replaceAll(runs, (all: string, run: string | undefined) =>
    run === undefined ? all : replacement(run),
  )
}

function markOf(run: string): string {
  const points = pointsOf(run)
  return points.length > NAMED_MAX ? labelOf(run) : points.map(nameOf).join(' ')
}

function labelOf(run: string, spelledMax = Number.POSITIVE_INFINITY): string {
  const points = pointsOf(run)
  const sorted = points.toSorted((a, b) => a - b)
  const ends = [...new Set([sorted[0] ?? 0, sorted.at(-1) ?? 0])].map(nameOf).join('–')
  const spelled = points.map(spelledBy).join('')
  const shown = spelled.length > spelledMax ? `${spelled.slice(0, spelledMax)}…` : spelled
  const count = points.length === 1 ? '1 hidden character' : `${points.length} hidden characters`
  return `${count}, ${ends}${shown === '' ? '' : `: "${shown}"`}`
}

function pointsOf(run: string): readonly number[] {
  return Array.from(run, (character) => character.codePointAt(0) ?? 0)
}

/** Tags stand for ASCII. The other way to hide it numbers the variation selectors by bytes. */
function spelledBy(point: number): string {
  if (point >= 0xe0020 && point <= 0xe007e) return String.fromCharCode(point - 0xe0000)
  if (point >= 0xe0110 && point <= 0xe016e) return String.fromCharCode(point - 0xe00f0)
  return ''
}

function nameOf(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
