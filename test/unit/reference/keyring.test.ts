// FORMAT §7 as the reference decoder implements it: a keyring follows from its directory and keys,
// and another one is refused; recovery identities open it, and add devices up to their grade.

import { describe, expect, test } from 'vitest'
import {
  member,
  newPath,
  read,
  row,
  settings,
  started,
  withMembers,
  without,
} from '../../support/reference-stores.ts'
import { concat, fromHex, toHex, u16, u8 } from '../../support/reference/bytes.ts'
import {
  type Device,
  type Directory,
  directoryHash,
  encodeDirectory,
  type RecoveryEntry,
  type Role,
} from '../../support/reference/directory.ts'
import {
  archiveContext,
  directoryContext,
  sealEnvelope,
  zeroHedge,
} from '../../support/reference/envelope.ts'
import { H } from '../../support/reference/hash.ts'
import {
  deviceIdOf,
  formatIdentity,
  formatOperatorSecret,
  formatRecoveryKey,
  operatorRecoveryKey,
  recoveryIdOf,
} from '../../support/reference/identity.ts'
import { kemPublicKey } from '../../support/reference/kem.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type Keyring,
  makeKeyring,
  openDirectory,
} from '../../support/reference/keyring.ts'
import { auditKeys, auditorEpoch, contentKeys } from '../../support/reference/keys.ts'
import type { ChangeRecord } from '../../support/reference/record.ts'
import { publicKeyOf } from '../../support/reference/signature.ts'
import { makeAuditorSlots, makeSlots } from '../../support/reference/slots.ts'
import { readStore } from '../../support/reference/store.ts'
import {
  passphraseIdentity,
  recoveryKeyIdentity,
  type RecoveryIdentity,
  unlock,
} from '../../support/reference/unlock.ts'
import { StoreWriter } from '../../support/reference/writer.ts'

const key = Uint8Array.from({ length: 32 }, (_, i) => i)
const costs = { salt: new Uint8Array(16).fill(5), passes: 2, memoryKiB: 64 * 1024 }
const slotId = '0f'.repeat(16)

/** Made once for each store: Argon2id takes a second. */
const stretched = new Map<string, RecoveryIdentity>()

function recoveryOf({ seed }: StoreWriter, type: 2 | 3): RecoveryIdentity {
  if (type === 3) return recoveryKeyIdentity(seed, key)
  const known = stretched.get(seed) ?? passphraseIdentity(seed, 'pass word', costs)
  stretched.set(seed, known)
  return known
}

function entryOf({ kemSeed, signingSeed }: RecoveryIdentity, type: 2 | 3): RecoveryEntry {
  const keys = { kemKey: kemPublicKey(kemSeed), signingKey: publicKeyOf(signingSeed) }
  return type === 3 ? { slotId, slotType: 3, ...keys } : { slotId, slotType: 2, ...keys, ...costs }
}

/** A store whose first directory has a recovery identity. */
function withRecovery(type: 2 | 3) {
  const writer = new StoreWriter()
  const known = recoveryOf(writer, type)
  writer.genesis(settings, { recoveries: [entryOf(known, type)] })
  return { writer, known }
}

