// T79: the holder of a grant can do no more than was granted, and nothing after its end, and no one
// brings in history that was written apart from that end. T80: only the granter can make wraps and
// starts. FORMAT §7.4, §12, §13.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { toHex } from '../../src/bytes.ts'
import { type SigningKeyPair, signingKeyPair } from '../../src/crypto/signature.ts'
import { StoreError } from '../../src/errors.ts'
import { storeIdOf } from '../../src/format/id.ts'
import type { Start } from '../../src/format/start.ts'
import { epochKeys } from '../../src/keys/epoch.ts'
import { makeStart, openStart } from '../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, makeWraps, openWraps } from '../../src/keys/wraps.ts'
import { countingRandom, flipBit } from '../support/forge-seal.ts'
import { type Clones, standardClones } from '../support/forged-clones.ts'
import { keptGrants, refusedGrants } from '../support/grant-cases.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
beforeAll(async () => {
  clones = await standardClones('grants')
})

test.each(keptGrants)('%s: %s', async (_, __, forging) => {
  expect(await verdicts(forging(clones()))).toEqual(accepted)
})

describe('T79', () => {
  test.each(refusedGrants)('%s: %s', async (code, _, forging) => {
    expect(await verdicts(forging(clones()))).toEqual(refused(code))
  })
})

describe('T80: wraps and starts that the granter did not make', () => {
  const random = countingRandom('wraps')
  const granter = signingKeyPair(random(32))
  const stranger = signingKeyPair(random(32))
  const epoch = epochKeys(toHex(random(16)), random(32), random(32))
  const genesis = { record: random(32), commit: toHex(random(20)) }
  const storeId = storeIdOf(genesis.record)
  const { publicKey: granterKey } = granter
  const grant = grantKeysOf({ storeId, granterKey, secret: random(32) })
  const madeBy = (pair: SigningKeyPair): Uint8Array =>
    makeWraps(epoch, [grant], { storeId, pair, random })
  const opened = (bytes: Uint8Array) => openWraps(decodeWraps(bytes), granter.publicKey, grant)
  const start: Omit<Start, 'granter'> = {
    counter: 1,
    time: 1,
    genesis: { ...genesis, time: 1 },
    keyrings: [],
    kids: [],
    redacted: [],
    state: {
      record: random(32),
      height: 1,
      commit: toHex(random(20)),
      tree: toHex(random(20)),
      keyring: { record: genesis.record, blob: random(40) },
      settings: { record: random(32), height: 0, time: 1, blob: random(40) },
      devices: [],
      grants: [],
      memories: [],
    },
    floor: undefined,
  }
  const startBy = (pair: SigningKeyPair): Uint8Array =>
    makeStart(epoch, start, { storeId, pair, random })

  test('no changed bit of wraps gives keys', () => {
    const honest = madeBy(granter)
    expect(opened(honest)?.kid).toBe(epoch.kid)
    for (let at = 0; at < honest.length; at += at < 80 ? 1 : 61) {
      expect(() => opened(flipBit(8 * at)(honest))).toThrow(StoreError)
    }
  })

  test('no changed bit of a start shows a state', () => {
    const honest = startBy(granter)
    expect(openStart(honest, epoch, granterKey, storeId).counter).toBe(1)
    for (let at = 0; at < honest.length; at += at < 160 ? 1 : 61) {
      const changed = flipBit(8 * at)(honest)
      expect(() => openStart(changed, epoch, granterKey, storeId)).toThrow(StoreError)
    }
  })

  test('those of another member are refused, although it has the keys', () => {
    const refusal = expect.objectContaining({ code: 'device_signature_invalid' })
    expect(() => opened(madeBy(stranger))).toThrow(refusal)
    expect(() => openStart(startBy(stranger), epoch, granterKey, storeId)).toThrow(refusal)
  })

  test('the holder of another grant finds no keys', () => {
    const other = grantKeysOf({ storeId, granterKey, secret: random(32) })
    expect(openWraps(decodeWraps(madeBy(granter)), granter.publicKey, other)).toBeUndefined()
  })
})
