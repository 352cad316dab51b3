// FORMAT §1.6: the characters that no path and no name has. The list is the document's, and no
// property of Unicode is asked for, since that would follow the version of the runtime.

/** Ranges of code points, both ends included. */
const control = ranges('0000-001F 007F-009F')
const forbidden = [
  ...control,
  ...ranges('2028 2029 2800'),
  ...ranges('00AD 034F 0600-0605 061C 06DD 070F 0890-0891 08E2 115F-1160 17B4-17B5 180B-180F'),
  ...ranges('200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFFB 110BD 110CD'),
  ...ranges('13430-1343F 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF'),
]
const space = ranges('0020 00A0 1680 2000-200A 202F 205F 3000')

type Range = readonly [first: number, last: number]

function ranges(list: string): readonly Range[] {
  return list.split(' ').map((range): Range => {
    const [first = '', last = first] = range.split('-')
    return [Number(`0x${first}`), Number(`0x${last}`)]
  })
}

function isIn(set: readonly Range[], character: string | undefined): boolean {
  const point = character?.codePointAt(0) ?? -1
  return set.some(([first, last]) => first <= point && point <= last)
}

/** Whether the text has a forbidden character. */
export function hasForbidden(text: string): boolean {
  return Array.from(text).some((character) => isIn(forbidden, character))
}

/** Whether the text has one of U+0000–001F and 007F–009F. */
export function hasControl(text: string): boolean {
  return Array.from(text).some((character) => isIn(control, character))
}

/** Whether the text begins or ends with a space of §1.5. */
export function hasSpaceAtEnd(text: string): boolean {
  const characters = Array.from(text)
  return isIn(space, characters.at(0)) || isIn(space, characters.at(-1))
}

/** Whether the text has no lone surrogate. */
export function isWellFormed(text: string): boolean {
  return !/\p{Cs}/u.test(text)
}