describe('recovery identities', () => {
  test.each([
    [2, 'passphrase', () => ({ passphrase: 'pass word' })],
    [3, 'recovery key', (id: string) => ({ recoveryKey: formatRecoveryKey(id, key) })],
  ] as const)('of type %i open the store by %s', { tags: 'slow' }, (type, _, secretFor) => {
    const { writer } = withRecovery(type)
    writer.change([row(1, 'created')])
    const directory = newPath()
    writer.write(directory)
    expect(readStore(directory, secretFor(writer.storeId)).memories.size).toBe(1)
  })

  test('wrong_key: a recovery key that names another store', () => {
    const { writer } = withRecovery(3)
    const directory = newPath()
    writer.write(directory)
    const recoveryKey = formatRecoveryKey('ab'.repeat(16), key)
    expect(() => readStore(directory, { recoveryKey })).toThrow(/^wrong_key: /)
  })

  test('have other keys in another store', { tags: 'slow' }, () => {
    const [writer, other] = [started(), 'ab'.repeat(16)]
    const seeds = [
      ...([2, 3] as const).map((type) => recoveryOf(writer, type).kemSeed),
      recoveryKeyIdentity(other, key).kemSeed,
      passphraseIdentity(other, 'pass word', costs).kemSeed,
    ]
    expect(new Set(seeds.map(toHex)).size).toBe(4)
  })

  /** The store of a recovery identity that adds a member with this role. */
  function adding(
    type: 2 | 3,
    role: Role,
    change: Partial<Directory> = {},
    tweak: Partial<ChangeRecord> = {},
  ): StoreWriter {
    const { writer, known } = withRecovery(type)
    const joining = member(writer, role, type === 2 ? 3 : 2)
    const members = withMembers(writer, joining)
    const devices = members.devices.map((one): Device => {
      return one.added === 0 ? one : { ...one, slotId }
    })
    const directory = { ...members, devices, ...change }
    const deviceId = recoveryIdOf(slotId, publicKeyOf(known.signingSeed))
    const signed = { deviceId, sequence: 0, actor: undefined, ...tweak }
    writer.keyring({ directory, epoch: writer.epoch }, signed, known.signingSeed)
    return writer
  }

  test.each([
    [2, 'writer'],
    [3, 'owner'],
  ] as const)('of type %i add a member who is %s', { tags: 'slow' }, (type, role) => {
    expect(read(adding(type, role)).directory.devices.length).toBe(2)
  })

  test.each([
    ['add no owner by passphrase', 2, 'owner', {}],
    ['add no reader by passphrase', 2, 'reader', {}],
    ['add no writer by recovery key', 3, 'writer', {}],
    ['set no quota', 3, 'owner', { quota: 9 }],
    ['drop no recovery entry', 3, 'owner', { recoveries: [] }],
  ] as const)('%s', { tags: 'slow' }, (_, type, role, change) => {
    expect(() => read(adding(type, role, change))).toThrow(/^record_role: /)
  })

  test('record_device: under the id of a device with their key', { tags: 'slow' }, () => {
    const deviceId = deviceIdOf(publicKeyOf(recoveryKeyIdentity(started().seed, key).signingSeed))
    expect(() => read(adding(3, 'owner', {}, { deviceId }))).toThrow(/^record_device: /)
  })

  test('of an operator open the store by any of 16 counters', { tags: 'slow' }, () => {
    const operatorSecret = formatOperatorSecret(key)
    const opens = [0, 15, 16].map((counter) => {
      const writer = new StoreWriter()
      const { seed } = writer
      const known = recoveryKeyIdentity(seed, operatorRecoveryKey(key, seed, counter))
      const recoveries = [entryOf(known, 3)]
      const made = makeKeyring(seed, writer.epoch, [], { ...writer.directory, recoveries })
      return () => unlock(made, writer.storeId, { operatorSecret }).at(-1)?.kid === writer.epoch.kid
    })
    expect(opens.slice(0, 2).map((open) => open())).toEqual([true, true])
    expect(opens[2]).toThrow(/^wrong_key: /)
  })
})

/** A store whose second directory has a writer and an auditor. */
function withThree(alter?: (keyring: Keyring, writer: StoreWriter) => Keyring) {
  const writer = started()
  const auditor = member(writer, 'auditor')
  const directory = withMembers(writer, auditor, member(writer, 'writer'))
  const plan = { directory, epoch: writer.epoch }
  writer.keyring(alter ? { ...plan, alter: (keyring) => alter(keyring, writer) } : plan)
  return { writer, auditor: auditor.identity }
}

/** The directory with another X-Wing key for the devices of a role. */
function otherKeys(directory: Directory, role: Role): Directory {
  const other = kemPublicKey(H(key))
  const devices = directory.devices.map((d) => (d.role === role ? { ...d, kemKey: other } : d))
  return { ...directory, devices }
}

/** Slots that are sealed to other keys than those of the directory. */
const slotsFor =
  (role: Role) =>
  (keyring: Keyring, { seed, epoch }: StoreWriter): Keyring => {
    const forged = otherKeys(openDirectory(keyring, epoch), role)
    return { ...keyring, slots: makeSlots(seed, epoch, forged) }
  }

/** An archive of A with the salt of another hedge. */
function otherSalt(keyring: Keyring, { seed, epoch }: StoreWriter): Keyring {
  const plaintext = concat(u8(1), u8(0), u16(0))
  const [keys, context] = [auditKeys(epoch, 'archive'), archiveContext(seed, 'A')]
  return { ...keyring, auditArchive: sealEnvelope('archive', keys, context, key, plaintext) }
}

/** The same of C. */
function otherContentSalt(keyring: Keyring, { seed, epoch }: StoreWriter): Keyring {
  const plaintext = concat(u8(1), u8(0), u16(0))
  const [keys, context] = [contentKeys(epoch, 'archive'), archiveContext(seed, 'C')]
  return { ...keyring, contentArchive: sealEnvelope('archive', keys, context, key, plaintext) }
}

