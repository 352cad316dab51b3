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

/** U+2028 and U+2029, and general category Cf in Unicode 15.1. */
const UNSEEN: readonly Range[] = [
  [0xad, 0xad],
  [0x600, 0x605],
  [0x61c, 0x61c],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x890, 0x891],
  [0x8e2, 0x8e2],
  [0x180e, 0x180e],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2064],
  [0x2066, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0001, 0xe0001],
  [0xe0020, 0xe007f],
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
const forbidden = new RegExp(classOf([...CONTROLS, ...UNSEEN]), 'u')
const spaceAtEnd = new RegExp(`^${classOf(SPACES)}|${classOf(SPACES)}$`, 'u')

/** Whether a text has a character of category Cc, which no version of Unicode changes. */
export function hasControls(text: string): boolean {
  return control.test(text)
}

/** Whether a text has a forbidden character, or half a surrogate pair. */
export function hasForbidden(text: string): boolean {
  return !text.isWellFormed() || forbidden.test(text)
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
  if (!/[\p{Cc}\p{Cf}\p{Cn}\p{Zl}\p{Zp}]/u.test(text)) return undefined
  return 'not contain control, format or unassigned characters'
}

function classOf(ranges: readonly Range[]): string {
  return `[${ranges.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join('')}]`
}

function escaped(point: number): string {
  // Joined: Terser takes a template with this beginning for an escape, and refuses it.
  return ['\\u{', point.toString(16), '}'].join('')
}
