// T6: a member cannot write in another's name, and no signature is accepted that another verifier
// might refuse. FORMAT §6.1, §6.3.

import { beforeAll, describe, expect, test } from 'vitest'
import { concatBytes, fromHex, utf8 } from '../../src/bytes.ts'
import { sha512 } from '../../src/crypto/digest.ts'
import { sign, signingKeyPair, verifySignature } from '../../src/crypto/signature.ts'
import { deviceIdOf } from '../../src/format/id.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { type Fault, asRecovery, withMember } from '../support/forge-fault.ts'
import { flipBit } from '../support/forge-seal.ts'
import { verifySignature as verifyByReference } from '../support/reference/signature.ts'
import {
  nextRow,
  refused,
  type Standard,
  standardHistory,
  verdicts,
} from '../support/standard-forge.ts'
import { verdictOf } from '../support/verdict.ts'

let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

describe('T6: a record without the signature of the device that it names is refused', () => {
  test.each<[name: string, fault: () => Fault]>([
    [
      'another member signs',
      () => ({ author: { ...standard.writer, deviceId: standard.forge.founder.deviceId } }),
    ],
    [
      'the group key signs',
      () => ({ signature: (_, body) => sign(body, standard.forge.epoch.group) }),
    ],
    [
      'the body alone is signed',
      () => ({ signature: (_, body) => sign(body, standard.forge.founder.signing) }),
    ],
    ['for another store', () => ({ signature: (_, body) => signedFor('77'.repeat(16), body) })],
    ['nothing', () => ({ signature: () => new Uint8Array(64) })],
    [
      'R and S are exchanged',
      () => ({ signature: (s) => concatBytes(s.subarray(32), s.subarray(0, 32)) }),
    ],
    ['S plus the group order', () => ({ signature: withGroupOrder })],
    [
      'R of small order',
      () => ({
        signature: (s) => concatBytes(Uint8Array.of(1), new Uint8Array(31), s.subarray(32)),
      }),
    ],
  ])('device_signature_invalid: %s', async (_, fault) => {
    const forge = standard.forge.fork()
    forge.change([nextRow], fault())
    expect(await verdicts(forge)).toEqual(refused('device_signature_invalid'))
  })

  test('device_signature_invalid: each bit of the signature flipped', async () => {
    const message = utf8('a message')
    const { signing } = standard.forge.founder
    const honest = sign(message, signing)
    expect(verifySignature(message, honest, signing.publicKey)).toBeUndefined()
    const codes = new Set<string>()
    for (let bit = 0; bit < 512; bit += 1) {
      const flipped = flipBit(bit)(honest)
      codes.add(await verdictOf(() => verifySignature(message, flipped, signing.publicKey)))
    }
    expect([...codes]).toEqual(['device_signature_invalid'])
  })
})

describe('T6: a key under which anybody can sign is refused', () => {
  test.each<[name: string, publicKey: string]>([
    ['the neutral element', `01${'00'.repeat(31)}`],
    ['order 2', `ec${'ff'.repeat(30)}7f`],
    ['order 4', '00'.repeat(32)],
    ['order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['order 8, the other', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    ['a y that is not reduced', `ee${'ff'.repeat(30)}7f`],
    ['no point', `02${'00'.repeat(31)}`],
  ])('device_signature_invalid: %s', async (_, hex) => {
    const publicKey = fromHex(hex)
    // With a public key of small order, R = [S]B verifies for one message in eight.
    const codes = new Set<string>()
    for (let index = 0; index < 16; index += 1) {
      const message = utf8(`message ${index}`)
      const signature = concatBytes(publicKey, new Uint8Array(32))
      codes.add(await verdictOf(() => verifySignature(message, signature, publicKey)))
      codes.add(await verdictOf(() => verifyByReference(message, signature, publicKey)))
    }
    expect([...codes]).toEqual(['device_signature_invalid'])
  })

  const smallOrder = Uint8Array.of(1, ...new Uint8Array(31))
  const trivial = concatBytes(smallOrder, new Uint8Array(32))

  test('keyring_chain: a device with a key of small order is added', async () => {
    const forge = standard.forge.fork()
    const { kem } = standard.writer
    const signing = { publicKey: smallOrder }
    const weak = { deviceId: deviceIdOf(smallOrder), signing, kem, keySignature: trivial }
    forge.keyring((next) => withMember(next, weak, 'writer'))
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('device_signature_invalid: a recovery key of small order enrols a device', async () => {
    const forge = standard.forge.fork()
    const slotId = 'bb'.repeat(16)
    const { secretKey } = standard.writer.signing
    const keys = { signingKey: smallOrder, kemKey: standard.writer.kem.publicKey }
    forge.keyring((next) => {
      return { ...next, recovery: [...next.recovery, { slotId, type: 'recovery', ...keys }] }
    })
    const weak = asRecovery({ slotId }, { signing: { publicKey: smallOrder, secretKey } })
    const newcomer = await generateIdentity(forge.random)
    const fault = { ...weak, signature: () => trivial }
    forge.keyring((next) => withMember(next, newcomer, 'owner', 'recovery'), { fault })
    expect(await verdicts(forge)).toEqual(refused('device_signature_invalid'))
  })
})

test('T6: signatures of one message and key are always the same bytes', () => {
  const pair = signingKeyPair(sha512(utf8('seed')).subarray(0, 32))
  expect(sign(utf8('x'), pair)).toEqual(sign(utf8('x'), pair))
})

/** The malleable twin of a signature: S + L. */
function withGroupOrder(signature: Uint8Array): Uint8Array {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32).toReversed()).toString('hex')}`)
  const twin = fromHex((s + groupOrder).toString(16).padStart(64, '0')).toReversed()
  return concatBytes(signature.subarray(0, 32), twin)
}

function signedFor(seed: string, body: Uint8Array): Uint8Array {
  const message = concatBytes(utf8('GLK1/record-signature/v1\0'), fromHex(seed), body)
  return sign(message, standard.forge.founder.signing)
}
