// T32: concurrent keyrings are joined by an owner of both and as FORMAT §7.2 defines. A join
// readmits no removed device, keeps no epoch, and admits no device that a removed owner has added.

import { beforeAll, describe, expect, test } from 'vitest'
import { compareBytes } from '../../src/bytes.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { fields, type JoinPlan, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import {
  admit,
  change,
  type Clones,
  inLeft,
  inRight,
  ofB,
  removeDevice,
  standardClones,
  united,
  withDevice,
} from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
let third: Identity
let newcomer: Identity
beforeAll(async () => {
  const first = await standardClones('joined keyrings')
  const { left } = first()
  third = await left.join('owner')
  newcomer = await generateIdentity(left.random)
  clones = () => ({ ...first(), left: left.fork(), right: left.fork() })
})

/** Makes two sides until the left one is that parent of a join: the hashes decide. */
function withLeftAs(place: 'first' | 'second', make: () => Clones): Clones {
  const world = make()
  const hashOf = ({ entries }: Forge): Uint8Array => entries.at(-1)?.hash ?? new Uint8Array(0)
  const isFirst = compareBytes(hashOf(world.left), hashOf(world.right)) < 0
  return isFirst === (place === 'first') ? world : withLeftAs(place, make)
}

/** On the left the founder removes the writer, on the right the second owner admits somebody. */
function apart(): Clones {
  // The first parent of a join is the first to refuse its author.
  return withLeftAs('first', () => {
    const world = clones()
    removeDevice(world.left, world.writer)
    admit(world.right, newcomer, world.second)
    return world
  })
}

describe('accepted: a join', () => {
  test.each<[name: string, forging: (world: Clones) => Forge]>([
    [
      'of a removal and an admission, and a change on top by who was admitted',
      ({ left, right }) => {
        left.joinWith(right)
        left.change([inLeft], { author: newcomer })
        return left
      },
    ],
    [
      'by another owner of both',
      ({ left, right }) => {
        left.joinWith(right, { fault: { author: third } })
        return left
      },
    ],
    [
      'with rows of what both sides changed',
      ({ left, right, second }) => {
        left.change([inLeft])
        right.change([inRight, ofB], { author: second })
        left.joinWith(right, { rows: [united], fault: { author: third } })
        left.change([ofB], { author: third })
        return left
      },
    ],
    [
      'of joins by two owners at once',
      ({ left, right }) => {
        const [mine, yours] = [left.fork(), right.fork()]
        mine.joinWith(right)
        yours.joinWith(left, { fault: { author: third } })
        mine.change([ofB])
        mine.joinWith(yours, { fault: { author: third } })
        mine.change([{ ...ofB, content: 'beta 3\n' }], { author: third })
        return mine
      },
    ],
    [
      'whose keyring is replaced and kept as any other',
      ({ left, right, reader }) => {
        left.joinWith(right)
        left.keyring((next) => next)
        removeDevice(left, reader)
        return left
      },
    ],
    [
      'that a merge takes up as the later keyring',
      ({ left, right, second }) => {
        const behind = right.fork()
        behind.change([ofB], { author: newcomer })
        left.joinWith(right, { fault: { author: third } })
        left.change([inLeft])
        behind.merge(left, [], { author: second })
        return behind
      },
    ],
  ])('%s', { tags: 'slow' }, async (_, forging) => {
    expect(await verdicts(forging(apart()))).toEqual(accepted)
  })
})

/** A forged join of the removal and the admission, by the founder unless told otherwise. */
type Joining = (world: Clones) => JoinPlan

