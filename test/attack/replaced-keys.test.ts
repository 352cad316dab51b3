// T32: an owner who knows a device or recovery key that was added on the other side, and adds it
// concurrently with keys of its own, does not replace it by the join. FORMAT §7.2.

import { beforeAll, describe, expect, test } from 'vitest'
import { type Directory, findDevice, findRemoved } from '../../src/format/directory.ts'
import { zeroHash } from '../../src/format/record.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { type ForgedAuthor, type JoinPlan, withKem, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import {
  type Clones,
  ofB,
  removeDevice,
  standardClones,
  withDevice,
} from '../support/forged-clones.ts'
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
    admit(right, withKem(newcomer, second.kem), second)
    const { storeId } = left
    left.keyring((next) => withRecovery(storeId, next, slotId, 1))
    right.keyring((next) => withRecovery(storeId, next, slotId, 2), { fault: { author: second } })
    return { ...world, slotId }
  }

  test('takes no place: the device is removed and the slot gone', { tags: 'slow' }, async () => {
    const { left, right, slotId } = forged()
    left.joinWith(right)
    const { deviceId } = newcomer
    expect(findDevice(left.directory, deviceId)).toBeUndefined()
    const none = { sequence: 0, record: zeroHash }
    const removed = { deviceId, removed: left.directory.number, ...none }
    expect(findRemoved(left.directory, deviceId)).toEqual(removed)
    expect(left.directory.recovery.some((one) => one.slotId === slotId)).toBe(false)
    expect(left.directory.gone).toEqual([slotId])
    expect(await verdicts(left)).toEqual(accepted)
    left.change([ofB], { author: newcomer })
    expect(await verdicts(left)).toEqual(refused('record_device'))
  })

  test.each<[string, JoinPlan['directory']]>([
    ['the device with one key', (next, first) => withNewcomerOf(next, first)],
    ['the device with the other key', (next, _first, second) => withNewcomerOf(next, second)],
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

  test('record_device: joins nothing as one that the join removes', async () => {
    const { left, right, second } = clones()
    left.keyring((next) => withMember(next, newcomer, 'owner'))
    removeDevice(left, left.founder, { author: newcomer })
    const forgery = withKem(newcomer, second.kem)
    const fault = { author: second }
    right.keyring((next) => withMember(next, forgery, 'owner'), { fault })
    const lowered = (next: Directory) => withDevice(next, second.deviceId, { role: 'writer' })
    right.keyring(lowered, { fault, epoch: right.newEpoch() })
    // Both who let it in are owners for the other side; of the three none is one in the join.
    left.joinWith(right, { fault: { author: newcomer } })
    expect(await verdicts(left)).toEqual(refused('record_device'))
  })
})

/** With the device as one side has it, and not as removed. */
function withNewcomerOf(next: Directory, side: Directory): Directory {
  const { deviceId } = newcomer
  const devices = side.devices.filter((one) => one.deviceId === deviceId)
  return {
    ...next,
    devices: [...next.devices, ...devices].toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1)),
    removed: next.removed.filter((one) => one.deviceId !== deviceId),
  }
}

function withRecovery(
  storeId: string,
  directory: Directory,
  slotId: string,
  secret: number,
): Directory {
  const { signing, kem } = recoveryKeyIdentity(storeId, new Uint8Array(32).fill(secret))
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
