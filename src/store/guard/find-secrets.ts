// Finds the secrets in a text: as it stands, and as it reads when what renders it is taken off
// (escapes, colours, invisible characters, base64, the numbers of lines). An ordinary text is
// searched for the marks of all patterns in one pass, and needs no more.

import { findCardNumbers, type TextSpan } from './card-numbers.ts'
import { findFramedKeys } from './framed-keys.ts'
import { decodeBase64, type RenderedText, resolveEscapes } from './rendered-text.ts'
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
