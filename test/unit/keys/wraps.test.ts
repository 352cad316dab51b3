// Wraps of a device: how many are shown, and who opens which. Their faults are vectors.

import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign, signingKeyPair } from '../../../src/crypto/signature.ts'
import { epochKeys } from '../../../src/keys/epoch.ts'
import {
  decodeWraps,
  type GrantKeys,
  grantKeysOf,
  grantOf,
  makeWraps,
  openWraps,
  type Wraps,
} from '../../../src/keys/wraps.ts'
import { wrapsMax } from '../../../src/limits.ts'
import { countingRandom, idOf } from '../../support/forge-seal.ts'

const random = countingRandom('wraps')
const pair = signingKeyPair(random(32))
const device = { localSecret: random(32), signing: pair }
const [storeId, seed] = [idOf('store'), idOf('seed')]
const epoch = epochKeys(seed, random(32), random(32))

function keysOf(number: number, store: string = storeId): GrantKeys {
  return grantKeysOf(grantOf(device, store, number))
}

const five = Array.from({ length: 5 }, (_, number) => keysOf(number))

function blobOf(grants: readonly GrantKeys[], of = epoch): Uint8Array {
  return makeWraps(of, grants, { storeId, pair, random })
}

function wrapsOf(grants: readonly GrantKeys[], of = epoch): Wraps {
  return decodeWraps(blobOf(grants, of))
}

describe('wraps are shown by fours, eights and so on', () => {
  test.each([
    [0, 4],
    [1, 4],
    [4, 4],
    [5, 8],
    [8, 8],
    [9, 16],
    [33, 64],
  ])('%i grants as %i', (grants, shown) => {
    const { sealed } = wrapsOf(Array.from({ length: grants }, (_, number) => keysOf(number)))
    expect(sealed).toHaveLength(shown)
  })

  test('as many as the limit, all of them real, and one more is refused', () => {
    // The same keys over again would give one wrap twice.
    const ids = Array.from({ length: wrapsMax + 1 }, (_, at) => idOf(`grant ${at}`))
    const many = ids.map((grantId): GrantKeys => ({ ...keysOf(0), grantId }))
    const last = many[wrapsMax - 1] ?? keysOf(0)
    const wraps = wrapsOf(many.slice(0, wrapsMax))
    expect(wraps.sealed).toHaveLength(wrapsMax)
    expect(openWraps(wraps, pair.publicKey, last)?.kid).toBe(epoch.kid)
    expect(() => blobOf(many)).toThrow(expect.objectContaining({ code: 'change_too_large' }))
  })

  test('in blobs of one length, with one grant or four', () => {
    expect(blobOf(five.slice(0, 1))).toHaveLength(blobOf(five.slice(0, 4)).length)
  })

  test('with decoys of the same shape', () => {
    const { sealed } = wrapsOf(five.slice(0, 2))
    // Magic, suite, type, flags and kid: all that is not random.
    const shapes = new Set(sealed.map((wrap) => `${wrap.length} ${wrap.slice(0, 24).join()}`))
    expect(shapes.size).toBe(1)
  })
})

test('a wrap made again for the same epoch has other bytes, like a random one', () => {
  const all = [wrapsOf(five), wrapsOf(five)].flatMap(({ sealed }) => sealed)
  expect(new Set(all.map((wrap) => toHex(wrap.slice(24)))).size).toBe(all.length)
})

test('each holder opens the own wrap, and gets both keys of the epoch', () => {
  const wraps = wrapsOf(five)
  for (const grant of five) expect(openWraps(wraps, pair.publicKey, grant)).toEqual(epoch)
})

test('the wrap of one grant does not open for another grant, nor for another store', () => {
  const wraps = wrapsOf(five.slice(0, 1))
  expect(openWraps(wraps, pair.publicKey, keysOf(1))).toBeUndefined()
  const foreign = keysOf(0, idOf('other store'))
  expect(() => openWraps(wraps, pair.publicKey, foreign)).toThrow(
    expect.objectContaining({ code: 'device_signature_invalid' }),
  )
})

test('a grant that is left out of the next wraps has no keys in them', () => {
  const next = epochKeys(seed, random(32), random(32))
  const wraps = wrapsOf(five.slice(1, 2), next)
  expect(openWraps(wraps, pair.publicKey, keysOf(0))).toBeUndefined()
  expect(openWraps(wraps, pair.publicKey, keysOf(1))?.kid).toBe(next.kid)
})

test('wraps of an epoch that has passed give no keys under the kid of the next', () => {
  const next = epochKeys(seed, random(32), random(32))
  const header = blobOf([], next).slice(0, 40)
  const body = concatBytes(header, ...wrapsOf(five.slice(0, 1)).sealed)
  const message = concatBytes(label('GLK1/wraps/v1'), fromHex(storeId + seed), hash256(body))
  const wraps = decodeWraps(concatBytes(body, sign(message, pair)))
  expect(wraps.kid).toBe(next.kid)
  expect(openWraps(wraps, pair.publicKey, keysOf(0))).toBeUndefined()
})

test('decodes to the values that were encoded', () => {
  expect(wrapsOf(five)).toMatchObject({ kid: epoch.kid, seed })
})