describe('T32: a join is refused', { tags: 'slow' }, () => {
  test.each<[code: string, name: string, joining: Joining]>([
    ['record_role', 'by a writer', ({ reader }) => ({ fault: { author: reader } })],
    ['record_role', 'by a writer whom one side has', () => ({ fault: { author: newcomer } })],
    ['record_device', 'by a writer whom one side removed', ({ asWriter }) => ({ fault: asWriter })],
    [
      'keyring_chain',
      'that brings a removed device back',
      ({ writer }) => ({
        directory: (next) => ({ ...withMember(next, writer, 'writer'), removed: [] }),
      }),
    ],
    [
      'keyring_chain',
      'that leaves a device out',
      () => ({
        directory: (next) => ({
          ...next,
          devices: next.devices.filter(({ deviceId }) => deviceId !== newcomer.deviceId),
        }),
      }),
    ],
    [
      'keyring_chain',
      'that raises a role',
      ({ reader }) => ({
        directory: (next) => withDevice(next, reader.deviceId, { role: 'owner' }),
      }),
    ],
    [
      'keyring_chain',
      'that gives a device another X-Wing key',
      ({ reader }) => ({
        directory: (next) => {
          return withDevice(next, reader.deviceId, { kemKey: newcomer.kem.publicKey })
        },
      }),
    ],
    [
      'keyring_chain',
      'that drops a recovery key',
      () => ({
        directory: (next) => {
          const gone = next.recovery.map(({ slotId }) => slotId)
          return { ...next, recovery: [], gone }
        },
      }),
    ],
    [
      'keyring_chain',
      'that names its predecessors in the other order',
      () => ({ directory: (next) => ({ ...next, previous: next.previous.toReversed() }) }),
    ],
    [
      'keyring_chain',
      'that follows one side only',
      () => ({ directory: (next) => ({ ...next, previous: next.previous.slice(0, 1) }) }),
    ],
    [
      'keyring_chain',
      'whose archives lack an epoch of one side',
      ({ left }) => ({
        older: (epochs) => epochs.filter(({ kid }) => kid !== left.epoch.kid),
      }),
    ],
    [
      'keyring_chain',
      'whose archives have another order',
      () => ({ older: (epochs) => epochs.toReversed() }),
    ],
    [
      'keyring_chain',
      'that keeps the epoch of one side',
      ({ left }) => ({
        epoch: left.epoch,
        older: (epochs) => epochs.filter(({ kid }) => kid !== left.epoch.kid),
      }),
    ],
    [
      'record_epoch',
      'sealed under an epoch of before',
      ({ left }) => ({ fault: { epoch: left.epoch } }),
    ],
    [
      'record_keyring',
      'that names the keyring of the second parent',
      ({ left, right }) => {
        const records = [left.keyringRecord, right.keyringRecord]
        return {
          fault: {
            record: (record) => {
              const other = records.find((one) => one.join() !== record.keyring.join())
              return { ...record, keyring: other ?? record.keyring }
            },
          },
        }
      },
    ],
    [
      'keyring_mismatch',
      'that names another directory number',
      () => ({ fault: fields({ directoryNumber: 99 }) }),
    ],
  ])('%s: %s', async (code, _, joining) => {
    const world = apart()
    world.left.joinWith(world.right, joining(world))
    expect(await verdicts(world.left)).toEqual(refused(code))
  })

  test.each<[code: string, name: string, forging: (world: Clones) => Forge]>([
    [
      'keyring_conflict',
      'for which a merge stands',
      ({ left, right }) => {
        const { epochs } = left
        left.merge(right)
        left.epochs = new Map([...epochs, ...right.epochs])
        return left
      },
    ],
    [
      'row_missing',
      'without a row for what both sides changed',
      ({ left, right, second }) => {
        left.change([inLeft])
        right.change([inRight], { author: second })
        left.joinWith(right)
        return left
      },
    ],
    [
      'record_late',
      'of what a removed owner admitted',
      ({ left, right, second }) => {
        removeDevice(left, second)
        left.joinWith(right)
        return left
      },
    ],
    [
      'record_late',
      'of the same with a change on top by who was let in',
      ({ left, right, second }) => {
        removeDevice(left, second)
        right.change([ofB], { author: newcomer })
        left.joinWith(right)
        return left
      },
    ],
    [
      'record_late',
      'of a role that a removed owner raised',
      () => {
        const { left, right, second, reader } = clones()
        removeDevice(left, second)
        change(right, reader, { role: 'owner' }, second)
        left.joinWith(right)
        return left
      },
    ],
    [
      'record_late',
      'of a side that a keyring record heads whose author is out',
      () => {
        const { left, right, reader, second } = clones()
        removeDevice(left, second)
        removeDevice(right, reader, { author: second })
        left.joinWith(right)
        return left
      },
    ],
    [
      'record_late',
      'of owners who removed each other, by a third one',
      () => {
        const { left, right, second } = clones()
        removeDevice(left, second)
        removeDevice(right, left.founder, { author: second })
        left.joinWith(right, { fault: { author: third } })
        return left
      },
    ],
    [
      'record_late',
      'of what a removed owner changed below a keyring record that gives nothing',
      () => {
        const { left, right, second } = clones()
        removeDevice(left, second)
        right.change([ofB], { author: second })
        right.keyring((next) => next, { fault: { author: second }, epoch: right.newEpoch() })
        left.joinWith(right)
        return left
      },
    ],
    [
      'device_forked',
      'by a device that wrote on both sides',
      ({ left, right }) => {
        right.change([ofB])
        left.joinWith(right)
        return left
      },
    ],
  ])('%s: a join %s', async (code, _, forging) => {
    expect(await verdicts(forging(apart()))).toEqual(refused(code))
  })
})

describe('T32: on whichever side, a join is refused', () => {
  const places = ['first', 'second'] as const

  test.each(places)(
    'record_device: by a device that its %s parent removed',
    { tags: 'slow' },
    async (place) => {
      const { left, right, second } = withLeftAs(place, () => {
        const world = clones()
        removeDevice(world.left, world.second)
        admit(world.right, newcomer, third)
        return world
      })
      left.joinWith(right, { fault: { author: second } })
      expect(await verdicts(left)).toEqual(refused('record_device'))
    },
  )

  test.each(places)('record_late: as its %s parent', { tags: 'slow' }, async (place) => {
    const { left, right } = withLeftAs(place === 'first' ? 'second' : 'first', () => {
      const world = apart()
      world.right.change([ofB], world.asWriter)
      return world
    })
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test.each([
    ['first', 'second'],
    ['second', 'first'],
  ] as const)(
    'record_late: of what its %s parent admits by who is a writer on the %s',
    { tags: 'slow' },
    async (_, place) => {
      const { left, right } = withLeftAs(place, () => {
        const world = clones()
        change(world.left, world.second, { role: 'writer' })
        admit(world.right, newcomer, world.second)
        return world
      })
      left.joinWith(right)
      expect(await verdicts(left)).toEqual(refused('record_late'))
    },
  )
})
