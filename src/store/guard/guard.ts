// The sensitive content guard: an optional look at every text before it is sealed, that refuses
// what does not belong in a memory. What a memory held before does not count: it must stay possible
// to edit the rest of it and to take the secret out. Findings and errors hold none of the text.

import { StoreError } from '../../errors.ts'
import type { Settings } from '../../format/settings.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { findSecrets } from './secret-patterns.ts'

export interface Finding {
  /** What it looks like, in a few words: `private key`. Shown to the model; none of the text. */
  readonly rule: string
  /** 1-based; 0 if it is in the path. */
  readonly line: number
  /**
   * Where in the content (or the path) it is, in UTF-16 units; without it the whole line counts.
   * Tells a secret that was there before from a new one.
   */
  readonly range?: readonly [start: number, end: number]
}

/**
 * What in a content, or in its path, must not be written. It is asked about the reason of a change
 * too, as a content whose path is empty. Runs while other writers wait; it must depend on its
 * arguments alone. If it throws, nothing is written either.
 */
export type ContentGuard = (
  content: string,
  path: string,
) => readonly Finding[] | Promise<readonly Finding[]>

/** A memory as it was before the change. */
export interface GuardedText {
  readonly path: string
  readonly content: string
}

/** The pair of a store's metadata that turns `secretGuard` on, on every device. */
export const guardMetadataKey = 'gitlocket_guard'

/** Findings that an error names one by one. */
const NAMED_MAX = 10

/** The built-in list: private keys, tokens, passwords in URLs, payment cards. */
export const secretGuard: ContentGuard = (content, path) => [
  ...findSecrets(path).map(
    ({ rule, start, end }) => ({ rule, line: 0, range: [start, end] }) as const,
  ),
  ...withLines(content),
]

/** The guards that a write has to pass: the caller's own and the one of the settings. */
export function guardOf(
  own: ContentGuard | undefined,
  { metadata }: Pick<Settings, 'metadata'>,
): ContentGuard | undefined {
  const wanted = Object.hasOwn(metadata, guardMetadataKey)
  if (!wanted || own === secretGuard) return own
  if (own === undefined) return secretGuard
  return async (content, path) => [
    ...(await secretGuard(content, path)),
    ...(await own(content, path)),
  ]
}

/**
 * Throws `sensitive_content` for the first row that would add what the guard finds; also if it
 * comes from an older version. `before` gives the state that a row replaces, if there is one.
 */
export async function checkGuard(
  guard: ContentGuard | undefined,
  rows: readonly PlannedRow[],
  before: (row: PlannedRow) => GuardedText | undefined,
): Promise<void> {
  if (guard === undefined) return
  for (const row of rows) {
    if (row.content === undefined) continue
    const after = { path: row.path, content: row.content }
    const found = await guard(after.content, after.path)
    if (found.length === 0) continue
    const added = await withoutKnown(guard, { after, found }, before(row))
    if (added.length > 0) throw sensitive(row.path, added)
  }
}

/** Throws `sensitive_content` for a reason that holds what the guard finds: it is stored too. */
export async function checkReason(
  guard: ContentGuard | undefined,
  reason: string | undefined,
): Promise<void> {
  if (guard === undefined || reason === undefined) return
  const found = await guard(reason, '')
  if (found.length === 0) return
  const sentence = `The reason of the change would hold sensitive content: ${namesOf(found)}`
  throw new StoreError('sensitive_content', sentence, { details: { parameter: 'reason' } })
}

function withLines(content: string): readonly Finding[] {
  let line = 1
  let at = 0
  return findSecrets(content).map(({ rule, start, end }) => {
    for (; at < start; at += 1) if (content[at] === '\n') line += 1
    return { rule, line, range: [start, end] }
  })
}

interface Found {
  readonly after: GuardedText
  readonly found: readonly Finding[]
}

/** Each secret that was there before excuses one of the same text and kind. */
async function withoutKnown(
  guard: ContentGuard,
  { after, found }: Found,
  before: GuardedText | undefined,
): Promise<readonly Finding[]> {
  if (before === undefined) return found
  const known = new Map<string, number>()
  for (const finding of await guard(before.content, before.path)) {
    const key = keyOf(finding, before)
    known.set(key, (known.get(key) ?? 0) + 1)
  }
  return found.filter((finding) => {
    const key = keyOf(finding, after)
    const left = known.get(key) ?? 0
    known.set(key, left - 1)
    return left <= 0
  })
}

function keyOf({ rule, line, range }: Finding, { path, content }: GuardedText): string {
  const where = line === 0 ? path : content
  const text = range === undefined ? wholeLine(where, line) : where.slice(...range)
  return JSON.stringify([rule, line === 0, text])
}

function wholeLine(text: string, line: number): string | undefined {
  return line === 0 ? text : text.split('\n')[line - 1]
}

function sensitive(path: string, found: readonly Finding[]): StoreError {
  const lines = found.map(({ line }) => line).filter((line) => line > 0)
  return new StoreError(
    'sensitive_content',
    `The memory would hold sensitive content: ${namesOf(found)}`,
    // A path that is itself the secret is not repeated.
    { details: lines.length === found.length ? { path, lines } : { lines } },
  )
}

function namesOf(found: readonly Finding[]): string {
  const named = found.slice(0, NAMED_MAX).map(({ rule, line }) => {
    return line === 0 ? `${rule} in its path` : `${rule} in line ${line}`
  })
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : ''
  return named.join(', ') + more
}
