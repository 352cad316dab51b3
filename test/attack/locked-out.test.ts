// T46: who may add devices, as a holder of the passphrase or as any member, cannot lock another
// member out by a keyring in which that one's slot does not open. FORMAT §7.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { equalBytes } from '../../src/bytes.ts'
import { kemKeyPair } from '../../src/crypto/recipient.ts'
import type { Argon2Parameters, Directory, RecoveryEntry } from '../../src/format/directory.ts'
import { type Slot, sortSlots } from '../../src/format/keyring.ts'
import { auditKeys } from '../../src/keys/epoch.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { holdersOf, type Recipient } from '../../src/keys/recipients.ts'
import { passphraseIdentity, type RecoveryIdentity } from '../../src/keys/recovery.ts'
import { verifyHistory } from '../../src/store/verify/verify.ts'
import { joinClone } from '../support/clones.ts'
import { asRecovery, withKem, withMember } from '../support/forge-fault.ts'
import { forgeSlot, type KeyringFault } from '../support/forge-keyring.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import { expectRefused, repair } from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { refused, standardHistory, verdicts } from '../support/standard-forge.ts'
import { contentsOf, reopen } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { readOnlyObjects, type Verdict, verdictOf } from '../support/verdict.ts'

const passphrase = 'correct horse battery'
const argon2: Argon2Parameters = {
  salt: new Uint8Array(16).fill(5),
  passes: 2,
  memoryKiB: 65_536,
}
/** A founder, a writer, a reader, an auditor, a recovery key and a passphrase. */
let standard: Forge
let newcomer: Identity
let attacker: RecoveryIdentity
beforeAll(async () => {
  const { forge } = await standardHistory('locked out')
  await forge.join('auditor')
  attacker = await passphraseIdentity(forge, passphrase, argon2)
  const { signing, kem } = attacker
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  const entry = { slotId: 'bb'.repeat(16), type: 'passphrase', ...keys, argon2 } as const
  forge.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }))
  newcomer = await generateIdentity(forge.random)
  standard = forge
})

/** Sealed to a key that no one has. */
const lost: Uint8Array = kemKeyPair(new Uint8Array(32).fill(99)).publicKey

type Spoil = (one: Recipient, all: readonly Recipient[]) => Partial<Recipient>

/** The passphrase enrols a device, as it may, by a keyring with these slots. */
function enrolWith(forge: Forge, keyringFault: KeyringFault, identity = newcomer): Forge {
  const fault = asRecovery({ slotId: 'bb'.repeat(16) }, attacker)
  const enrol = (next: Directory) => withMember(next, identity, 'writer', 'passphrase')
  forge.keyring(enrol, { fault, keyringFault })
  return forge
}

function spoiling(spoil: Spoil): KeyringFault {
  return { recipients: (all) => all.map((one) => ({ ...one, ...spoil(one, all) })) }
}

/** As a holder of A and H(C) sees it. */
function auditorVerdict({ objects, storeId, epochs, head }: Forge): Promise<Verdict> {
  const audited = Array.from(epochs.values(), ({ kid, seed, auditKey, contentKeyHash }) => {
    return [kid, auditKeys(seed, auditKey, contentKeyHash)] as const
  })
  const source = { objects: readOnlyObjects(objects, head), storeId, epochs: new Map(audited) }
  return verdictOf(() => verifyHistory(source, head))
}

/** Whom a slot is for, by what a directory with the newcomer lists. */
const isFor: Readonly<Record<string, (one: Recipient, forge: Forge) => boolean>> = {
  'the founder': ({ id }, { founder }) => id === founder.deviceId,
  'a writer': ({ id, kind }, forge) => kind === 'device' && id === withRole(forge, 'writer'),
  'a reader': ({ id, kind }, forge) => kind === 'device' && id === withRole(forge, 'reader'),
  'an auditor': ({ isAuditor }) => isAuditor,
  'the recovery key': ({ kind }) => kind === 'recovery',
  'the passphrase itself': ({ kind }) => kind === 'passphrase',
  'the device that it enrols': ({ id }) => id === newcomer.deviceId,
  'nobody, the first one': ({ kind, id }) => kind === 'nobody' && BigInt(`0x${id}`) === 0n,
  'nobody, the last one': ({ kind, id }) => kind === 'nobody' && BigInt(`0x${id}`) === 1n,
}

