// The sensitive content guard: an optional check of every text before it is sealed, and of names
// and ids, which no redaction can erase, before they are signed. Ignores what a memory already
// contains, so that the rest can be edited and the secret removed. Findings and errors must hold
// none of the text. An owner may let one exact text through, by its hash, which the settings keep
// (FORMAT §5.1).

import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import type { Settings } from '../../format/settings.ts'
import { ownPairsMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Author } from '../commits/commit-context.ts'
import type { ContentGuard, Finding } from '../commits/content-guard.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import type { TextState } from '../history/history-diff.ts'
import type { Secret } from './find-secrets.ts'

export type { ContentGuard, Finding }

/** A text that no redaction erases. */
export interface PermanentText {
  /** Begins the sentence of the error: `The session`. */
  readonly what: string
  readonly text: string
  /** The parameter that holds it, for programs. */
  readonly parameter: string
}

/** A memory after a change; without a content if it is deleted. */
type GuardedRow = Pick<PlannedRow, 'path' | 'content'>

/** The key in a store's metadata that enables `secretGuard` on every device. */
const GUARD_KEY = 'gitlocket_guard'

/** Whether these settings enable `secretGuard`: any value but `off` does. */
export function isGuardOn({ metadata }: Pick<Settings, 'metadata'>): boolean {
  return Object.hasOwn(metadata, GUARD_KEY) && metadata[GUARD_KEY] !== 'off'
}

/** The metadata of a store with the guard on or off. */
export function withGuard(metadata: Settings['metadata'], isOn: boolean): Settings['metadata'] {
  const { [GUARD_KEY]: _, ...others } = metadata
  return isOn ? { ...others, [GUARD_KEY]: 'secrets' } : others
}

/** Begins the key of a pair that lets a text through; the SHA-256 of the text follows. */
const ALLOWED_PREFIX = 'gitlocket_allow_'
/** The other pairs of `gitlocket_*` need some, and a store is better off with few exceptions. */
const ALLOWED_MAX = ownPairsMax - 4

/** The texts that an owner has let through: SHA-256 in hex, sorted. */
export function allowedTexts({ metadata }: Pick<Settings, 'metadata'>): readonly string[] {
  return Object.keys(metadata)
    .filter((key) => key.startsWith(ALLOWED_PREFIX))
    .map((key) => Bytes.from(key.slice(ALLOWED_PREFIX.length), 'base64url').toString('hex'))
    .toSorted()
}

/**
 * The metadata of a store that lets the text with this SHA-256 through, or no longer does. Throws
 * `invalid_input` if the store lets as many texts through as it can.
 */
export function withAllowed(
  metadata: Settings['metadata'],
  sha256: string,
  isAllowed: boolean,
): Settings['metadata'] {
  const key = ALLOWED_PREFIX + Bytes.from(sha256, 'hex').toString('base64url')
  const { [key]: _, ...others } = metadata
  if (!isAllowed) return others
  if (allowedTexts({ metadata: others }).length < ALLOWED_MAX) return { ...others, [key]: '' }
  throw new StoreError(
    'invalid_input',
    `The guard lets at most ${ALLOWED_MAX} texts through: revoke one that is no longer needed`,
    { details: { limit: ALLOWED_MAX } },
  )
}

/** At most this many findings are listed in an error. */
const NAMED_MAX = 10

/** The built-in list: private keys, tokens, passwords in URLs, payment cards. */
export const secretGuard: ContentGuard = async (content, path) => {
  // Loaded for the first text: it is large, and reading needs none of it.
  const { findSecrets } = await import('./find-secrets.ts')
  const inPath = findSecrets(path).map(
    ({ rule, start, end }) => ({ rule, line: 0, range: [start, end] }) as const,
  )
  return [...inPath, ...withLines(findSecrets(content), content)]
}

/** The guard for a write: those given, each once, and `secretGuard` if the settings enable it. */
export function guardOf(
  given: readonly (ContentGuard | undefined)[],
  settings: Pick<Settings, 'metadata'>,
): ContentGuard | undefined {
  const own = given.filter((guard) => guard !== undefined)
  const guards = [...new Set(isGuardOn(settings) ? [secretGuard, ...own] : own)]
  if (guards.length <= 1) return guards[0]
  return async (content, path) =>
    (await Promise.all(guards.map(async (guard) => guard(content, path)))).flat()
}

/** Why a text is refused. */
export interface RefusedText {
  readonly findings: readonly Finding[]
  /** SHA-256 in hex, if an owner could let the text through. */
  readonly sha256: string | undefined
}

/**
 * Throws `sensitive_content` for the first row that would add a finding, also one from an older
 * version. `before` gives the state that a row replaces, if there is one; `allowed` are the hashes
 * of texts that an owner has let through.
 */
export async function checkGuard<Row extends GuardedRow>(
  guard: ContentGuard | undefined,
  rows: readonly Row[],
  before: (row: Row) => TextState | undefined,
  allowed: readonly string[] = [],
): Promise<void> {
  if (guard === undefined) return
  for (const row of rows) {
    if (row.content === undefined) continue
    const after = { path: row.path, content: row.content }
    const refused = await findRefused(guard, after, () => before(row), allowed)
    if (refused !== undefined) throw sensitive(row.path, refused)
  }
}