/** With more slots for nobody than the directory needs. */
function moreSlots(keyring: Keyring, { seed, epoch }: StoreWriter): Keyring {
  const directory = openDirectory(keyring, epoch)
  const [first] = directory.devices
  const devices = Array.from({ length: 5 }, () => first ?? [])
  const more = makeSlots(seed, epoch, { ...directory, devices: devices.flat() })
  // The five slots of one device are one slot, and nobody's are three.
  const distinct = new Map(more.map((slot) => [bodyOf(slot), slot])).values()
  return { ...keyring, slots: inOrder([...keyring.slots, ...distinct]) }
}

function inOrder(slots: Keyring['slots']): Keyring['slots'] {
  return slots.toSorted((a, b) => (bodyOf(a) < bodyOf(b) ? -1 : 1))
}

function bodyOf({ publicBytes }: Keyring['slots'][number]): string {
  return toHex(publicBytes)
}

describe('a keyring', () => {
  const writer = started()
  const { seed, epoch, directory } = writer
  const keyring = makeKeyring(seed, epoch, [], directory)

  test('follows from the directory and the keys', () => {
    const again = makeKeyring(seed, epoch, [], directory)
    expect(encodeKeyring(again)).toEqual(encodeKeyring(keyring))
    expect(openDirectory(decodeKeyring(encodeKeyring(keyring)), epoch)).toEqual(directory)
    expect(keyring.slots.map((slot) => slot.type)).toEqual([1, 1, 1, 1])
  })

  test('has other slots for another directory', () => {
    const other = makeKeyring(seed, epoch, [], { ...directory, quota: directory.quota + 1 })
    const bodies = [...keyring.slots, ...other.slots].map(bodyOf)
    expect(new Set(bodies).size).toBe(8)
  })

  test.each([
    ['keyring_slots', 'slots sealed to a key that the directory has not', slotsFor('writer')],
    ['keyring_slots', 'more slots for nobody', moreSlots],
    ['keyring_mismatch', 'an archive of A with another salt', otherSalt],
    ['keyring_mismatch', 'an archive of C with another salt', otherContentSalt],
  ] as const)('is refused as %s with %s', { tags: 'slow' }, (kind, _, alter) => {
    const forged = withThree(alter)
    expect(() => read(forged.writer)).toThrow(new RegExp(`^${kind}: `))
  })

  test.each([
    ['keyring_slots', 'more slots for nobody', moreSlots],
    ['keyring_mismatch', 'another salt', otherSalt],
  ] as const)('is refused by an auditor as %s with %s', { tags: 'slow' }, (kind, _, alter) => {
    const forged = withThree(alter)
    const byAuditor = () => read(forged.writer, undefined, forged.auditor)
    expect(byAuditor).toThrow(new RegExp(`^${kind}: `))
  })

  test('shows an auditor whether auditors’ slots are right, and no others', () => {
    const members = withMembers(writer, member(writer, 'auditor'), member(writer, 'writer'))
    const previous = directoryHash(seed, directory)
    const next = { ...members, previous, founderRandom: undefined }
    const made = makeKeyring(seed, epoch, [], next)
    const auditors = new Set(makeAuditorSlots(seed, epoch, next).map(bodyOf))
    const swapped = (isAuditors: boolean): Keyring => {
      const [other] = keyring.slots
      const at = made.slots.findIndex((one) => auditors.has(bodyOf(one)) === isAuditors)
      return { ...made, slots: other ? inOrder(made.slots.with(at, other)) : [] }
    }
    const auditor = auditorEpoch(seed, epoch.audit, epoch.contentHash)
    expect(openDirectory(swapped(false), auditor)).toEqual(next)
    expect(() => openDirectory(swapped(true), auditor)).toThrow(/^keyring_slots: /)
    expect(() => openDirectory(swapped(false), epoch)).toThrow(/^keyring_slots: /)
  })

  test('keyring_slots: the slot of a writer as for an auditor', () => {
    const joining = member(writer, 'writer')
    const previous = directoryHash(seed, directory)
    const next = { ...withMembers(writer, joining), previous, founderRandom: undefined }
    const made = makeKeyring(seed, epoch, [], next)
    const devices = next.devices.map((one) => ({ ...one, role: 'auditor' as const }))
    const slots = makeAuditorSlots(seed, epoch, { ...next, devices })
    const identity = formatIdentity(joining.identity)
    expect(unlock(made, writer.storeId, { identity }).at(-1)).toEqual(epoch)
    // None of the slots of the first directory is for who joins.
    const forged = { ...made, slots: inOrder([...slots, ...keyring.slots.slice(2)]) }
    expect(() => unlock(forged, writer.storeId, { identity })).toThrow(/^keyring_slots: /)
  })

  test('keyring_slots: an X-Wing key that nothing can be sealed to', () => {
    const kemKey = new Uint8Array(1216).fill(255)
    const devices = directory.devices.map((device) => ({ ...device, kemKey }))
    const unusable = { ...directory, devices }
    expect(() => makeKeyring(seed, epoch, [], unusable)).toThrow(/^keyring_slots: /)
    const [keys, context] = [auditKeys(epoch, 'directory'), directoryContext(seed)]
    const plaintext = encodeDirectory(unusable)
    const sealed = sealEnvelope('directory', keys, context, zeroHedge, plaintext)
    const auditor = auditorEpoch(seed, epoch.audit, epoch.contentHash)
    const open = () => openDirectory({ ...keyring, directory: sealed }, auditor)
    expect(open).toThrow(/^keyring_slots: /)
  })
})

