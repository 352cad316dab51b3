// The law of plain English: habits that a native speaker has to read twice, in comments, in texts
// that users read, in the names of tests and in documents. Each room has an allowance, which only
// shrinks.

import type { Document } from './documents.ts'
import type { SourceFile } from './source.ts'

interface Habit {
  readonly pattern: RegExp
  readonly instead: string
}

const habits: readonly Habit[] = [
  {
    pattern: /(?:^|[.!?:] )(?:Of|For|In|By|To|From|With) (?:what|whom|whoever|those that)\b/g,
    instead: 'name the subject',
  },
  {
    pattern: /(?:^|[.!?] )Of (?:an?|the|its|each|all|one) [^,.]*(?:[.:;]|$)/g,
    instead: 'write a sentence with its subject, not a fragment',
  },
  {
    pattern: /\bwhat (?:is|was|are|were|has|had|came|comes|goes|remains|must|may|nobody|only)\b/gi,
    instead: 'name the thing: the previous value, existing files',
  },
  {
    pattern: /\bwhat (?:it|they|he|she) (?:is|are|was|were|has|have|had)\b/gi,
    instead: 'name the thing: the previous value, existing files',
  },
  { pattern: /\bbesides?\b/gi, instead: 'next to, in addition to, while' },
  { pattern: /\b(?:is|are|was|were|has|have) none\b/gi, instead: 'is missing' },
  {
    pattern: /\bthat (?:is|are|was|were) no (?!longer|more)\w/gi,
    instead: 'is not an X',
  },
  { pattern: /\bso (?:many|much)\b(?! that)/gi, instead: 'count, at least n bytes' },
  {
    pattern: /(?:^|[.!?;] )Who (?!\w[^.!?]*\?)|\bwhoever\b/gi,
    instead: 'Anyone with, A caller that',
  },
  { pattern: /\b(?:is|are|was|were) to\b/gi, instead: 'must' },
  {
    pattern: /\b(?:is|are|was|were) gone\b|\bstays?\b|\bstayed\b|\bgoes\b/gi,
    instead: 'is removed, is kept, no longer exists, is sent',
  },
  {
    pattern: /\bmeanwhile\b|\balso where\b|\bcounts? as\b|\bleads? to\b|\bsays\b/gi,
    instead: 'concurrently, even if, is treated as, reaches, reports',
  },
  { pattern: /\bsomebody(?! else's)\b|\bnobody\b/gi, instead: 'another user, no one' },
]

/** The habits in a text that is not code: each with the words found. */
export function oddities(text: string): string[] {
  const prose = text.replaceAll(/`[^`]*`/g, '`')
  return habits.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(([found]) => `"${found.trim()}": ${instead}`),
  )
}

export interface Passage {
  readonly path: string
  readonly line: number
  readonly text: string
}

/** Comments, lines that follow each other as one. */
export function commentsOf(file: SourceFile): Passage[] {
  const passages: { path: string; line: number; text: string }[] = []
  const lines = file.text.split('\n')
  const code = file.uncommented.split('\n')
  let last = -2
  for (const [index, line] of lines.entries()) {
    const start = [...line].findIndex((char, column) => char !== code[index]?.[column])
    if (start === -1) continue
    const text = line
      .slice(start)
      .replace(/\*\/.*$/, '')
      .replace(/^\s*(?:\/\/|\/\*+|\*)/, '')
      .trim()
    const previous = passages.at(-1)
    const isAlone = line.slice(0, start).trim() === ''
    if (previous !== undefined && last === index - 1 && isAlone) {
      previous.text = `${previous.text} ${text}`.trim()
    } else passages.push({ path: file.path, line: index + 1, text })
    last = index
  }
  return passages.filter(({ text }) => text !== '')
}

/** Strings of at least three words: messages, help and the console's texts. */
export function textsOf(file: SourceFile): Passage[] {
  return [...file.uncommented.matchAll(/(['"`])((?:\\.|(?!\1)[^\\])*?)\1/g)].flatMap((match) => {
    const [, , text = ''] = match
    if (!/\p{L}+ \p{L}+ \p{L}+/u.test(text)) return []
    return [{ path: file.path, line: lineAt(file.text, match.index), text }]
  })
}

/** The names of tests and of their groups. */
export function testNamesOf(file: SourceFile): Passage[] {
  const names = /\b(?:test|it|describe)\b[^'"`\n]*\(\s*(['"`])((?:\\.|(?!\1)[^\\])*?)\1/g
  return [...file.uncommented.matchAll(names)].map((match) => {
    return { path: file.path, line: lineAt(file.text, match.index), text: match[2] ?? '' }
  })
}

/** The paragraphs, items and rows of a document, without its code. */
function paragraphsOf({ path, text }: Document): Passage[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, (code) => code.replaceAll(/[^\n]/g, ''))
  return [...prose.matchAll(/^\S[^]*?(?=\n\s*\n|\n\s*(?:[-*|]|\d+\.) |$(?![^]))/gm)].map(
    (match) => {
      return { path, line: lineAt(prose, match.index), text: match[0].replaceAll(/\s+/g, ' ') }
    },
  )
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** The number of odd passages in each room: `comments of src/cli`, and so on. */
export function oddTexts(
  files: readonly SourceFile[],
  documents: readonly Document[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const count = (kind: string, passages: readonly Passage[]): void => {
    for (const { path, text } of passages) {
      if (oddities(text).length === 0) continue
      const room = kind === 'documents' ? path : path.split('/').slice(0, 2).join('/')
      const name = `${kind} of ${room}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  for (const file of files) {
    if (!file.path.startsWith('scripts/')) count('comments', commentsOf(file))
    if (file.path.startsWith('src/')) count('texts', textsOf(file))
    if (file.path.startsWith('test/')) count('names', testNamesOf(file))
  }
  for (const document of documents) count('documents', paragraphsOf(document))
  return counts
}

/** An allowance only shrinks: a pass over a room lowers it. */
export const allowances: Readonly<Record<string, number>> = {
  'comments of .ci/summary.mjs': 1,
  'comments of docs/recipes': 16,
  'comments of src/cli': 6,
  'comments of src/disk': 1,
  'comments of src/format': 9,
  'comments of src/git': 11,
  'comments of src/keys': 3,
  'comments of src/store': 20,
  'comments of src/text': 3,
  'comments of vitest.config.ts': 2,
  'documents of docs/CLI.md': 4,
  'documents of docs/FORMAT.md': 2,
}
