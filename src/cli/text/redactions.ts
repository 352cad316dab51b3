// Redactions that other devices have not taken over, as text and as JSON: devices that have not
// acknowledged one, and versions that may hold a redacted text.

import { timestamp, type Wire } from '../../operations/wire.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import { visible } from '../../text/visible.ts'
import { deviceText } from './device-text.ts'
import { timeAgo } from './times.ts'
import { wire } from './wire.ts'
import { countText, listOf } from './words.ts'

const cannotBeKnown =
  'These may not write, so that it cannot be known whether they have taken redactions over:'

/**
 * One line for each device, those that cannot acknowledge last; none without devices. With `now`,
 * times are relative.
 */
export function pendingDeviceLines(
  pendingDevices: readonly PendingDevice[],
  now: number | undefined,
): readonly string[] {
  const later = pendingDevices.filter(({ canAcknowledge }) => canAcknowledge)
  const never = pendingDevices.filter(({ canAcknowledge }) => !canAcknowledge)
  return [
    ...(later.length === 0 ? [] : ['Redactions not acknowledged yet, as far as records show, by']),
    ...later.map((device) => `  ${pendingText(device, now)}`),
    ...(never.length === 0 ? [] : [cannotBeKnown]),
    ...never.map((device) => `  ${pendingText(device, now)}`),
  ]
}

/** The lines after an empty one, and with the command that shows them later. */
export function pendingDeviceParagraph(
  pendingDevices: readonly PendingDevice[],
  now: number,
): readonly string[] {
  const lines = pendingDeviceLines(pendingDevices, now)
  if (lines.length === 0) return []
  return ['', ...lines, '`gitlocket device list` shows later which of them have, by newer records']
}

function pendingText(
  { deviceId, name, role, lastRecord }: PendingDevice,
  now: number | undefined,
): string {
  const device = deviceText(deviceId, name)
  if (lastRecord === undefined) return `${device}, ${role}, has written nothing`
  const seen = now === undefined ? timestamp(lastRecord) : timeAgo(lastRecord, now)
  return `${device}, ${role}, last wrote ${seen}`
}

export function pendingDeviceJson(device: PendingDevice): Wire {
  const { deviceId, name, role, lastRecord: lastRecordAt, canAcknowledge } = device
  return wire({ deviceId, name, role, lastRecordAt, canAcknowledge })
}

/** At most this many redacted versions are named in the command. */
const NAMED_MAX = 8

/** None without such versions. */
export function builtOnRedactedLines(found: readonly BuiltOnRedacted[]): readonly string[] {
  if (found.length === 0) return []
  const count = countText(found.length, 'version was', 'versions were')
  const may = found.length === 1 ? 'may hold its text' : 'may hold their texts'
  const lines = found.map(({ versionId, path = '(redacted)' }) => `${versionId}  ${visible(path)}`)
  const redacted = [...new Set(found.flatMap((one) => one.redactedVersionIds))]
  const named = redacted.slice(0, NAMED_MAX).join(' ')
  return [
    `${count} written on redacted ones by devices that did not know of that, and ${may}:`,
    ...listOf(lines).split('\n'),
    `To redact them as well: \`gitlocket redact --with-copies ${named}\``,
  ]
}

export function builtOnRedactedJson(found: BuiltOnRedacted): Wire {
  const { memoryId, versionId, path, redactedVersionIds } = found
  return wire({ memoryId, versionId, path, redactedVersionIds })
}
