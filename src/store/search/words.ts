// The words of a text, in the form in which they are compared: what differs only in case, accents
// or the way in which Unicode writes it is one word. Both sides of a search go through here. Pure.

/** A word as it is compared. */
export interface Word {
  readonly term: string
  /** Where it begins in the text, and how long it is there, in UTF-16 units. */
  readonly at: number
  readonly length: number
}

/** A part of a text that is short enough for one step of work. */
export interface Chunk {
  readonly text: string
  /** Where it begins. */
  readonly at: number
}

/** Longer words are cut, on both sides: a text of one long word must not make a deep tree. */
const termLengthMax = 64
/** A hundred kilobytes take several milliseconds. */
const CHUNK_LENGTH = 4096
/** How far before its end a chunk looks for a place between two words. */
const CHUNK_MARGIN = 256

/** Scripts without spaces between words. Of these, each pair of neighbours is a word. */
const unspaced =
  String.raw`\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Yi}` +
  String.raw`\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}\p{scx=Javanese}`
/** Soft hyphens and joiners, which are invisible; they do not end a word. */
const unseen = String.raw`\u00ad\u200b-\u200d\u2060\ufeff`
const wordCharacter = String.raw`[\p{L}\p{N}\p{M}${unseen}]`
const unspacedCharacter = String.raw`(?=${wordCharacter})[${unspaced}]`

const word = new RegExp(
  String.raw`(?<unspaced>(?:${unspacedCharacter})+)` +
    `|(?:(?!${unspacedCharacter})${wordCharacter})+` +
    String.raw`|\p{Extended_Pictographic}`,
  'gu',
)
/** A word of Latin, Greek or Cyrillic whose characters fold to letters and digits alone. */
const foldsToWord = new RegExp(
  String.raw`^[0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u013e\u0141-\u0148\u014a-\u017e` +
    String.raw`\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce\u0400-\u0481]+$`,
  'u',
)
/**
 * Letters of Latin that Unicode does not take apart, by their plain spelling:
 * those with a stroke or a hook, and ligatures. Lower case, in which they are looked up.
 */
const plainLetters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ae: 'æ',
    b: 'ƀɓ',
    c: 'ƈȼ',
    d: 'đðɖɗ',
    f: 'ƒ',
    g: 'ǥɠ',
    h: 'ħ',
    i: 'ıɨ',
    j: 'ɉ',
    k: 'ƙĸ',
    l: 'łƚ',
    n: 'ŋɲ',
    o: 'øɵ',
    oe: 'œ',
    p: 'ƥ',
    r: 'ɍ',
    t: 'ŧƭⱦ',
    th: 'þ',
    u: 'ʉ',
    y: 'ɏƴ',
    z: 'ƶȥ',
  }).flatMap(([plain, letters]) => Array.from(letters, (letter) => [letter, plain] as const)),
)
const foldedLetters = new RegExp(`[${[...plainLetters.keys()].join('')}]`, 'gu')
const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text)
const unseenCharacters = new RegExp(`[${unseen}]`, 'gu')
const firstUnspaced = new RegExp(`^(?:${unspacedCharacter})`, 'u')

/** Whether terms of this beginning are pairs of characters, and not words. */
export function isUnspaced(term: string): boolean {
  return !isAscii(term) && firstUnspaced.test(term)
}

/** All words, in the order of the text. For a text of any length, see `chunksOf`. */
export function wordsOf(text: string): readonly Word[] {
  const words: Word[] = []
  let start = -1
  let isPlain = true
  for (let at = 0; at <= text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= 128 || isLetterOrDigit(code)) {
      if (start === -1) {
        start = at
        isPlain = true
      }
      if (code >= 128) isPlain = false
    } else if (start !== -1) {
      if (isPlain) addPlainWord(text, start, at, words)
      else addWords(text.slice(start, at), start, words)
      start = -1
    }
  }
  return words
}

/** The terms of the words that begin with one of these, in any order: faster than `wordsOf`. */
export function termsBeginning(text: string, starts: readonly string[]): readonly string[] {
  if (!isAscii(text)) {
    const terms = wordsOf(text).map(({ term }) => term)
    return terms.filter((term) => starts.some((start) => term.startsWith(start)))
  }
  const folded = text.toLowerCase()
  const places = new Set<number>()
  for (const start of starts) {
    for (let at = folded.indexOf(start); at !== -1; at = folded.indexOf(start, at + 1)) {
      if (!isLetterOrDigit(folded.charCodeAt(at - 1))) places.add(at)
    }
  }
  return [...places].map((at) => folded.slice(at, endOfPlainTerm(folded, at)))
}

/** The chunks of a text, cut between words unless one is very long. */
export function* chunksOf(text: string): Generator<Chunk> {
  for (let at = 0; at < text.length;) {
    const end = endOfChunk(text, at)
    yield { text: text.slice(at, end), at }
    at = end
  }
}

/** A text as it is compared: `ﬁancé` and `FIANCE` are one, and `Łódź` and `lodz`. */
function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll(unseenCharacters, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll(foldedLetters, (letter) => plainLetters.get(letter) ?? letter)
    .normalize('NFKC')
}

/** ASCII alone, whose other characters are in no word. */
function isLetterOrDigit(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57)
}

function addPlainWord(text: string, start: number, end: number, words: Word[]): void {
  const term = text.slice(start, Math.min(end, start + termLengthMax)).toLowerCase()
  words.push({ term, at: start, length: end - start })
}

/** A term is cut, as in `addPlainWord`. */
function endOfPlainTerm(folded: string, start: number): number {
  let end = start + 1
  while (end < start + termLengthMax && isLetterOrDigit(folded.charCodeAt(end))) end += 1
  return end
}

/** The words of a part between two characters of ASCII that are in no word. */
function addWords(part: string, at: number, words: Word[]): void {
  // Nearly all are one word, which the expression for any script would take far longer to find.
  if (foldsToWord.test(part)) words.push({ term: cut(fold(part)), at, length: part.length })
  else for (const found of part.matchAll(word)) addWord(found, at + found.index, words)
}

function addWord({ 0: found, groups }: RegExpExecArray, index: number, words: Word[]): void {
  if (groups?.['unspaced'] !== undefined) return addPairs(found, index, words)
  const folded = fold(found)
  // Folding may find punctuation in a character, such as the stroke in ½.
  const parts = folded.match(word) ?? []
  for (const part of parts) words.push({ term: cut(part), at: index, length: found.length })
}

/** Each character with the next one, and the last one alone, so that a prefix finds each. */
function addPairs(run: string, index: number, words: Word[]): void {
  let at = index
  const characters = Array.from(run)
  for (const [number, character] of characters.entries()) {
    const pair = character + (characters[number + 1] ?? '')
    const term = fold(pair)
    if (term !== '') words.push({ term: cut(term), at, length: pair.length })
    at += character.length
  }
}

function cut(term: string): string {
  if (term.length <= termLengthMax) return term
  return term.slice(0, endOfCharacter(term, termLengthMax))
}

function endOfChunk(text: string, at: number): number {
  const end = at + CHUNK_LENGTH
  if (end >= text.length) return text.length
  for (let place = end; place > end - CHUNK_MARGIN; place -= 1) {
    const code = text.charCodeAt(place)
    if (code <= 32) return place
  }
  return endOfCharacter(text, end)
}

/** The same place, or one before it, so that no surrogate pair is cut. */
function endOfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