describe('a keyring with a passphrase', () => {
  const writer = started()
  const { seed, epoch } = writer
  const keys = { kemKey: kemPublicKey(key), signingKey: publicKeyOf(key) }
  const entry = { slotId, slotType: 2, ...keys, ...costs } as const
  const directory = { ...writer.directory, recoveries: [entry] }
  const keyring = makeKeyring(seed, epoch, [], directory)
  const cheaper = { ...directory, recoveries: [{ ...entry, passes: 3 }] }
  const forged = { ...keyring, slots: makeSlots(seed, epoch, cheaper) }

  test('shows its costs, which the directory has too', () => {
    const slot = keyring.slots.find(({ type }) => type === 2)
    const prefix = concat(fromHex(slotId), costs.salt, Uint8Array.of(0, 0, 0, 2, 0, 1, 0, 0))
    expect(slot?.publicBytes.slice(0, 40)).toEqual(prefix)
  })

  test.each([
    ['a member', epoch],
    ['an auditor', auditorEpoch(seed, epoch.audit, epoch.contentHash)],
  ])('and other costs is refused by %s', (_, known) => {
    expect(() => openDirectory(keyring, known)).not.toThrow()
    expect(() => openDirectory(forged, known)).toThrow(/^keyring_slots: /)
  })

  test.each([{ passes: 1 }, { passes: 11 }, { memoryKiB: 65_535 }, { memoryKiB: 1_048_577 }])(
    'that is stretched by %o is refused with its directory, and before it is hashed',
    (change) => {
      const recoveries = [{ ...entry, ...change }]
      const other = makeKeyring(seed, epoch, [], { ...directory, recoveries })
      expect(() => openDirectory(other, epoch)).toThrow(/^keyring_malformed: /)
      const open = () => unlock(other, writer.storeId, { passphrase: 'pass word' })
      expect(open).toThrow(/^weak_key_parameters: /)
    },
  )
})

describe('a removed device', () => {
  /** A store that removes a member who wrote once, with this change to its entry. */
  function removing(change: { sequence?: number; record?: string } = {}, sameEpoch = false) {
    const writer = started()
    const leaving = member(writer, 'writer')
    writer.keyring({ directory: withMembers(writer, leaving), epoch: writer.epoch })
    writer.change([row(1, 'created')], {}, leaving.identity.signingSeed)
    const deviceId = writer.directory.devices.find((d) => d.role === 'writer')?.deviceId ?? ''
    const directory = without(writer, deviceId)
    const removed = directory.removed.map((entry) => ({ ...entry, ...change }))
    const epoch = sameEpoch ? writer.epoch : writer.newEpoch()
    writer.keyring({ directory: { ...directory, removed }, epoch })
    return writer
  }

  test('leaves its id and its last record', { tags: 'slow' }, () => {
    const { removed, devices } = read(removing()).directory
    expect(removed).toMatchObject([{ removed: 2, sequence: 1 }])
    expect(devices.length).toBe(1)
  })

  test.each([
    ['another record', removing.bind(undefined, { record: 'ab'.repeat(32) })],
    ['another sequence', removing.bind(undefined, { sequence: 2 })],
    ['none', removing.bind(undefined, { sequence: 0, record: '00'.repeat(32) })],
    ['the keys it had', removing.bind(undefined, {}, true)],
  ])('is refused as keyring_chain with %s', { tags: 'slow' }, (_, make) => {
    expect(() => read(make())).toThrow(/^keyring_chain: /)
  })
})
