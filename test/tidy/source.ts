// A TypeScript file as the laws see it: its text, the text without comments, and the bare code
// without comments and without what strings and templates say. A scanner, not a parser: it knows
// comments, strings, templates and, well enough for this code base, regular expressions.

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
  /** `text` with every comment replaced by spaces; offsets and lines are the same. */
  readonly uncommented: string
  /** `uncommented` with the inside of strings, templates and regular expressions blanked too. */
  readonly bare: string
}

/** One broken law: `<path>:<line>: <what would be right>`. */
export type Violation = string

export function sourceFile(path: string, text: string): SourceFile {
  const spans: Spans = { comments: [], literals: [] }
  scanCode(text, 0, spans, false)
  const uncommented = blank(text, spans.comments)
  return { path, text, uncommented, bare: blank(uncommented, spans.literals) }
}

export function violation(file: SourceFile, offset: number, right: string): Violation {
  const line = file.text.slice(0, offset).split('\n').length
  return `${file.path}:${line}: ${right}`
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Both in the order of the text; those of literals leave out the quotes. */
interface Spans {
  readonly comments: Span[]
  readonly literals: Span[]
}

function blank(text: string, spans: readonly Span[]): string {
  let result = ''
  let at = 0
  for (const { start, end } of spans) {
    result += text.slice(at, start) + text.slice(start, end).replaceAll(/[^\n]/g, ' ')
    at = end
  }
  return result + text.slice(at)
}

/** To the end of the text, or to behind the brace that ends a substitution of a template. */
function scanCode(text: string, start: number, spans: Spans, inTemplate: boolean): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '{') depth += 1
    if (char === '}') depth -= 1
    if (inTemplate && depth < 0) return at + 1
    at = scanToken(text, at, spans)
  }
  return at
}

/** Past the comment, literal or single character at `at`. */
function scanToken(text: string, at: number, spans: Spans): number {
  const char = text.charAt(at)
  if (text.startsWith('//', at)) return comment(at, lineEnd(text, at), spans)
  if (text.startsWith('/*', at)) return comment(at, blockEnd(text, at), spans)
  if (char === "'" || char === '"') return quoted(text, at, spans)
  if (char === '`') return template(text, at + 1, spans)
  if (char === '/' && startsPattern(text, at)) return pattern(text, at, spans)
  return at + 1
}

function comment(start: number, end: number, spans: Spans): number {
  spans.comments.push({ start, end })
  return end
}

function lineEnd(text: string, from: number): number {
  const found = text.indexOf('\n', from)
  return found === -1 ? text.length : found
}

function blockEnd(text: string, from: number): number {
  const found = text.indexOf('*/', from + 2)
  return found === -1 ? text.length : found + 2
}

function quoted(text: string, start: number, spans: Spans): number {
  const quote = text.charAt(start)
  let at = start + 1
  while (at < text.length && text.charAt(at) !== quote && text.charAt(at) !== '\n') {
    at += text.charAt(at) === '\\' ? 2 : 1
  }
  spans.literals.push({ start: start + 1, end: at })
  return at + 1
}

function template(text: string, start: number, spans: Spans): number {
  let from = start
  let at = start
  while (at < text.length && text.charAt(at) !== '`') {
    if (text.startsWith('${', at)) {
      spans.literals.push({ start: from, end: at })
      from = scanCode(text, at + 2, spans, true)
      at = from
    } else at += text.charAt(at) === '\\' ? 2 : 1
  }
  spans.literals.push({ start: from, end: at })
  return at + 1
}

/** A slash begins a regular expression where a value may begin, else it divides. */
function startsPattern(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 80), at).trimEnd()
  return /(?:^|[(,=:[!&|?{};>+]|\b(?:return|typeof|case|of|in))$/.test(before)
}

function pattern(text: string, start: number, spans: Spans): number {
  let at = start + 1
  let inClass = false
  for (; at < text.length && text.charAt(at) !== '\n'; at += 1) {
    const char = text.charAt(at)
    if (char === '\\') at += 1
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '/' && !inClass) break
  }
  spans.literals.push({ start: start + 1, end: at })
  return at + 1
}
