// T11: an attacker with the repository gains nothing from its keyring but guesses at the
// passphrase, each at the cost that the founder chose, and cannot make a reader stretch a
// passphrase cheaply, use another key, or accept keys of the attacker's choice. FORMAT §7, §7.5.

import { beforeAll, describe, expect, test } from 'vitest'
import { concatBytes, equalBytes, toHex } from '../../src/bytes.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import { stretchPassphrase } from '../../src/crypto/passphrase.ts'
import type { Argon2Parameters, Directory } from '../../src/format/directory.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type KeyringFile,
  type Slot,
  sortSlots,
} from '../../src/format/keyring.ts'
import { formatRecoveryKey, generateIdentity } from '../../src/keys/identity.ts'
import { openKeyring } from '../../src/keys/keyring.ts'
import { holdersOf, type Recipient } from '../../src/keys/recipients.ts'
import { passphraseIdentity } from '../../src/keys/recovery.ts'
import type { Unlock } from '../../src/keys/unlock.ts'
import {
  forgeKeyring,
  forgeSlot,
  type KeyringFault,
  type KeyringPlan,
} from '../support/forge-keyring.ts'
import { flipBit } from '../support/forge-seal.ts'
import { Forge } from '../support/forge.ts'
import { full } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'

const passphrase = 'correct horse battery'
const argon2: Argon2Parameters = {
  salt: new Uint8Array(16).fill(5),
  passes: 2,
  memoryKiB: 65_536,
}
const recoverySecret = (byte: number): string =>
  formatRecoveryKey(forge.storeId, new Uint8Array(32).fill(byte))
let forge: Forge
let plan: KeyringPlan
let keyring: Uint8Array
beforeAll(async () => {
  forge = await Forge.started('slots')
  const { signing, kem } = await passphraseIdentity(forge, passphrase, argon2)
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  const entry = { slotId: 'bb'.repeat(16), type: 'passphrase', ...keys, argon2 } as const
  const directory: Directory = {
    ...forge.directory,
    recovery: [...forge.directory.recovery, entry],
  }
  plan = { directory, epoch: forge.epoch, older: [] }
  keyring = forgeKeyring(plan)
})

const open = (bytes: Uint8Array, unlock: Unlock) =>
  verdictOf(() => openKeyring(bytes, forge.storeId, unlock))
const byPassphrase: Unlock = { type: 'passphrase', passphrase }
const byRecoveryKey = (byte = 7): Unlock => ({
  type: 'recovery',
  recoveryKey: recoverySecret(byte),
})
const byIdentity = (): Unlock => ({ type: 'identity', identity: forge.founder })

/** Changes the slot of the passphrase or of the recovery key, the only one of its kind. */
function withSlot(kind: Recipient['kind'], change: (slot: Slot) => Slot): Uint8Array {
  const recipient = holdersOf(plan.directory).find((one) => one.kind === kind)
  if (recipient === undefined) throw new Error('No such slot')
  const { ciphertext } = forgeSlot(plan, recipient)
  return changed((file) => {
    const slots = file.slots.map((slot) => {
      return equalBytes(slot.ciphertext, ciphertext) ? change(slot) : slot
    })
    return { ...file, slots: sortSlots(slots) }
  })
}

function stretchedWith(parameters: Partial<Argon2Parameters>): Uint8Array {
  return withSlot('passphrase', (slot) => ({
    ...slot,
    passphrase: { slotId: 'bb'.repeat(16), argon2: { ...argon2, ...parameters } },
  }))
}

function changed(change: (file: KeyringFile) => KeyringFile): Uint8Array {
  return encodeKeyring(change(decodeKeyring(keyring)))
}

test('T11: without a fault all three open', { tags: 'slow' }, async () => {
  expect(await open(keyring, byIdentity())).toBe('accepted')
  expect(await open(keyring, byPassphrase)).toBe('accepted')
  expect(await open(keyring, byRecoveryKey())).toBe('accepted')
})

describe('T11: a passphrase', () => {
  test.each<[name: string, parameters: Partial<Argon2Parameters>]>([
    ['1 pass', { passes: 1 }],
    ['0 passes', { passes: 0 }],
    ['11 passes', { passes: 11 }],
    ['2^32 - 1 passes', { passes: 0xffffffff }],
    ['64 MiB less 1 KiB', { memoryKiB: 65_535 }],
    ['no memory', { memoryKiB: 0 }],
    ['1 GiB and 1 KiB', { memoryKiB: 1_048_577 }],
    ['4 TiB', { memoryKiB: 0xffffffff }],
  ])('weak_key_parameters: %s is refused before it is hashed', async (_, parameters) => {
    const spoilt = stretchedWith(parameters)
    expect(await open(spoilt, byPassphrase)).toBe('weak_key_parameters')
    const direct = () => stretchPassphrase({ passphrase, ...argon2, ...parameters })
    expect(await verdictOf(direct)).toBe('weak_key_parameters')
  })

  test.each<[name: string, parameters: Partial<Argon2Parameters>]>([
    ['another number of passes within the bounds', { passes: 3 }],
    ['another memory within the bounds', { memoryKiB: 65_537 }],
    ['another salt', { salt: new Uint8Array(16) }],
  ])('wrong_key: %s', { tags: 'slow' }, async (_, parameters) => {
    const spoilt = stretchedWith(parameters)
    expect(await open(spoilt, byPassphrase)).toBe('wrong_key')
  })

  test('wrong_key: another passphrase', { tags: 'slow' }, async () => {
    const unlock = { type: 'passphrase', passphrase: 'correct horse batterz' } as const
    expect(await open(keyring, unlock)).toBe('wrong_key')
  })

  test('wrong_key: its slot was removed', async () => {
    const spoilt = changed((file) => ({
      ...file,
      slots: file.slots.filter((slot) => slot.type !== 'passphrase'),
    }))
    expect(await open(spoilt, byPassphrase)).toBe('wrong_key')
  })
})