function withRole({ directory }: Forge, role: string): string | undefined {
  return directory.devices.find((one) => one.role === role)?.deviceId
}

describe('T46: a passphrase that enrols a device is believed', () => {
  test('if every slot is the one that follows, also by an auditor', { tags: 'slow' }, async () => {
    const forge = enrolWith(standard.fork(), {})
    expect(await verdicts(forge)).toEqual(refused('accepted'))
    expect(await auditorVerdict(forge)).toBe('accepted')
  })
})

describe('T46: a keyring is refused if one slot is sealed to a key that no one has:', () => {
  test.each(Object.entries(isFor))('that of %s', async (who, isIt) => {
    const forge = standard.fork()
    enrolWith(
      forge,
      spoiling((one) => (isIt(one, standard) ? { kemKey: lost } : {})),
    )
    expect(await verdicts(forge)).toEqual(refused('keyring_slots'))
    // An auditor has no C, and so can make the slots of auditors only.
    expect(await auditorVerdict(forge)).toBe(who === 'an auditor' ? 'keyring_slots' : 'accepted')
  })
})

describe('T46: keyring_slots:', () => {
  test.each<[name: string, spoil: Spoil]>([
    ['all slots but its own', ({ kind }) => (kind === 'passphrase' ? {} : { kemKey: lost })],
    [
      'a slot for the key of another member',
      ({ kind }, all) => (kind === 'recovery' ? { kemKey: all[0]?.kemKey ?? lost } : {}),
    ],
    [
      'a slot that opens, with another seed, and so what only its holder could check',
      ({ kind }) => (kind === 'recovery' ? { id: 'ee'.repeat(16) } : {}),
    ],
    [
      'the keys of an auditor for a member, who would lose the contents',
      ({ kind }) => (kind === 'recovery' ? { isAuditor: true } : {}),
    ],
  ])('%s', async (_, spoil) => {
    expect(await verdicts(enrolWith(standard.fork(), spoiling(spoil)))).toEqual(
      refused('keyring_slots'),
    )
  })

  test('an auditor is given C: a member sees it, and so does the auditor', async () => {
    const forge = enrolWith(
      standard.fork(),
      spoiling(({ isAuditor }) => (isAuditor ? { isAuditor: false } : {})),
    )
    expect(await verdicts(forge)).toEqual(refused('keyring_slots'))
    expect(await auditorVerdict(forge)).toBe('keyring_slots')
  })

  test.each<[name: string, change: (envelope: Uint8Array) => Uint8Array]>([
    ['one bit of the slot of another', (bytes) => bytes.with(500, (bytes[500] ?? 0) ^ 1)],
    ['a slot of another with the envelope of nothing', (bytes) => bytes.fill(0, 80)],
  ])('%s', async (_, change) => {
    const file: KeyringFault['file'] = (whole) => {
      const { epoch, directory } = standard
      const founder = holdersOf(directory).find(({ id }) => id === standard.founder.deviceId)
      if (founder === undefined) throw new Error('The founder has a slot')
      const plan = { epoch, older: [], directory: enrolled() }
      const { ciphertext } = forgeSlot(plan, founder)
      const slots = whole.slots.map((slot): Slot => {
        const isIt = equalBytes(slot.ciphertext, ciphertext)
        return isIt ? { ...slot, envelope: change(slot.envelope.slice()) } : slot
      })
      expect(slots.filter((slot, index) => slot !== whole.slots[index])).toHaveLength(1)
      return { ...whole, slots: sortSlots(slots) }
    }
    expect(await verdicts(enrolWith(standard.fork(), { file }))).toEqual(refused('keyring_slots'))
  })

  /** What the passphrase makes of the directory. */
  function enrolled(): Directory {
    return enrolWith(standard.fork(), {}).directory
  }
})

