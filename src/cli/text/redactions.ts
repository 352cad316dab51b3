// Redactions that other devices have not taken over, as text and as JSON: devices that have not
// acknowledged one, and versions that may hold a redacted text.

import type { Wire } from '../../operations/wire.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import { type Ink, plainInk } from '../terminal/ink.ts'
import { type Column, idColumn, indentedTable, type TablePlace } from './table.ts'
import { ageFormat, type TimePlace } from './times.ts'
import { wire } from './wire.ts'
import { countText, shortId } from './words.ts'

/** What decides how lists and times are written. */
export type ReportPlace = TablePlace & TimePlace

/** Under a heading; empty without devices. */
export function pendingDevicesText(
  context: ReportPlace,
  ink: Ink,
  devices: readonly PendingDevice[],
  indent = '',
): string {
  if (devices.length === 0) return ''
  const age = ageFormat(context)
  const columns: readonly Column<PendingDevice>[] = [
    { head: 'DEVICE', cell: ({ name }) => name, cut: 'end' },
    { head: 'ROLE', cell: ({ role }) => role },
    {
      head: 'WROTE',
      cell: ({ lastRecord }) => (lastRecord === undefined ? 'never' : age(lastRecord)),
    },
    { head: 'NOTE', cell: (device) => (device.canAcknowledge ? '' : CANNOT_CONFIRM), cut: 'end' },
    idColumn(({ deviceId }) => deviceId),
  ]
  const table = indentedTable(context, ink, devices, columns, `${indent}  `)
  return `${indent}Waiting for confirmation from\n${table}`
}

const CANNOT_CONFIRM = 'cannot confirm: may not write'

/** The same after an empty line, and how a device confirms. */
export function pendingDevicesParagraph(
  context: ReportPlace,
  ink: Ink,
  devices: readonly PendingDevice[],
): string {
  if (devices.length === 0) return ''
  const how =
    'A device erases the text at its next sync, and its first write after that confirms it:\n' +
    '`gitlocket device list` shows which have.\n'
  return `\n${pendingDevicesText(context, ink, devices)}${how}`
}

export function pendingDeviceJson(device: PendingDevice): Wire {
  const { deviceId, name, role, lastRecord: lastRecordAt, canAcknowledge } = device
  return wire({ deviceId, name, role, lastRecordAt, canAcknowledge })
}

/** At most this many redacted versions are named in the command. */
const NAMED_MAX = 8

/** The path and id of each version. */
export function versionsTable(
  context: ReportPlace,
  ink: Ink,
  found: readonly BuiltOnRedacted[],
  indent: string,
): string {
  const columns: readonly Column<BuiltOnRedacted>[] = [
    { head: 'PATH', cell: ({ path = '(redacted)' }) => path, cut: 'beginning' },
    idColumn(({ versionId }) => versionId),
  ]
  return indentedTable(context, ink, found, columns, indent)
}

/** Under a heading, with the command that redacts them; empty without such versions. */
export function builtOnRedactedText(
  context: ReportPlace,
  ink: Ink,
  found: readonly BuiltOnRedacted[],
  indent = '',
): string {
  if (found.length === 0) return ''
  const isExact = !context.environment.terminal.output
  const count = countText(found.length, 'version', 'versions')
  const redacted = [...new Set(found.flatMap((one) => one.redactedVersionIds))]
  const named = redacted.slice(0, NAMED_MAX).map((id) => (isExact ? id : shortId(id)))
  const lines = [
    `${count} may repeat redacted text, written without knowing of the redaction`,
    `Redact them too with \`gitlocket redact --with-copies ${named.join(' ')}\``,
  ]
  const [title = '', next = ''] = lines.map((line) => `${indent}${line}\n`)
  return title + versionsTable(context, ink, found, `${indent}  `) + next
}

/** The same as lines, without colours. */
export function builtOnRedactedLines(
  context: ReportPlace,
  found: readonly BuiltOnRedacted[],
): readonly string[] {
  const text = builtOnRedactedText(context, plainInk, found)
  return text === '' ? [] : [text.trimEnd()]
}

export function builtOnRedactedJson(found: BuiltOnRedacted): Wire {
  const { memoryId, versionId, path, redactedVersionIds } = found
  return wire({ memoryId, versionId, path, redactedVersionIds })
}
