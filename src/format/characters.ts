// Which characters paths and names may have (FORMAT §1.6). What readers refuse is a fixed list:
// two releases of Node know two versions of Unicode, and must judge one history alike. What only
// the engine's tables know, normal forms and assigned characters, binds writers.

/** A first and a last code point. */
type Range = readonly [first: number, last: number]

/** General category Cc. */
const CONTROLS: readonly Range[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
]

/**
 * U+2028, U+2029 and the blank U+2800; general category Cf, and what Unicode lets a font not draw
 * (Default_Ignorable_Code_Point), in Unicode 15.1.
 */
const UNSEEN: readonly Range[] = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x600, 0x605],
  [0x61c, 0x61c],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x890, 0x891],
  [0x8e2, 0x8e2],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
]

/** The characters that a device name neither begins nor ends with (FORMAT §1.5). */
const SPACES: readonly Range[] = [
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
]

/** For patterns of others, with the flag `u`: a class of the forbidden characters but controls. */
export const unseenClass: string = classOf(UNSEEN)

const control = new RegExp(classOf(CONTROLS), 'u')
const forbiddenClass = classOf([...CONTROLS, ...UNSEEN])
const forbidden = new RegExp(forbiddenClass, 'u')
const allForbidden = new RegExp(forbiddenClass, 'gu')
const spaceAtEnd = new RegExp(`^${classOf(SPACES)}|${classOf(SPACES)}$`, 'u')

/** Whether a text has a character of category Cc, which no version of Unicode changes. */
export function hasControls(text: string): boolean {
  return control.test(text)
}

/** Whether a text has a forbidden character, or half a surrogate pair. */
export function hasForbidden(text: string): boolean {
  return !text.isWellFormed() || forbidden.test(text)
}

/** `U+FE0F` for each forbidden character that a text has, once each, in their order there. */
export function forbiddenNames(text: string): readonly string[] {
  const found = new Set(text.match(allForbidden))
  return Array.from(found, (character) => {
    const digits = (character.codePointAt(0) ?? 0).toString(16).toUpperCase()
    return `U+${digits.padStart(4, '0')}`
  })
}

export function hasSpaceAtEnd(text: string): boolean {
  return spaceAtEnd.test(text)
}

/**
 * What a new path or name must do that an old one need not, as the end of a sentence; undefined if
 * it does. A character that is not assigned has no normal form yet, and may become one that no
 * reader sees.
 */
export function findWriteProblem(text: string): string | undefined {
  if (text.normalize('NFC') !== text) return 'be in Unicode normalization form C'
  if (!/[\p{Cc}\p{Cf}\p{Cn}\p{DI}\p{Zl}\p{Zp}\u2800]/u.test(text)) return undefined
  return 'not contain control, invisible or unassigned characters'
}

function classOf(ranges: readonly Range[]): string {
  return `[${ranges.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join('')}]`
}

function escaped(point: number): string {
  // Joined: Terser takes a template with this beginning for an escape, and refuses it.
  return ['\\u{', point.toString(16), '}'].join('')
}