describe('T46: a key that nothing can be sealed to is refused with keyring_slots', () => {
  const valid = kemKeyPair(new Uint8Array(32).fill(3)).publicKey
  const badKeys: readonly [string, Uint8Array][] = [
    ['of zeros', new Uint8Array(1216)],
    ['of ones, which are no coefficients', new Uint8Array(1216).fill(0xff)],
    ['whose X25519 part is a point of small order', valid.slice().fill(0, 1184)],
    ['whose ML-KEM part is none', valid.slice().fill(0xff, 0, 1184)],
  ]
  /** The author cannot make the slot either, and seals it to a sound key. */
  const sealable = (bad: Uint8Array): KeyringFault =>
    spoiling(({ kemKey }) => (equalBytes(kemKey, bad) ? { kemKey: valid } : {}))

  test.each(badKeys)('of a device that a passphrase enrols: %s', async (_, kemKey) => {
    const forge = standard.fork()
    const kem = { ...newcomer.kem, publicKey: kemKey }
    enrolWith(forge, sealable(kemKey), withKem(newcomer, kem))
    expect(await verdicts(forge)).toEqual(refused('keyring_slots'))
    expect(await auditorVerdict(forge)).toBe('keyring_slots')
  })

  test.each(badKeys)('of a recovery key that an owner adds: %s', async (_, kemKey) => {
    const forge = standard.fork()
    const keys = { signingKey: newcomer.signing.publicKey, kemKey }
    const entry: RecoveryEntry = { slotId: 'cc'.repeat(16), type: 'recovery', ...keys }
    forge.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }), {
      keyringFault: sealable(kemKey),
    })
    expect(await verdicts(forge)).toEqual(refused('keyring_slots'))
  })
})

describe('T46: over a remote', () => {
  const attacks: readonly [string, KeyringFault][] = [
    ['the owner', spoiling(({ id }) => (id === standard.founder.deviceId ? { kemKey: lost } : {}))],
    ['everybody', spoiling(({ kind }) => (kind === 'passphrase' ? {} : { kemKey: lost }))],
  ]

  test.each(sample(attacks, 1))(
    'a hostile client that locks out %s: its sync is refused, and the store opens afterwards',
    { tags: 'slow' },
    async (_, fault) => {
      const forge = standard.fork()
      const remote = `${temporaryDirectory()}/remote.git`
      await writeForged(forge, remote)
      const identity = forge.founder
      const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
      const owner = await joinClone({ place: unused }, remote, { identity })
      enrolWith(forge, fault)
      await writeForged(forge, remote)
      const error = await expectRefused(owner, 'keyring_slots')
      expect(error.message).toMatch(/locked out/)
      const contents = await contentsOf(owner.store)
      await owner.store.close()
      const store = await reopen(owner.place)
      expect(await contentsOf(store)).toEqual(contents)
      // The member that would have been locked out restores the branch for all.
      await repair({ ...owner, store })
      await store.maintenance.verify()
    },
  )

  test(
    'an owner that starts an epoch without another: the head is kept, and the error reports it',
    { tags: 'slow' },
    async () => {
      const forge = standard.fork()
      const second = await forge.join('owner')
      const remote = `${temporaryDirectory()}/remote.git`
      await writeForged(forge, remote)
      const identity = forge.founder
      const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
      const owner = await joinClone({ place: unused }, remote, { identity })
      const keyringFault = spoiling(({ id }) => (id === identity.deviceId ? { kemKey: lost } : {}))
      forge.keyring((next) => next, {
        epoch: forge.newEpoch(),
        fault: { author: second },
        keyringFault,
      })
      await writeForged(forge, remote)
      const error = await expectRefused(owner, 'wrong_key')
      expect(error.message).toMatch(/removed it or locked it out/)
      expect(error.message).toMatch(/The local copy is kept/)
      await owner.store.close()
      await reopen(owner.place)
      expect(await verdicts(forge)).toEqual(refused('keyring_slots'))
    },
  )
})
