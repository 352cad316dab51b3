// Versions on the command line: how they are named, and how `log` and `show` print one.

import { StoreError } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { Version, VersionFilter } from '../store/versions.ts'
import { usageError } from './command.ts'
import { timeAgo } from './times.ts'
import { timestamp } from './wire.ts'

const PREFIX = 'memver_'
const ID_DIGITS = 26
/** Digits that `--oneline` shows: ids are random, so these tell millions of versions apart. */
const SHORT_DIGITS = 10
const SHORTEST = 4

/** Every version that matches, newest first, up to `most`. */
export async function* eachVersion(
  store: MemoryStore,
  filter: VersionFilter,
  most: number,
): AsyncGenerator<Version> {
  let left = most
  let after: string | undefined
  while (left > 0) {
    const page = await store.versions({ ...filter, limit: Math.min(left, 1000), after })
    yield* page.versions
    left -= page.versions.length
    after = page.next
    if (after === undefined) return
  }
}

/** The full id of a version given by its id or an unambiguous beginning of it. */
export async function resolveVersion(store: MemoryStore, typed: string): Promise<string> {
  const digits = typed.startsWith(PREFIX) ? typed.slice(PREFIX.length) : typed
  if (digits.length === ID_DIGITS) return PREFIX + digits
  if (digits.length < SHORTEST || !/^[0-9a-z]+$/.test(digits)) {
    throw usageError(
      `A version is named by its id, or by at least ${SHORTEST} digits of it; \`log\` shows them`,
    )
  }
  const found: string[] = []
  for await (const version of eachVersion(store, {}, Number.POSITIVE_INFINITY)) {
    if (version.versionId.startsWith(PREFIX + digits)) found.push(version.versionId)
  }
  if (found[0] === undefined) throw new StoreError('not_found', 'There is no such version')
  if (found.length === 1) return found[0]
  throw usageError(`${found.length} versions begin so; give more digits`)
}

/** As git's log prints a commit: the facts, then the reason, indented. */
export function versionText(version: Version, now: number | undefined): string {
  const lines = [
    `version ${version.versionId}`,
    `Change:   ${version.operation} ${pathText(version)}`,
    `Actor:    ${authorText(version)}`,
    ...(version.session === undefined ? [] : [`Session:  ${version.session}`]),
    `Date:     ${dateText(version.createdAt, now)}`,
    ...redactionLines(version),
  ]
  if (version.reason !== undefined) {
    lines.push('', ...version.reason.split('\n').map((line) => `    ${line}`))
  }
  return `${lines.join('\n')}\n`
}

/** `memver_3k9f0z2c1d  modified  /notes.md  user:alice  2 hours ago` */
export function versionLine(version: Version, now: number | undefined): string {
  const id = version.versionId.slice(0, PREFIX.length + SHORT_DIGITS)
  const date = now === undefined ? timestamp(version.createdAt) : timeAgo(version.createdAt, now)
  const author = authorText(version)
  const reason = version.reason === undefined ? '' : `  ${version.reason.split('\n')[0]}`
  const operation = version.operation.padEnd(8)
  return `${id}  ${operation}  ${pathText(version)}  ${author}  ${date}${reason}\n`
}

function pathText(version: Version): string {
  return version.path ?? '(redacted)'
}

function authorText({ createdBy }: Version): string {
  return createdBy === undefined ? 'not recorded' : `${createdBy.type}:${createdBy.id}`
}

function redactionLines({ redactedAt, redactedBy }: Version): string[] {
  if (redactedAt === undefined) return []
  const by = redactedBy === undefined ? '' : ` by ${redactedBy.type}:${redactedBy.id}`
  return [`Redacted: ${timestamp(redactedAt)}${by}`]
}

/** With `now`, how long ago, too. */
function dateText(time: number, now: number | undefined): string {
  return now === undefined ? timestamp(time) : `${timestamp(time)} (${timeAgo(time, now)})`
}
