// Versions on the command line: how `log`, `show` and lists print one.

import { timestamp } from '../../operations/wire.ts'
import type { VersionGroup } from '../../store/history/timeline.ts'
import type { Version } from '../../store/history/versions.ts'
import { countHidden } from '../../text/visible.ts'
import type { Context } from '../call/command.ts'
import type { Ink } from '../terminal/ink.ts'
import { deviceText, type DeviceNames } from './device-text.ts'
import { type Column, idColumn } from './table.ts'
import { ageText, findNow, localTime, timeAgo } from './times.ts'

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

/** A list of versions, a line for each; `live` are the ids of those that memories hold now. */
export function versionColumns(
  context: Context,
  ink: Ink,
  live: ReadonlySet<string> = new Set(),
): readonly Column<Version>[] {
  return [
    { head: 'PATH', cell: pathText, cut: 'beginning', weight: 2 },
    {
      head: 'CHANGE',
      cell: changeOf,
      paint: (shown, { operation }) => ink.paint(operationColours[operation], shown),
    },
    ...(live.size === 0 ? [] : [currentColumn(live)]),
    ...authorColumns(context, (version: Version) => version),
    {
      head: 'REASON',
      cell: ({ reason = '' }) => reason.replace(/\n[^]*/, ''),
      exact: ({ reason = '' }) => reason,
      cut: 'end',
    },
    idColumn(({ versionId }) => versionId),
  ]
}

function currentColumn(live: ReadonlySet<string>): Column<Version> {
  return { head: 'NOW', cell: ({ versionId }) => (live.has(versionId) ? 'current' : '') }
}

/** The author of a version, and its time. */
export type WrittenBy = Pick<Version, 'createdAt' | 'placedAt' | 'createdBy' | 'session'>

/** The author and the time of a version. The user and the session are apart in a pipe. */
export function authorColumns<Row>(
  context: Context,
  of: (row: Row) => WrittenBy,
  paint?: Column<Row>['paint'],
): readonly Column<Row>[] {
  const now = findNow(context)
  const exactAuthor = (row: Row): string => authorText(of(row))
  return [
    { head: 'BY', cell: (row) => shortAuthor(of(row)), exact: exactAuthor, cut: 'end', paint },
    { head: 'SESSION', cell: () => '', exact: (row) => of(row).session ?? '' },
    { head: 'WHEN', cell: (row) => shortDate(of(row), now), paint },
  ]
}

/** The session, which tells agents apart, or else the user. */
function shortAuthor({ createdBy, session }: WrittenBy): string {
  return session ?? createdBy?.id ?? 'not recorded'
}

/** A remark about the marks of `authorColumns`, if there are any. */
export function doubtfulNote(versions: readonly WrittenBy[]): string | undefined {
  if (versions.every(({ placedAt }) => placedAt === undefined)) return undefined
  return '? the clock of the device was wrong: the time is that of later versions'
}

export const operationColours = { created: 'green', modified: 'cyan', deleted: 'red' } as const

/** The operation; a move is one where the memory has got another path. */
function changeOf({ operation, movedFrom }: Version): Version['operation'] | 'moved' {
  return movedFrom === undefined ? operation : 'moved'
}

function pathText({ path, movedFrom }: Version): string {
  if (path === undefined) return '(redacted)'
  return movedFrom === undefined ? path : `${movedFrom} => ${path}`
}

function authorText({ createdBy }: WrittenBy): string {
  return createdBy === undefined ? 'not recorded' : `${createdBy.type}:${createdBy.id}`
}

function redactionLines({ redactedAt, redactedBy }: Version, now: number | undefined): string[] {
  if (redactedAt === undefined) return []
  const by = redactedBy === undefined ? '' : ` by ${redactedBy.type}:${redactedBy.id}`
  return [`Redacted: ${exactDate(redactedAt, now)}${by}`]
}

/** Relative if `now` is given. The time placed by later versions replaces a doubtful one. */
function shortDate({ createdAt, placedAt }: WrittenBy, now: number | undefined): string {
  const time = placedAt ?? createdAt
  const text = now === undefined ? timestamp(time) : ageText(time, now)
  return placedAt === undefined ? text : `${text}?`
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

/** `+3 ~2 -1`: memories created, modified and deleted. */
export function countsText({
  created,
  modified,
  deleted,
}: Pick<VersionGroup, 'created' | 'modified' | 'deleted'>): string {
  const counts = Object.entries({ '+': created, '~': modified, '-': deleted })
  return counts.flatMap(([sign, count]) => (count === 0 ? [] : [sign + String(count)])).join(' ')
}
