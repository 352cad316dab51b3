// T32: an owner who knows a device or recovery key that was added on the other side, and adds it
// concurrently with keys of its own, does not replace it by the join. FORMAT §7.2.

import { beforeAll, describe, expect, test } from 'vitest'
import type { DeviceEntry, Directory } from '../../src/format/directory.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { type ForgedAuthor, type JoinPlan, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { type Clones, ofB, removeDevice, standardClones } from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
let newcomer: Identity
beforeAll(async () => {
  clones = await standardClones('replaced keys')
  newcomer = await generateIdentity(clones().left.random)
})

describe('T32: an owner who adds apart what the other side has, with keys of its own,', () => {
  /** The founder admits a device and a recovery key on the left; both are forged on the right. */
  function forged(): Clones & { readonly slotId: string } {
    const world = clones()
    const { left, right, second } = world
    const slotId = 'ab'.repeat(16)
    admit(left, newcomer, left.founder)
    admit(right, { ...newcomer, kem: second.kem }, second)
    left.keyring((next) => withRecovery(next, slotId, 1))
    right.keyring((next) => withRecovery(next, slotId, 2), { fault: { author: second } })
    return { ...world, slotId }
  }

  test('takes no place: the device is removed and the slot gone', { tags: 'slow' }, async () => {
    const { left, right, slotId } = forged()
    left.joinWith(right)
    const device = left.directory.devices.find((one) => one.deviceId === newcomer.deviceId)
    expect(device?.removed).toBe(left.directory.number)
    expect(left.directory.recovery.some((one) => one.slotId === slotId)).toBe(false)
    expect(left.directory.gone).toEqual([slotId])
    expect(await verdicts(left)).toEqual(accepted)
    left.change([ofB], { author: newcomer })
    expect(await verdicts(left)).toEqual(refused('record_device'))
  })

  test.each<[string, JoinPlan['directory']]>([
    ['the device with one key', (next) => withDevice(next, newcomer.deviceId, { removed: 0 })],
    [
      'the device with the other key',
      (next, first, second) => {
        const { kemKey } = next.devices.find((one) => one.deviceId === newcomer.deviceId) ?? {}
        const other = [...first.devices, ...second.devices].find((one) => {
          return one.deviceId === newcomer.deviceId && one.kemKey.join() !== kemKey?.join()
        })
        return { ...next, devices: next.devices.map((one) => withKey(one, other)) }
      },
    ],
    [
      'the recovery key of the one side',
      (next, first) => ({ ...next, recovery: first.recovery, gone: first.gone }),
    ],
    [
      'the recovery key of the other side',
      (next, _first, second) => ({ ...next, recovery: second.recovery, gone: second.gone }),
    ],
  ])(
    'keyring_chain: is refused in a join that keeps %s',
    { tags: 'slow' },
    async (_, directory) => {
      const { left, right } = forged()
      left.joinWith(right, directory === undefined ? {} : { directory })
      expect(await verdicts(left)).toEqual(refused('keyring_chain'))
    },
  )

  test('keyring_chain: is refused if no owner remains', async () => {
    const { left, right, second } = clones()
    left.keyring((next) => withMember(next, newcomer, 'owner'))
    removeDevice(left, left.founder, { author: newcomer })
    const forgery = { ...newcomer, kem: second.kem }
    const fault = { author: second }
    right.keyring((next) => withMember(next, forgery, 'owner'), { fault })
    const lowered = (next: Directory) => withDevice(next, second.deviceId, { role: 'writer' })
    right.keyring(lowered, { fault, epoch: right.newEpoch() })
    // Both who let it in are owners for the other side; of the three none is one in the join.
    left.joinWith(right, { fault: { author: newcomer } })
    expect(await verdicts(left)).toEqual(refused('keyring_chain'))
  })
})

function withKey(one: DeviceEntry, other: DeviceEntry | undefined): DeviceEntry {
  const isIt = one.deviceId === other?.deviceId
  return isIt ? { ...one, kemKey: other.kemKey, removed: 0 } : one
}

function withRecovery(directory: Directory, slotId: string, secret: number): Directory {
  const { signing, kem } = recoveryKeyIdentity(new Uint8Array(32).fill(secret))
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  const recovery = [...directory.recovery, { slotId, type: 'recovery', ...keys } as const]
  return {
    ...directory,
    recovery: recovery.toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1)),
  }
}

function admit(forge: Forge, identity: Identity, author: ForgedAuthor): void {
  forge.keyring((next) => withMember(next, identity, 'writer'), { fault: { author } })
}

function withDevice(directory: Directory, deviceId: string, to: Partial<DeviceEntry>): Directory {
  const devices = directory.devices.map((one) => {
    return one.deviceId === deviceId ? { ...one, ...to } : one
  })
  return { ...directory, devices }
}
