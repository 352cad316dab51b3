// Finds payment card numbers (ISO/IEC 7812) by the prefixes and lengths of the large networks, the
// check digit, and the groups in which they are printed. Ignores a match inside a longer number,
// such as an identifier or a table of figures.

/** UTF-16 offsets in the text. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

interface Network {
  /** The first digits: every number from `first` to `last`, all of one length. */
  readonly first: number
  readonly last: number
  readonly lengths: readonly number[]
}

const networks: readonly Network[] = [
  { first: 4, last: 4, lengths: [13, 16, 19] },
  { first: 51, last: 55, lengths: [16] },
  { first: 2221, last: 2720, lengths: [16] },
  { first: 34, last: 34, lengths: [15] },
  { first: 37, last: 37, lengths: [15] },
  { first: 300, last: 305, lengths: [14] },
  { first: 36, last: 36, lengths: [14] },
  { first: 38, last: 39, lengths: [14] },
  { first: 6011, last: 6011, lengths: [16, 19] },
  { first: 644, last: 659, lengths: [16, 19] },
  { first: 3528, last: 3589, lengths: [16] },
  { first: 62, last: 62, lengths: [16, 17, 18, 19] },
]

const NUMBER = /(?<![A-Za-z0-9_-]|\d[.,])\d{13,19}(?![A-Za-z0-9_-]|[.,]\d)/g
/** 4-4-4-4, with three more for 19 digits; never part of a longer row of such groups. */
const FOURS =
  /(?<![A-Za-z0-9_]|\d{4}[ -])\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?(?![A-Za-z0-9_]|[ -]\d{4})/g
/** 4-6-5 and 4-6-4. */
const FOUR_SIX = /(?<![A-Za-z0-9_])3\d{3}([ -])\d{6}\1\d{4,5}(?![A-Za-z0-9_])/g

export function findCardNumbers(text: string): readonly TextSpan[] {
  const found: TextSpan[] = []
  for (const pattern of [NUMBER, FOURS, FOUR_SIX]) {
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (!isCardNumber(match.replace(/[ -]/g, ''))) continue
      found.push({ start: index, end: index + match.length })
    }
  }
  return found
}

function isCardNumber(digits: string): boolean {
  const known = networks.some(({ first, last, lengths }) => {
    const prefix = Number(digits.slice(0, String(first).length))
    return prefix >= first && prefix <= last && lengths.includes(digits.length)
  })
  return known && luhnSum(digits) % 10 === 0
}

/** ISO/IEC 7812-1 annex B: every second digit from the right counts twice. */
function luhnSum(digits: string): number {
  let sum = 0
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index])
    const value = index % 2 === 1 ? 2 * digit : digit
    sum += value > 9 ? value - 9 : value
  }
  return sum
}
