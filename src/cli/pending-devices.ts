// Devices that have not shown to have taken over a redaction, in words for people and as values for
// programs.

import type { PendingDevice } from '../store/redaction/acknowledgement.ts'
import { timeAgo } from './times.ts'
import { timestamp } from './wire.ts'

const cannotBeKnown =
  'Of these it cannot be known whether they took redactions over, as they may write nothing:'

/**
 * One line for each device, those that cannot show it last; none without devices. With `now`, when
 * each was last seen in words.
 */
export function pendingDeviceLines(
  pendingDevices: readonly PendingDevice[],
  now: number | undefined,
): readonly string[] {
  const later = pendingDevices.filter(({ canAcknowledge }) => canAcknowledge)
  const never = pendingDevices.filter(({ canAcknowledge }) => !canAcknowledge)
  return [
    ...(later.length === 0 ? [] : ['Redactions not taken over yet, as far as records show, by']),
    ...later.map((device) => `  ${deviceText(device, now)}`),
    ...(never.length === 0 ? [] : [cannotBeKnown]),
    ...never.map((device) => `  ${deviceText(device, now)}`),
  ]
}

/** After a redaction: the same below an empty line, and where to ask again. */
export function pendingDeviceParagraph(
  pendingDevices: readonly PendingDevice[],
  now: number,
): readonly string[] {
  const lines = pendingDeviceLines(pendingDevices, now)
  if (lines.length === 0) return []
  return ['', ...lines, '`gitlocket device list` tells later who has, by what they wrote since']
}

function deviceText(
  { deviceId, role, lastRecord }: PendingDevice,
  now: number | undefined,
): string {
  if (lastRecord === undefined) return `${deviceId}, ${role}, has written nothing`
  const seen = now === undefined ? timestamp(lastRecord) : timeAgo(lastRecord, now)
  return `${deviceId}, ${role}, last wrote ${seen}`
}

export function pendingDeviceJson({
  deviceId,
  role,
  lastRecord,
  canAcknowledge,
}: PendingDevice): Readonly<Record<string, unknown>> {
  return {
    device_id: deviceId,
    role,
    last_record_at: lastRecord === undefined ? null : timestamp(lastRecord),
    can_acknowledge: canAcknowledge,
  }
}
