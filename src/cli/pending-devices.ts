// Devices that have not acknowledged a redaction yet, as text and as JSON.

import type { PendingDevice } from '../store/redaction/acknowledgement.ts'
import { timeAgo } from './times.ts'
import { timestamp, type Wire, wire } from './wire.ts'

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
    ...later.map((device) => `  ${deviceText(device, now)}`),
    ...(never.length === 0 ? [] : [cannotBeKnown]),
    ...never.map((device) => `  ${deviceText(device, now)}`),
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

function deviceText(
  { deviceId, role, lastRecord }: PendingDevice,
  now: number | undefined,
): string {
  if (lastRecord === undefined) return `${deviceId}, ${role}, has written nothing`
  const seen = now === undefined ? timestamp(lastRecord) : timeAgo(lastRecord, now)
  return `${deviceId}, ${role}, last wrote ${seen}`
}

export function pendingDeviceJson(device: PendingDevice): Wire {
  const { deviceId, role, lastRecord: lastRecordAt, canAcknowledge } = device
  return wire({ deviceId, role, lastRecordAt, canAcknowledge })
}