describe('T11: a slot', () => {
  test('wrong_key: an identity that is not a member', async () => {
    const identity = await generateIdentity(forge.random)
    expect(await open(keyring, { type: 'identity', identity })).toBe('wrong_key')
  })

  test('wrong_key: another recovery key', async () => {
    expect(await open(keyring, byRecoveryKey(8))).toBe('wrong_key')
  })

  test('invalid_identity: a recovery key with a typing error', async () => {
    const recoveryKey = `${recoverySecret(7).slice(0, -1)}X`
    expect(await open(keyring, { type: 'recovery', recoveryKey })).toBe('invalid_identity')
  })

  test('wrong_key: another slot id of the passphrase', { tags: 'slow' }, async () => {
    const spoilt = withSlot('passphrase', (slot) => ({
      ...slot,
      passphrase: { slotId: 'cc'.repeat(16), argon2 },
    }))
    expect(await open(spoilt, byPassphrase)).toBe('wrong_key')
  })

  test('wrong_key: each byte of the X-Wing ciphertext changed', async () => {
    const codes = new Set<string>()
    for (let at = 0; at < 1120; at += full ? 1 : 59) {
      const spoilt = withSlot('recovery', (slot) => ({
        ...slot,
        ciphertext: flipBit(8 * at + (at % 8))(slot.ciphertext),
      }))
      codes.add(await open(spoilt, byRecoveryKey()))
    }
    expect([...codes]).toEqual(['wrong_key'])
  })

  test.each<[code: string, from: number, to: number]>([
    ['envelope_magic', 0, 4],
    ['envelope_suite', 4, 5],
    ['envelope_type', 5, 6],
    ['envelope_flags', 6, 8],
    ['envelope_epoch', 8, 24],
    ['wrong_key', 24, 80],
    ['envelope_tag', 80, 608],
  ])('%s: bytes %i to %i of its envelope changed', async (code, from, to) => {
    const codes = new Set<string>()
    for (let at = from; at < to; at += full ? 1 : 29) {
      const flip = flipBit(8 * at + (at % 8))
      const spoilt = (): Uint8Array =>
        withSlot('recovery', (slot) => ({ ...slot, envelope: flip(slot.envelope) }))
      codes.add(await verdictOf(() => openKeyring(spoilt(), forge.storeId, byRecoveryKey())))
    }
    expect([...codes]).toEqual([code])
  })

  test('wrong_key: sealed for another type of slot', async () => {
    const kemKey = forge.directory.recovery[0]?.kemKey ?? new Uint8Array()
    const of = { kind: 'passphrase', id: 'bb'.repeat(16), kemKey, isAuditor: false } as const
    const sealed = forgeSlot(plan, { ...of, passphrase: { slotId: of.id, argon2 } })
    const { ciphertext, envelope } = sealed
    const spoilt = withSlot('recovery', (slot) => ({ ...slot, ciphertext, envelope }))
    expect(await open(spoilt, byRecoveryKey())).toBe('wrong_key')
  })

  test.each<[code: string, name: string, fault: () => KeyringFault]>([
    [
      'keyring_mismatch',
      'keys of the attacker',
      () => ({ slotPlaintext: new Uint8Array(64).fill(1) }),
    ],
    [
      'keyring_slots',
      'the keys of an auditor, for an owner',
      () => ({ slotPlaintext: concatBytes(forge.epoch.auditKey, hash256(forge.epoch.contentKey)) }),
    ],
    [
      'envelope_padding',
      'more than two keys',
      () => ({
        slotPlaintext: concatBytes(forge.epoch.auditKey, forge.epoch.contentKey, Uint8Array.of(1)),
      }),
    ],
  ])('%s: it holds %s', async (code, _, fault) => {
    expect(await open(forgeKeyring(plan, fault()), byIdentity())).toBe(code)
  })

  test('keyring_mismatch: a keyring of an epoch that the attacker made', async () => {
    const other = forge.newEpoch()
    const spoilt = forgeKeyring(
      { ...plan, epoch: other },
      { file: (file) => ({ ...file, kid: forge.epoch.kid }) },
    )
    expect(await open(spoilt, byIdentity())).toBe('envelope_epoch')
  })
})

test('T11: slots show neither their owners nor the number of devices', () => {
  const file = decodeKeyring(keyring)
  const directory = { ...plan.directory, number: 1, previous: new Uint8Array(32) }
  const next = { ...plan, directory: { ...directory, founderRandom: undefined } }
  const later = decodeKeyring(forgeKeyring(next))
  expect(file.slots.filter((slot) => slot.type === 'key')).toHaveLength(4)
  expect(new Set(file.slots.map((slot) => slot.envelope.length))).toEqual(new Set([608]))
  const bodies = [...file.slots, ...later.slots].map((slot) => toHex(slot.ciphertext))
  expect(new Set(bodies).size).toBe(bodies.length)
})
