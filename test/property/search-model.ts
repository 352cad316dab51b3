// What a search must find, said slowly: every text is taken apart anew for every query, and every
// number is counted where it is needed. Shares nothing with src/store/search but the weights, which
// are those that its documents name.

/** A text that can be found, by its version id. */
export interface ModelText {
  readonly versionId: string
  readonly path: string
  readonly content: string
}

export interface ModelQuery {
  readonly query: string
  readonly prefix: boolean
  readonly fuzzy: boolean
  readonly path: string
}

export interface ModelHit {
  readonly versionId: string
  readonly score: number
  readonly line: number | undefined
}

/** Best first. */
export function modelSearch(texts: readonly ModelText[], query: ModelQuery): readonly ModelHit[] {
  const inScope = texts.filter(({ path }) => {
    return query.path === '/' || path === query.path || path.startsWith(`${query.path}/`)
  })
  const wanted = queryTerms(query.query)
  const scored = inScope.map((text) => {
    const score = scoreOf(text, inScope, wanted, query)
    return { ...text, score, line: lineOf(text.content, wanted, query) }
  })
  return scored
    .filter(({ score }) => score > 0)
    .toSorted(
      (a, b) => b.score - a.score || order(a.path, b.path) || order(a.versionId, b.versionId),
    )
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

/** Terms of Latin, Cyrillic and Greek, and pairs of Han: the model knows no other script. */
function termsOf(text: string): readonly string[] {
  const terms: string[] = []
  for (const [run] of text.matchAll(/\p{sc=Han}+|(?:(?!\p{sc=Han})[\p{L}\p{M}\p{N}])+/gu)) {
    if (!/\p{sc=Han}/u.test(run)) terms.push(plain(run))
    else for (let at = 0; at < run.length; at += 1) terms.push(run.slice(at, at + 2))
  }
  return terms
}

function plain(word: string): string {
  const bare = word.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  return bare.toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

function queryTerms(query: string): readonly string[] {
  const runs = query.split(/\s+/)
  const terms = runs.flatMap((run) => {
    const all = termsOf(run)
    // The last character alone, unless the run has no other.
    return /\p{sc=Han}/u.test(run) && all.length > 1 ? all.slice(0, -1) : all
  })
  return [...new Set(terms)]
}

function weight(wanted: string, term: string, { prefix, fuzzy }: ModelQuery): number {
  const isHan = /\p{sc=Han}/u.test(wanted)
  if (wanted === term) return 1
  const more = term.length - wanted.length
  if ((prefix || isHan) && term.startsWith(wanted)) {
    return (0.375 * term.length) / (term.length + 0.3 * more)
  }
  if (!fuzzy || isHan) return 0
  const allowed = wanted.length < 3 ? 0 : wanted.length < 6 ? 1 : 2
  const edits = distance(wanted, term)
  return edits === 0 || edits > allowed ? 0 : (0.45 * term.length) / (term.length + edits)
}

function distance(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  if (a.at(-1) === b.at(-1)) return distance(a.slice(0, -1), b.slice(0, -1))
  if (Math.abs(a.length - b.length) > 3) return 4
  const left = distance(a.slice(0, -1), b)
  const right = distance(a, b.slice(0, -1))
  return 1 + Math.min(left, right, distance(a.slice(0, -1), b.slice(0, -1)))
}

function scoreOf(
  text: ModelText,
  all: readonly ModelText[],
  wanted: readonly string[],
  query: ModelQuery,
): number {
  const perWord = wanted.map((word) => {
    const content = fieldScore(text, all, word, query, ({ content: field }) => field)
    return content + 2 * fieldScore(text, all, word, query, ({ path }) => path)
  })
  const sum = perWord.reduce((total, score) => total + score, 0)
  const hasAll = perWord.every((score) => score > 0)
  return sum === 0 ? 0 : sum / (1 + sum) + (hasAll ? 1 : 0)
}

/** BM25+, with k = 1.2, b = 0.7 and d = 0.5. */
function fieldScore(
  text: ModelText,
  all: readonly ModelText[],
  word: string,
  query: ModelQuery,
  fieldOf: (text: ModelText) => string,
): number {
  const terms = termsOf(fieldOf(text))
  const lengthOf = (one: ModelText): number =>
    fieldOf(one) === one.path ? one.path.length : Buffer.byteLength(fieldOf(one))
  const average = all.reduce((sum, one) => sum + lengthOf(one), 0) / all.length
  const relative = lengthOf(text) / average
  let score = 0
  for (const term of new Set(terms)) {
    const matches = weight(word, term, query)
    if (matches === 0) continue
    const having = all.filter((one) => termsOf(fieldOf(one)).includes(term)).length
    const rarity = Math.log(1 + (all.length - having + 0.5) / (having + 0.5))
    const count = terms.filter((other) => other === term).length
    score += matches * rarity * (0.5 + (count * 2.2) / (count + 1.2 * (0.3 + 0.7 * relative)))
  }
  return score
}

/** The first line of those with the most words. */
function lineOf(content: string, wanted: readonly string[], query: ModelQuery): number | undefined {
  const scores = content.split('\n').map((line) => {
    const best = wanted.map((word) => {
      return Math.max(0, ...termsOf(line).map((term) => weight(word, term, query)))
    })
    return best.reduce((sum, one) => sum + (one > 0 ? 1 + one : 0), 0)
  })
  const most = Math.max(...scores)
  return most === 0 ? undefined : scores.indexOf(most) + 1
}
