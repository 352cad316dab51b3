// The two edits of the memory tool, and their line numbers, as pure functions of a text
// (docs/MEMORY-TOOL.md). Lines split at `\n` only; nothing is normalised. Offsets are in UTF-16
// units; line numbers start at 1.

/** A text after an edit, and the lines that the edit touched. */
export interface TextEdit {
  readonly text: string
  readonly firstLine: number
  readonly lastLine: number
}

/** The number of lines. A final newline starts no further line, and an empty text has no lines. */
export function countLines(text: string): number {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1
  return lines
}

/** The lines as shown: like `countLines`, but an empty text shows one empty line. */
export function splitLines(text: string): readonly string[] {
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

/**
 * The offsets of at most `max` occurrences of `part`, including overlapping ones, except those that
 * would split a surrogate pair. `part` is not empty.
 */
export function findOccurrences(text: string, part: string, max: number): readonly number[] {
  const found: number[] = []
  let at = text.indexOf(part)
  while (at !== -1 && found.length < max) {
    if (!splitsPair(text, at) && !splitsPair(text, at + part.length)) found.push(at)
    at = text.indexOf(part, at + 1)
  }
  return found
}

/** The line numbers of ascending offsets. */
export function linesAt(text: string, offsets: readonly number[]): readonly number[] {
  let line = 1
  let newline = text.indexOf('\n')
  return offsets.map((offset) => {
    while (newline !== -1 && newline < offset) {
      line += 1
      newline = text.indexOf('\n', newline + 1)
    }
    return line
  })
}

/** Replaces `length` units at `offset`; the replacement is literal. */
export function replaceAt(
  text: string,
  offset: number,
  length: number,
  replacement: string,
): TextEdit {
  const [firstLine = 1] = linesAt(text, [offset])
  return {
    text: text.slice(0, offset) + replacement + text.slice(offset + length),
    firstLine,
    lastLine: firstLine + replacement.split('\n').length - 1,
  }
}

/**
 * Inserts `inserted` after an existing line, or at the beginning for 0. One final newline of
 * `inserted` is dropped, and the text keeps its own ending; an empty text becomes `inserted`.
 */
export function insertAfterLine(text: string, line: number, inserted: string): string {
  if (text === '') return inserted
  const block = inserted.endsWith('\n') ? inserted.slice(0, -1) : inserted
  const lines = splitLines(text).toSpliced(line, 0, block)
  return lines.join('\n') + (text.endsWith('\n') ? '\n' : '')
}

/** Adds lines at the end: `added` begins a line of its own, and the text keeps its own ending. */
export function appendLines(text: string, added: string): string {
  return insertAfterLine(text, countLines(text), added)
}

function splitsPair(text: string, offset: number): boolean {
  return isHigh(text.charCodeAt(offset - 1)) && isLow(text.charCodeAt(offset))
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
