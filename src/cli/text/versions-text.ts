// Versions on the command line: how they are named, and how `log` and `show` print one.

import { StoreError } from '../../errors.ts'
import { timestamp } from '../../operations/wire.ts'
import type { Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countHidden } from '../../text/visible.ts'
import type { Ink } from '../terminal/ink.ts'
import { deviceText, type DeviceNames } from './device-text.ts'
import { localTime, timeAgo } from './times.ts'
import { shortId } from './words.ts'

const PREFIX = 'memver_'
const ID_DIGITS = 26
const SHORTEST = 4
const PAGE_MAX = 1000

/** The full id of a version given by its id or an unambiguous beginning of it. */
export async function resolveVersion(store: MemoryStore, typed: string): Promise<string> {
  const digits = typed.startsWith(PREFIX) ? typed.slice(PREFIX.length) : typed
  if (digits.length === ID_DIGITS) return PREFIX + digits
  if (digits.length < SHORTEST || !/^[0-9a-z]+$/.test(digits)) {
    throw new StoreError(
      'invalid_input',
      `A version is named by its id, or by at least ${SHORTEST} digits of it; \`log\` shows them`,
    )
  }
  const found: string[] = []
  for await (const { versionId } of store.history.versions({ limit: PAGE_MAX })) {
    if (versionId.startsWith(PREFIX + digits)) found.push(versionId)
  }
  if (found[0] === undefined) throw new StoreError('not_found', 'There is no such version')
  if (found.length === 1) return found[0]
  throw new StoreError(
    'invalid_input',
    `${found.length} versions begin with these digits; give more`,
  )
}

/**
 * A version as in git's log: the facts, then the indented reason. Warns if `text`, which is shown
 * below, has hidden characters.
 */
export function versionText(
  ink: Ink,
  version: Version,
  now: number | undefined,
  names: DeviceNames,
  text = '',
): string {
  const { mergedFrom, reason, session } = version
  const lines = [
    `Change:   ${changeOf(version)} ${pathText(version)}`,
    `Actor:    ${authorText(version)}`,
    `Device:   ${deviceText(version.deviceId, names.get(version.deviceId))}`,
    ...(session === undefined ? [] : [`Session:  ${session}`]),
    `Date:     ${dateText(version, now)}`,
    ...(mergedFrom.length === 0 ? [] : [`Merge of: ${mergedFrom.join(' ')}`]),
  ]
  const { label } = countHidden(text)
  const warnings = [
    ...redactionLines(version, now),
    ...(label === undefined ? [] : [`Warning:  ${label}`]),
  ]
  const head = [
    ink.paint('yellow', `version ${version.versionId}`),
    ...lines.map((line) => ink.plain(line)),
    ...warnings.map((line) => ink.paint('red', line)),
    ...(reason === undefined ? [] : ['', ...reason.split('\n').map((line) => `    ${line}`)]).map(
      (line) => ink.plain(line),
    ),
  ]
  return `${head.join('\n')}\n`
}

/** `memver_3k9f0z2c1d  modified  /notes.md  user:alice  2 hours ago` */
export function versionLine(ink: Ink, version: Version, now: number | undefined): string {
  const id = ink.paint('yellow', shortId(version.versionId))
  const date = shortDate(version, now)
  const reason = version.reason === undefined ? '' : `  ${version.reason.split('\n')[0]}`
  const change = ink.paint(operationColours[version.operation], changeOf(version).padEnd(8))
  const rest = `${pathText(version)}  ${authorText(version)}  ${date}${reason}`
  return `${id}  ${change}  ${ink.plain(rest)}\n`
}

const operationColours = { created: 'green', modified: 'cyan', deleted: 'red' } as const

/** The operation; a move is one where the memory has got another path. */
function changeOf({ operation, movedFrom }: Version): Version['operation'] | 'moved' {
  return movedFrom === undefined ? operation : 'moved'
}

function pathText({ path, movedFrom }: Version): string {
  if (path === undefined) return '(redacted)'
  return movedFrom === undefined ? path : `${movedFrom} => ${path}`
}

export function authorText({ createdBy }: Version): string {
  return createdBy === undefined ? 'not recorded' : `${createdBy.type}:${createdBy.id}`
}

function redactionLines({ redactedAt, redactedBy }: Version, now: number | undefined): string[] {
  if (redactedAt === undefined) return []
  const by = redactedBy === undefined ? '' : ` by ${redactedBy.type}:${redactedBy.id}`
  return [`Redacted: ${exactDate(redactedAt, now)}${by}`]
}

/** Relative if `now` is given. The time placed by later versions replaces a doubtful one. */
export function shortDate({ createdAt, placedAt }: Version, now: number | undefined): string {
  const time = placedAt ?? createdAt
  const text = now === undefined ? timestamp(time) : timeAgo(time, now)
  return placedAt === undefined ? text : `${text}, doubtful`
}

/** Local if `now` is given, as it is on a terminal. */
function exactDate(time: number, now: number | undefined): string {
  return now === undefined ? timestamp(time) : localTime(time)
}

/** The time itself, with `now` also relative. */
function dateText(version: Version, now: number | undefined): string {
  const { createdAt, placedAt } = version
  const text = exactDate(createdAt, now)
  if (placedAt !== undefined) {
    return `${text} (doubtful: later versions were written ${exactDate(placedAt, now)})`
  }
  return now === undefined ? text : `${text} (${timeAgo(createdAt, now)})`
}
