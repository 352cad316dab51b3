// The devices that a sync brought: whoever uses the store learns who can read it from now on. Pure.

import type { AdmittedBy, Directory, Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'

/** A device that was enrolled or added elsewhere. */
export interface NewDevice {
  /** `dev_…` */
  readonly deviceId: string
  /** FORMAT §1.5: for people, may be empty. */
  readonly name: string
  readonly role: Role
  /** An owner, or who knew a recovery key or the passphrase. */
  readonly admittedBy: AdmittedBy
}

type Devices = Pick<Directory, 'devices'>

/** The active devices of `after` that were none in `before`, but for this one. */
export function findNewDevices(
  before: Devices,
  after: Devices,
  thisDevice: string,
): readonly NewDevice[] {
  const known = new Set([thisDevice, ...before.devices.map(({ deviceId }) => deviceId)])
  return after.devices
    .filter(({ deviceId }) => !known.has(deviceId))
    .map(({ deviceId, name, role, admittedBy }) => {
      return { deviceId: formatId('device', deviceId), name, role, admittedBy }
    })
}