/** Why this text is refused; undefined if it is not. Throws only what the guard does. */
export async function findRefused(
  guard: ContentGuard,
  after: TextState,
  before: () => TextState | undefined | Promise<TextState | undefined>,
  allowed: readonly string[],
): Promise<RefusedText | undefined> {
  const found = await guard(after.content, after.path)
  if (found.length === 0) return undefined
  const findings = await withoutKnown(guard, { after, found }, await before())
  if (findings.length === 0) return undefined
  const isAllowable = await isOfText(findings, after)
  const sha256 = isAllowable ? sha256OfText(after.content) : undefined
  return sha256 !== undefined && allowed.includes(sha256) ? undefined : { findings, sha256 }
}

/** Throws `sensitive_content` if the guard finds something in the reason, which is stored too. */
export async function checkReason(
  guard: ContentGuard | undefined,
  reason: string | undefined,
): Promise<void> {
  if (guard === undefined || reason === undefined) return
  const found = await guard(reason, '')
  if (found.length === 0) return
  const message = `The reason of the change would hold sensitive content: ${findingsText(found)}`
  throw new StoreError('sensitive_content', message, { details: { parameter: 'reason' } })
}

/** Throws `sensitive_content` for the first of these texts that the guard finds something in. */
export async function checkPermanent(
  guard: ContentGuard | undefined,
  texts: readonly PermanentText[],
): Promise<void> {
  if (guard === undefined) return
  for (const { what, text, parameter } of texts) {
    const found = await guard(text, '')
    if (found.length === 0) continue
    const rules = [...new Set(found.map(({ rule }) => rule))].slice(0, NAMED_MAX).join(', ')
    throw new StoreError(
      'sensitive_content',
      `${what} would hold sensitive content, and can never be erased: ${rules}`,
      { details: { parameter } },
    )
  }
}

/** What the record of a change keeps of its author; the reason is part of the detail. */
export function authorTexts({
  actor,
  session,
}: Pick<Author, 'actor' | 'session'>): PermanentText[] {
  const asActor = { what: 'The id of the actor', text: actor.id, parameter: 'actor' }
  if (session === undefined || session === actor.id) return [asActor]
  return [asActor, { what: 'The session', text: session, parameter: 'session' }]
}

/** The name of a device, which the directory keeps for good. */
export function deviceNameTexts(name: string): PermanentText[] {
  return name === '' ? [] : [{ what: 'The name of the device', text: name, parameter: 'name' }]
}

/** The new texts in settings. */
export function settingsTexts(after: Settings, before?: Settings): PermanentText[] {
  const known = new Map(Object.entries(before?.metadata ?? {}))
  const pairs = Object.entries(after.metadata).filter(([key, value]) => known.get(key) !== value)
  return [
    { what: 'The name of the store', text: after.name, parameter: 'name', was: before?.name },
    {
      what: 'The description of the store',
      text: after.description,
      parameter: 'description',
      was: before?.description,
    },
    // Together, since some secrets are known by their names, and at the start of a line.
    ...pairs.map(([key, value]) => ({
      what: 'The metadata of the store',
      text: `${key}: ${value}\n${value}`,
      parameter: 'metadata',
      was: undefined,
    })),
  ]
    .filter(({ text, was }) => text !== was && text !== '')
    .map(({ what, text, parameter }) => ({ what, text, parameter }))
}

function withLines(secrets: readonly Secret[], content: string): readonly Finding[] {
  let line = 1
  let scanned = 0
  return secrets.map(({ rule, start, end }) => {
    for (; scanned < start; scanned += 1) if (content[scanned] === '\n') line += 1
    return { rule, line, range: [start, end] }
  })
}

/**
 * Whether `secretGuard` alone has these findings, and has them in the text. An owner who lets a
 * text through decides neither about its path nor for the guard of a program.
 */
async function isOfText(findings: readonly Finding[], after: TextState): Promise<boolean> {
  const found = await secretGuard(after.content, '')
  const own = new Set(found.map((finding) => keyOf(finding, after)))
  return findings.every((finding) => own.has(keyOf(finding, after)))
}

/** Removes one finding for each earlier finding of the same text and kind. */
async function withoutKnown(
  guard: ContentGuard,
  { after, found }: { readonly after: TextState; readonly found: readonly Finding[] },
  before: TextState | undefined,
): Promise<readonly Finding[]> {
  if (before === undefined) return found
  const known = new Map<string, number>()
  for (const finding of await guard(before.content, before.path)) {
    const key = keyOf(finding, before)
    known.set(key, (known.get(key) ?? 0) + 1)
  }
  return found.filter((finding) => {
    const key = keyOf(finding, after)
    const remaining = known.get(key) ?? 0
    known.set(key, remaining - 1)
    return remaining <= 0
  })
}

function keyOf({ rule, line, range }: Finding, { path, content }: TextState): string {
  const source = line === 0 ? path : content
  const text = range === undefined ? wholeLine(source, line) : source.slice(...range)
  return JSON.stringify([rule, line === 0, text])
}

function wholeLine(text: string, line: number): string | undefined {
  return line === 0 ? text : text.split('\n')[line - 1]
}

function sensitive(path: string, { findings, sha256 }: RefusedText): StoreError {
  const lines = findings.map(({ line }) => line).filter((line) => line > 0)
  const hash = sha256 === undefined ? {} : { sha256 }
  return new StoreError(
    'sensitive_content',
    `The memory would hold sensitive content: ${findingsText(findings)}`,
    // A path that is itself the secret is not repeated.
    { details: lines.length === findings.length ? { path, lines, ...hash } : { lines } },
  )
}

/** Kinds and places, and none of the text: `private key in line 3`. */
export function findingsText(found: readonly Finding[]): string {
  const named = found.slice(0, NAMED_MAX).map(({ rule, line }) => {
    return line === 0 ? `${rule} in its path` : `${rule} in line ${line}`
  })
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : ''
  return named.join(', ') + more
}
