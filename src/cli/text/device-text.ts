// A device as it is shown everywhere: by its name, for people, and by its id, which alone
// identifies it.

import type { AuditEntry } from '../../store/audit/audit-trail.ts'
import type { Device } from '../../store/devices/devices.ts'
import { listReportedDevices, type ReportedDevice } from '../../store/report/access-events.ts'
import { shortId } from './words.ts'

/** The names of devices by their ids, `dev_…`. */
export type DeviceNames = ReadonlyMap<string, string>

/** `anna-laptop (dev_…)`, or the id alone. */
export function deviceText(deviceId: string, name: string | undefined): string {
  return name === undefined || name === '' ? deviceId : `${name} (${deviceId})`
}

/** In a column, for each id: the name if only one has it, else the beginning of the id. */
export function shortDeviceTexts(deviceIds: Iterable<string>, names: DeviceNames): DeviceNames {
  const all = [...new Set(deviceIds)].map((id) => [id, names.get(id) ?? ''] as const)
  const isOfOne = (name: string): boolean => all.filter(([, other]) => other === name).length === 1
  return new Map(
    all.map(([id, name]) => [id, name !== '' && isOfOne(name) ? name : shortId(id)] as const),
  )
}

/** Of this device, for the answer of a command that has made it one. */
export function nameLines(name: string | undefined): readonly string[] {
  return name === undefined || name === '' ? [] : [`  Name         ${name}`]
}

/** For a device that has just joined, if another active one has the same name. */
export function namesakeLines(
  joined: { readonly deviceId: string; readonly deviceName: string | undefined },
  devices: Iterable<Pick<Device | ReportedDevice, 'deviceId' | 'name' | 'removed'>>,
): readonly string[] {
  const { deviceId, deviceName = '' } = joined
  const isNamesake = [...devices].some((one) => {
    return one.name === deviceName && one.deviceId !== deviceId && one.removed === undefined
  })
  if (deviceName === '' || !isNamesake) return []
  return [
    '',
    `Another device is called ${deviceName} too. An owner changes that with`,
    '`gitlocket device rename`; --name chooses another name from the start.',
  ]
}

/** The newest names in a verified trail. */
export function namesInTrail(entries: readonly AuditEntry[]): DeviceNames {
  return new Map(listReportedDevices(entries).map(({ deviceId, name }) => [deviceId, name]))
}
