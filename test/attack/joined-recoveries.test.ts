// T32: what a recovery identity did on one side of a join counts, unless the other side has dropped
// its entry (FORMAT §7.2). No recovery identity can author a join.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import type { DeviceKeys } from '../../src/format/device-keys.ts'
import { deviceIdOf } from '../../src/format/id.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import {
  asRecovery,
  type Fault,
  type ForgedAuthor,
  withKem,
  withMember,
} from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { admit, type Clones, removeDevice, standardClones } from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
let newcomer: Identity
beforeAll(async () => {
  clones = await standardClones('recoveries in joins')
  newcomer = await generateIdentity(clones().left.random)
})

describe('T32: a recovery key', () => {
  let byRecovery: Fault & { readonly author: ForgedAuthor }
  beforeAll(() => {
    const recoveryKey = recoveryKeyIdentity(clones().left.storeId, new Uint8Array(32).fill(7))
    byRecovery = asRecovery({ slotId: 'aa'.repeat(16) }, recoveryKey)
  })
  const enrol = (forge: Forge, identity: DeviceKeys): void => {
    forge.keyring((next) => withMember(next, identity, 'owner', 'recovery'), { fault: byRecovery })
  }

  test('joins no keyrings', async () => {
    const { left, right, second, writer } = clones()
    removeDevice(left, writer)
    admit(right, newcomer, second)
    left.joinWith(right, { fault: byRecovery })
    expect(await verdicts(left)).toEqual(refused('record_role'))
  })

  test('that is in force on the other side enrols devices with effect', async () => {
    const { left, right, writer } = clones()
    removeDevice(left, writer)
    enrol(right, newcomer)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(accepted)
  })

  test('that its own side has dropped since has enrolled devices with effect', async () => {
    const { left, right, second, writer } = clones()
    removeDevice(left, writer)
    enrol(right, newcomer)
    dropRecovery(right, { author: second })
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(accepted)
  })

  test('record_late: that both sides have dropped has admitted nobody', async () => {
    const { left, right, second } = clones()
    dropRecovery(left)
    enrol(right, newcomer)
    dropRecovery(right, { author: second })
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test.each(['by itself', 'by a device that it admitted'])(
    'record_late: nor does it as a device with the same key, admitted %s',
    async (way) => {
      const { left, right } = clones()
      dropRecovery(left)
      const { signing } = byRecovery.author
      const twin = withKem({ deviceId: deviceIdOf(signing.publicKey), signing }, newcomer.kem)
      if (way === 'by itself') {
        enrol(right, twin)
      } else {
        enrol(right, newcomer)
        right.keyring((next) => withMember(next, twin, 'reader'), { fault: { author: newcomer } })
      }
      left.joinWith(right)
      expect(await verdicts(left)).toEqual(refused('record_late'))
    },
  )

  test('record_late: that was dropped on the other side admits nobody', async () => {
    const { left, right } = clones()
    dropRecovery(left)
    enrol(right, newcomer)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  function dropRecovery(side: Forge, fault: Fault = {}): void {
    side.keyring((next) => ({ ...next, recovery: [] }), { epoch: side.newEpoch(), fault })
  }
})
