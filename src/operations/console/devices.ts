// The members of the store and their rights.

import { z } from 'zod'
import type { SecretsReplaced } from '../../store/devices/device-changes.ts'
import type { EndingGrant } from '../../store/devices/ending-grants.ts'
import type { ListedDevice } from '../../store/report/access-events.ts'
import { managing, reading, short } from './operation.ts'

const DEVICES_MAX = 250
const CARD_LENGTH_MAX = 65_536

const role = z.enum(['owner', 'writer', 'reader', 'auditor'])

export const devicesOperations = {
  'devices.list': reading(
    {},
    async ({ store, work }): Promise<{ readonly devices: readonly ListedDevice[] }> => ({
      devices: await store.devices.list(work),
    }),
  ),

  /** The grants that a removal, or else a new role, would end. */
  'devices.endsGrants': reading(
    { deviceId: short, role: role.optional() },
    async (
      { store },
      { deviceId, role: given },
    ): Promise<{ readonly grants: readonly EndingGrant[] }> => ({
      grants: await store.grants.endedBy(
        given === undefined ? { removed: [deviceId] } : { roles: new Map([[deviceId, given]]) },
      ),
    }),
  ),

  'devices.add': managing(
    'the addition of devices',
    {
      card: z.string().max(CARD_LENGTH_MAX),
      role,
      fingerprint: short,
      name: short.optional(),
    },
    async ({ writer, remoteAccess: access }, { card, role: given, fingerprint, name }) => {
      const options = { fingerprint, access, ...(name !== undefined && { name }) }
      const { deviceId, pending } = await writer().devices.add(card, given, options)
      return { deviceId, pending: pending?.message }
    },
  ),

  'devices.changeRole': managing(
    'the change of roles',
    { deviceId: short, role },
    async ({ writer, remoteAccess: access }, { deviceId, role: given }) => {
      const changed = await writer().devices.changeRole(deviceId, given, { access })
      const { commit, pending, endsGrants } = changed
      return { commit, endsGrants, pending: pending?.message }
    },
  ),

  'devices.rename': managing(
    'the naming of devices',
    { deviceId: short, name: short },
    async ({ writer, remoteAccess: access }, { deviceId, name }) => {
      const { commit, pending } = await writer().devices.rename(deviceId, name, { access })
      return { commit, pending: pending?.message }
    },
  ),

  'devices.remove': managing(
    'the removal of devices',
    {
      deviceIds: z.array(short).min(1).max(DEVICES_MAX).readonly(),
      passphrase: short.optional(),
      recoveryKey: z.boolean().optional(),
    },
    async ({ writer, remoteAccess: access }, { deviceIds, passphrase, recoveryKey }) => {
      const replaced: SecretsReplaced = {
        ...(passphrase !== undefined && { passphrase }),
        ...(recoveryKey === true && { recoveryKey }),
      }
      const removed = await writer().devices.remove(deviceIds, { ...replaced, access })
      const { passphrases, recoveryKeys } = removed.knownSecrets
      return {
        recoveryKey: removed.recoveryKey,
        pending: removed.pending?.message,
        endsGrants: removed.endsGrants,
        knownSecrets: [
          ...(passphrases > 0 ? ['passphrase' as const] : []),
          ...(recoveryKeys > 0 ? ['recovery key' as const] : []),
        ],
      }
    },
  ),
}
