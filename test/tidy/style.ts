// The laws of form that no linter here states. oxlint holds the others (.oxlintrc.json: lengths of
// files and functions, default exports, any, cycles), and tidy.test.ts proves that it does.

import { type SourceFile, type Violation, violation } from './source.ts'

const columnsMax = 100

/** An import of one name: nothing in it can begin a line. */
const unbreakable = /^import type \* as \w+ from '[^']+'$/

export function columnLaw(file: SourceFile): Violation[] {
  return file.text.split('\n').flatMap((line, index) => {
    const columns = line.length
    return columns <= columnsMax || unbreakable.test(line)
      ? []
      : [`${file.path}:${index + 1}: ${columns} columns, at most ${columnsMax}`]
  })
}

/** Every file of src/ opens with a comment that names what it owns. */
export function openingLaw(file: SourceFile): Violation[] {
  if (!file.path.startsWith('src/') || /^(?:#!.*\n)?\/\/ \S/.test(file.text)) return []
  return [`${file.path}:1: open with a comment that says what the file owns`]
}

/** A name that could hold anything comes to hold everything. */
export function drawerLaw(file: SourceFile): Violation[] {
  const drawer = file.path.split('/').find((part) => drawers.test(part))
  return drawer === undefined ? [] : [`${file.path}:1: name what is inside, not ${drawer}`]
}

const drawers = /^(?:utils?|helpers?|types?|common|misc|shared)(?:\.|$)/

interface Banned {
  readonly pattern: RegExp
  readonly right: string
  readonly in: 'comments' | 'bare' | 'code'
  /** Paths that begin so; all if absent. */
  readonly within?: string
}

const banned: readonly Banned[] = [
  { pattern: /\b(?:TODO|FIXME|XXX)\b/g, right: 'do it, or open an issue', in: 'comments' },
  { pattern: /@ts-(?:ignore|nocheck)\b/g, right: 'satisfy the compiler', in: 'comments' },
  // Tests may: that something does not compile is a claim to test.
  { pattern: /@ts-expect-error\b/g, right: 'satisfy the compiler', in: 'comments', within: 'src/' },
  {
    pattern: /(?:eslint|oxlint)-(?!disable-next-line [^\n]* -- \w)\w[^\n]*/g,
    right: 'disable one rule for one line, and say why: oxlint-disable-next-line rule -- why',
    in: 'comments',
  },
  {
    pattern: /\b(?:ChatGPT|Copilot|Claude|Codex|Gemini)\b/gi,
    right: 'name no assistant',
    in: 'comments',
  },
  {
    pattern: /\bString\.raw`(?:[^`\\]|\\.)*?\\(?:u(?![\da-f]{4}|\{[\da-f]+\})|x(?![\da-f]{2}))/gis,
    right: 'no half of an escape in a template: Terser refuses it in programs that use the library',
    in: 'code',
    within: 'src/',
  },
  { pattern: /\benum\s+\w+\s*\{/g, right: 'use a union of literals', in: 'bare' },
  {
    pattern: /\b(?:test|it|describe)(?:\.\w+)*\.(?:only|skip|todo)\b/g,
    right: 'run every test; use skipIf(requires(tool).missing) for a missing tool',
    in: 'bare',
  },
]

export function bannedLaw(file: SourceFile): Violation[] {
  return banned
    .filter((rule) => file.path.startsWith(rule.within ?? ''))
    .flatMap((rule) => {
      const text = { bare: file.bare, code: file.uncommented, comments: file.text }[rule.in]
      return [...text.matchAll(rule.pattern)]
        .filter((match) => rule.in !== 'comments' || isComment(file, match.index))
        .map((match) => violation(file, match.index, rule.right))
    })
}

function isComment(file: SourceFile, offset: number): boolean {
  return file.text[offset] !== file.uncommented[offset]
}
