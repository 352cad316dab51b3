// T32: a device that one side has made an owner, in a clone that did not know of the other side,
// admits devices with effect, unless the other side revoked that right. FORMAT §7.2.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import type { Forge } from '../support/forge.ts'
import {
  admit,
  change,
  type Clones,
  removeDevice,
  standardClones,
} from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
let newcomer: Identity
beforeAll(async () => {
  clones = await standardClones('raised owners')
  newcomer = await generateIdentity(clones().left.random)
})

describe('a device that one side has made an owner', () => {
  /** Made one on the right, where it lets somebody in. */
  function made(onLeft: (world: Clones) => void, raise: (world: Clones) => void = byOwner): Forge {
    const world = clones()
    const { left, right, reader } = world
    onLeft(world)
    raise(world)
    admit(right, newcomer, reader)
    left.joinWith(right)
    return left
  }

  function byOwner({ right, reader, second }: Clones): void {
    change(right, reader, { role: 'owner' }, second)
  }

  test('has admitted devices with effect', { tags: 'slow' }, async () => {
    const forge = made(({ left, writer }) => removeDevice(left, writer))
    expect(await verdicts(forge)).toEqual(accepted)
  })

  test('has so too if new owners have raised it in steps', { tags: 'slow' }, async () => {
    const forge = made(
      ({ left }) => left.keyring((next) => next, { epoch: left.newEpoch() }),
      ({ right, reader, writer, second }) => {
        change(right, writer, { role: 'owner' }, second)
        change(right, reader, { role: 'writer' }, writer)
        change(right, reader, { role: 'owner' }, writer)
      },
    )
    expect(await verdicts(forge)).toEqual(accepted)
  })

  test.each<[name: string, onLeft: (world: Clones) => void]>([
    ['has lowered its role', ({ left, reader }) => change(left, reader, { role: 'auditor' })],
    ['has removed it', ({ left, reader }) => removeDevice(left, reader)],
    ['has removed who did', ({ left, second }) => removeDevice(left, second)],
    ['has lowered who did', ({ left, second }) => change(left, second, { role: 'writer' })],
  ])('record_late: has admitted nobody if the other side %s', async (_, onLeft) => {
    expect(await verdicts(made(onLeft))).toEqual(refused('record_late'))
  })
})
