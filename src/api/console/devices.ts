// Who may read and write the store.

import { z } from 'zod'
import type { SecretsReplaced } from '../../store/devices/device-changes.ts'
import type { CareApi } from './contract-care.ts'
import { nothing, short } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

const DEVICES_MAX = 250
const CARD_LENGTH_MAX = 65_536

const role = z.enum(['owner', 'writer', 'reader', 'auditor'])

const list: ConsoleOperation<'devices.list'> = {
  name: 'the list of devices',
  effect: 'read',
  input: nothing,
  run: async ({ store, work }) => ({ devices: await store.devices.list(work) }),
}

const add: ConsoleOperation<'devices.add'> = {
  name: 'the addition of devices',
  effect: 'manage',
  input: z.strictObject({
    card: z.string().max(CARD_LENGTH_MAX),
    role,
    fingerprint: short,
    name: short.optional(),
  }),
  run: async ({ writer, remoteAccess: access }, { card, role: given, fingerprint, name }) => {
    const options = { fingerprint, access, ...(name !== undefined && { name }) }
    const { deviceId, pending } = await writer().devices.add(card, given, options)
    return { deviceId, pending: pending?.message }
  },
}

const changeRole: ConsoleOperation<'devices.changeRole'> = {
  name: 'the change of roles',
  effect: 'manage',
  input: z.strictObject({ deviceId: short, role }),
  run: async ({ writer, remoteAccess: access }, { deviceId, role: given }) => {
    const { commit, pending } = await writer().devices.changeRole(deviceId, given, { access })
    return { commit, pending: pending?.message }
  },
}

const rename: ConsoleOperation<'devices.rename'> = {
  name: 'the naming of devices',
  effect: 'manage',
  input: z.strictObject({ deviceId: short, name: short }),
  run: async ({ writer, remoteAccess: access }, { deviceId, name }) => {
    const { commit, pending } = await writer().devices.rename(deviceId, name, { access })
    return { commit, pending: pending?.message }
  },
}

const remove: ConsoleOperation<'devices.remove'> = {
  name: 'the removal of devices',
  effect: 'manage',
  input: z.strictObject({
    deviceIds: z.array(short).min(1).max(DEVICES_MAX),
    passphrase: short.optional(),
    recoveryKey: z.boolean().optional(),
  }),
  run: async ({ writer, remoteAccess: access }, { deviceIds, passphrase, recoveryKey }) => {
    const replaced: SecretsReplaced = {
      ...(passphrase !== undefined && { passphrase }),
      ...(recoveryKey === true && { recoveryKey }),
    }
    const removed = await writer().devices.remove(deviceIds, { ...replaced, access })
    const { passphrases, recoveryKeys } = removed.knownSecrets
    return {
      recoveryKey: removed.recoveryKey,
      pending: removed.pending?.message,
      knownSecrets: [
        ...(passphrases > 0 ? ['passphrase' as const] : []),
        ...(recoveryKeys > 0 ? ['recovery key' as const] : []),
      ],
    }
  },
}

export const devicesOperations: OperationsOf<
  Pick<
    CareApi,
    'devices.list' | 'devices.add' | 'devices.changeRole' | 'devices.rename' | 'devices.remove'
  >
> = {
  'devices.list': list,
  'devices.add': add,
  'devices.changeRole': changeRole,
  'devices.rename': rename,
  'devices.remove': remove,
}
