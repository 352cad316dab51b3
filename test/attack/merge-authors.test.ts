// T7, T9: a merge accepts nothing that a removed or cloned device wrote without knowing of its
// removal, and does not choose between keyrings. FORMAT §7.2, §7.4, §8.2.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { zeroHash } from '../../src/format/record.ts'
import { fields } from '../support/forge-fault.ts'
import {
  type Clones,
  type Forging,
  inLeft,
  inRight,
  named,
  ofB,
  removeDevice,
  standardClones,
} from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
beforeAll(async () => {
  clones = await standardClones('merge authors')
})

describe('accepted: a merge', () => {
  test.each<[name: string, forging: Forging]>([
    [
      'of a keyring with a new epoch on one side, and a change on the other',
      ({ left, right, asWriter, reader }) => {
        removeDevice(left, reader)
        right.change([inRight], asWriter)
        left.merge(right)
        left.change([ofB])
        return left
      },
    ],
    [
      'of what a removed device wrote before, as the keyring that removes it knows',
      ({ left, right, asWriter, writer, second }) => {
        left.change([inLeft], asWriter)
        const before = left.fork()
        removeDevice(left, writer)
        right.change([ofB], { author: second })
        right.merge(before, [], { author: second })
        left.merge(right)
        return left
      },
    ],
    [
      'of what a removed device wrote late, once another device has built on it',
      ({ left, right, asWriter, writer, second }) => {
        removeDevice(left, writer)
        right.change([inRight], asWriter)
        right.change([ofB], { author: second })
        left.merge(right)
        return left
      },
    ],
    [
      'of two machines with one identity, by another device',
      ({ left, right, asWriter }) => {
        left.change([inLeft])
        right.change([ofB])
        left.merge(right, [], asWriter)
        left.change([inLeft], asWriter)
        return left
      },
    ],
    [
      'of more of what two machines with one identity wrote',
      ({ left, right, asWriter, second }) => {
        left.change([inLeft])
        right.change([ofB])
        const third = right.fork()
        third.change([{ ...ofB, content: 'beta 3\n' }])
        left.merge(right, [], asWriter)
        third.merge(left, [], { author: second })
        return third
      },
    ],
  ])('%s', async (_, forging) => {
    expect(await verdicts(forging(clones()))).toEqual(accepted)
  })
})

describe('T9: a merge is refused', () => {
  test.each<[code: string, name: string, forging: Forging]>([
    [
      'record_keyring',
      'the older keyring',
      ({ left, right, asWriter, reader }) => {
        const { keyringRecord } = right
        removeDevice(left, reader)
        right.change([inRight], asWriter)
        left.merge(right, [], fields({ keyring: keyringRecord }))
        return left
      },
    ],
    [
      'record_epoch',
      'the older epoch',
      ({ left, right, asWriter, reader }) => {
        const { epoch } = right
        removeDevice(left, reader)
        right.change([inRight], asWriter)
        left.merge(right, [], { epoch })
        return left
      },
    ],
    [
      'record_device',
      'an author whom one side has removed',
      ({ left, right, asWriter, writer, second }) => {
        removeDevice(left, writer)
        right.change([inRight], { author: second })
        left.merge(right, [], asWriter)
        return left
      },
    ],
    [
      'record_after_revocation',
      'what a removed device wrote outside the past of the keyring',
      ({ left, right, asWriter, writer }) => {
        removeDevice(left, writer)
        right.change([inRight], asWriter)
        left.merge(right)
        return left
      },
    ],
    [
      'record_after_revocation',
      'the same, with the removal on the side of the second clone',
      ({ left, right, asWriter, writer, second }) => {
        left.change([inLeft], asWriter)
        removeDevice(right, writer)
        right.change([ofB])
        left.merge(right, [], { author: second })
        return left
      },
    ],
    [
      'record_malformed',
      'a keyring record with two parents',
      ({ left, right, asWriter }) => {
        left.change([inLeft])
        right.change([ofB], asWriter)
        const keyring = left.fork()
        keyring.keyring((next) => next)
        const keyringHash = keyring.entries.at(-1)?.record.keyringHash ?? zeroHash
        left.merge(right, [], fields({ kind: 'keyring', keyringHash, directoryNumber: 4 }))
        return left
      },
    ],
    [
      'keyring_conflict',
      'keyrings that know nothing of each other',
      ({ left, right, second }) => {
        left.keyring((next) => next)
        right.keyring((next) => next, { fault: { author: second } })
        left.merge(right)
        return left
      },
    ],
    [
      'device_forked',
      'its author wrote on both sides',
      ({ left, right }) => {
        left.change([inLeft])
        right.change([ofB])
        left.merge(right)
        return left
      },
    ],
    [
      'device_forked',
      'a device that two machines used goes on after it',
      ({ left, right, asWriter }) => {
        left.change([inLeft])
        right.change([ofB])
        left.merge(right, [], asWriter)
        left.change([inLeft])
        return left
      },
    ],
    [
      'device_forked',
      'the same, in a clone that has merged the merge',
      ({ left, right, asWriter, second }) => {
        const third = right.fork()
        left.change([inLeft])
        right.change([ofB])
        left.merge(right, [], asWriter)
        third.settings(named('third'), { author: second })
        third.merge(left, [], { author: second })
        third.change([inLeft])
        return third
      },
    ],
  ])('%s: %s', async (code, _, forging) => {
    expect(await verdicts(forging(clones()))).toEqual(refused(code))
  })
})
