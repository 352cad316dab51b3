// Which directory may follow which (FORMAT §7.1): the product and the reference decoder agree on
// steps that an author may take, on faults, and on mixtures of both.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromHex, toHex } from '../../src/bytes.ts'
import { type SigningKeyPair, signingKeyPair } from '../../src/crypto/signature.ts'
import { type SignedKeys, signDeviceKeys } from '../../src/format/device-keys.ts'
import { checkSuccessor } from '../../src/format/directory-succession.ts'
import {
  type AdmittedBy,
  type Admitter,
  type DeviceEntry,
  type Directory,
  directoryHash,
  type RecoveryEntry,
  type RemovedDevice,
  roles,
} from '../../src/format/directory.ts'
import {
  type Author as ReferenceAuthor,
  type Directory as ReferenceDirectory,
} from '../support/reference/directory.ts'
import { checkNextDirectory } from '../support/reference/succession.ts'
import { full, seed } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'

const store = { seed: '11'.repeat(16) }
const admissions = ['owner', 'recovery', 'passphrase'] as const
const filled = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte)
const idOf = (byte: number): string => toHex(filled(byte, 16))
const number = 6
const last = { sequence: 4, record: filled(4, 32) }
const noRecord = { sequence: 0, record: filled(0, 32) }

/** Few values, so that two draws are often equal. */
const few = (...values: readonly number[]): fc.Arbitrary<number> => fc.constantFrom(...values)

const device = (byte: number): fc.Arbitrary<DeviceEntry> =>
  fc
    .tuple(few(byte, byte, byte, 99), few(byte, byte, byte, 99), placeOf(byte))
    .map(([fill, signer, place]) => {
      const { publicKey: signingKey } = pairOf(byte)
      const kemKey = filled(fill, 1216)
      const signing = { ...pairOf(signer), publicKey: signingKey }
      const keySignature = signDeviceKeys(signing, { publicKey: kemKey })
      return { ...place, signingKey, kemKey, keySignature }
    })

const pairs = new Map<number, SigningKeyPair>()
function pairOf(byte: number): SigningKeyPair {
  const pair = pairs.get(byte) ?? signingKeyPair(filled(byte, 32))
  pairs.set(byte, pair)
  return pair
}

/** By a slot that is there, gone, or neither. */
const admitter: fc.Arbitrary<Admitter> = fc
  .tuple(fc.constantFrom(...admissions), few(21, 22, 27))
  .map(([admittedBy, byte]) => admitterAs(admittedBy, byte))

function admitterAs(admittedBy: AdmittedBy, byte = 21): Admitter {
  return { admittedBy, slotId: admittedBy === 'owner' ? undefined : idOf(byte) }
}

const placeOf = (byte: number): fc.Arbitrary<Omit<DeviceEntry, keyof SignedKeys>> =>
  fc
    .record({
      deviceId: fc.constant(idOf(byte)),
      role: fc.constantFrom(...roles),
      admitter,
      added: few(0, 1, 2),
      name: fc.constantFrom('', 'a', 'b', 'é'),
    })
    .map(({ admitter: by, ...place }) => ({ ...place, ...by }))

const removal = (byte: number): fc.Arbitrary<RemovedDevice> =>
  fc.tuple(few(3, 4), few(1, 2), few(7, 8)).map(([removed, sequence, fill]) => ({
    deviceId: idOf(byte),
    removed,
    sequence,
    record: filled(fill, 32),
  }))

const entry = (byte: number): fc.Arbitrary<RecoveryEntry> =>
  fc.tuple(few(byte, byte, 99), fc.boolean(), few(2, 3)).map(([fill, isPassphrase, passes]) => {
    const keys = { slotId: idOf(byte), signingKey: filled(byte, 32), kemKey: filled(fill, 1216) }
    const argon2 = { salt: filled(byte, 16), passes, memoryKiB: 65_536 }
    return isPassphrase ? { ...keys, type: 'passphrase', argon2 } : { ...keys, type: 'recovery' }
  })

/** A device, and where a directory has it. */
const placed = (byte: number): fc.Arbitrary<[number, DeviceEntry, RemovedDevice]> =>
  fc.tuple(few(0, 1, 2), device(byte), removal(byte))

const bytes = [1, 2, 3, 4, 5]
const slotBytes = [21, 22, 23, 24, 25, 26]

/** The first device remains an owner: otherwise most steps would fail. */
const before: fc.Arbitrary<Directory> = fc
  .record({
    devices: fc.tuple(placed(1), placed(2), placed(3), placed(4), placed(5)),
    slots: fc.tuple(...slotBytes.map((byte) => fc.tuple(few(0, 1, 2), entry(byte)))),
    quota: few(0, 1, 2, 3),
    givers: fc.constantFrom<Directory['givers']>('owners and writers', 'owners'),
  })
  .map(({ devices, slots, quota, givers }) => {
    const at = <T extends readonly [number, ...unknown[]]>(wanted: number, all: readonly T[]) =>
      all.filter(([where]) => where === wanted)
    const [first, ...others] = devices
    const owner = { ...first[1], role: 'owner' as const }
    const recovery = slots.filter(([where]) => where === 1).map(([, one]) => one)
    const passphrases = recovery.filter(({ type }) => type === 'passphrase')
    const tooMany = new Set(passphrases.slice(1))
    return {
      number: number - 1,
      previous: filled(5, 32),
      devices: [owner, ...at(1, others).map(([, one]) => one)],
      removed: at(2, others).map(([, , one]) => one),
      recovery: recovery.filter((one) => !tooMany.has(one)),
      quota,
      givers,
      founderRandom: undefined,
    }
  })

type Edit = (directory: Directory) => Directory

const byDevice = (a: { deviceId: string }, b: { deviceId: string }): number =>
  a.deviceId < b.deviceId ? -1 : 1
const bySlot = (a: RecoveryEntry, b: RecoveryEntry): number => (a.slotId < b.slotId ? -1 : 1)

const changeDevice =
  (byte: number, fields: Partial<DeviceEntry>): Edit =>
  (directory) => ({
    ...directory,
    devices: directory.devices.map((one) => {
      return one.deviceId === idOf(byte) ? { ...one, ...fields } : one
    }),
  })

const remove =
  (byte: number, removed: number, record: typeof last | undefined): Edit =>
  (directory) => {
    const deviceId = idOf(byte)
    const devices = directory.devices.filter((one) => one.deviceId !== deviceId)
    const rest = directory.removed.filter((one) => one.deviceId !== deviceId)
    const left = record === undefined ? rest : [...rest, { deviceId, removed, ...record }]
    return { ...directory, devices, removed: left.toSorted(byDevice) }
  }

const add =
  (one: DeviceEntry): Edit =>
  (directory) => {
    const others = directory.devices.filter(({ deviceId }) => deviceId !== one.deviceId)
    return { ...directory, devices: [...others, one].toSorted(byDevice) }
  }

const setSlot =
  (slotId: string, one: RecoveryEntry | undefined): Edit =>
  (directory) => {
    const recovery = directory.recovery.filter((other) => other.slotId !== slotId)
    return {
      ...directory,
      recovery: (one === undefined ? recovery : [...recovery, one]).toSorted(bySlot),
    }
  }

const anyByte = fc.constantFrom(...bytes)
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc
    .tuple(fc.constantFrom(6, 7, 8, 1), few(number, number, number - 1))
    .chain(([byte, added]) => device(byte).map((one) => add({ ...one, added }))),
  fc
    .tuple(anyByte, few(number, number - 1), fc.constantFrom(last, last, noRecord, undefined))
    .map(([byte, removed, record]) => remove(byte, removed, record)),
  fc.tuple(anyByte, fc.constantFrom(...roles)).map(([byte, role]) => changeDevice(byte, { role })),
  fc
    .tuple(anyByte, fc.constantFrom('a', 'new'))
    .map(([byte, name]) => changeDevice(byte, { name })),
  fc.tuple(anyByte, few(0, number)).map(([byte, added]) => changeDevice(byte, { added })),
  fc.tuple(anyByte, admitter).map(([byte, by]) => changeDevice(byte, by)),
  anyByte.map((byte) => changeDevice(byte, { kemKey: filled(98, 1216) })),
  anyByte.map((byte) => changeDevice(byte, { keySignature: filled(98, 64) })),
  few(0, 1, 2, 9).map((quota): Edit => (directory) => ({ ...directory, quota })),
  fc
    .constantFrom<Directory['givers']>('owners and writers', 'owners')
    .map((givers): Edit => (directory) => ({ ...directory, givers })),
  fc
    .tuple(fc.constantFrom(...slotBytes), fc.boolean())
    .chain(([byte, isThere]) =>
      entry(byte).map((one) => setSlot(idOf(byte), isThere ? one : undefined)),
    ),
  fc.constant((directory: Directory): Directory => ({ ...directory, removed: [] })),
  fc.constant((directory: Directory): Directory => ({ ...directory, number: number + 1 })),
  fc.constant((directory: Directory): Directory => ({ ...directory, previous: filled(1, 32) })),
)

interface Trial {
  readonly before: Directory
  readonly next: Directory
  readonly author: AdmittedBy
  readonly isSameEpoch: boolean
}

const trial = (edits: { minLength: number; maxLength: number }): fc.Arbitrary<Trial> =>
  fc
    .tuple(before, fc.array(edit, edits), fc.constantFrom(...admissions), fc.boolean())
    .map(([first, steps, author, isSameEpoch]): Trial => {
      const started = { ...first, number, previous: directoryHash(store.seed, first) }
      const next = steps.reduce<Directory>((directory, step) => step(directory), started)
      return { before: first, next, author, isSameEpoch }
    })

function forReference({
  devices,
  removed,
  recovery,
  givers,
  ...rest
}: Directory): ReferenceDirectory {
  return {
    ...rest,
    givers: givers === 'owners' ? 2 : 1,
    previous: rest.previous && toHex(rest.previous),
    devices: devices.map((one) => {
      const { slotId = '00'.repeat(16) } = one
      return { ...one, admittedBy: referenceGrade(one.admittedBy), slotId }
    }),
    removed: removed.map((one) => ({ ...one, record: toHex(one.record) })),
    recoveries: recovery.map((one) => {
      const { slotId, signingKey, kemKey } = one
      const keys = { slotId, signingKey, kemKey }
      return one.type === 'recovery'
        ? { ...keys, slotType: 3 }
        : { ...keys, slotType: 2, ...one.argon2 }
    }),
  }
}

function referenceGrade(admittedBy: AdmittedBy): 1 | 2 | 3 {
  return ({ owner: 1, recovery: 2, passphrase: 3 } as const)[admittedBy]
}

function referenceAuthor(author: AdmittedBy): ReferenceAuthor {
  const signingKey = fromHex('')
  if (author === 'owner') return { as: 'device', role: 'owner', signingKey }
  const grade = author === 'recovery' ? 'owner' : 'writer'
  const { slotId = '' } = admitterAs(author)
  const recovery = { as: 'recovery', grade, signingKey, slotId } as const
  return recovery
}

async function verdicts({ before: previous, next, author, isSameEpoch }: Trial) {
  const lastRecord = { sequence: last.sequence, record: toHex(last.record) }
  return [
    await verdictOf(() => {
      checkSuccessor({
        ...store,
        previous,
        next,
        isSameEpoch,
        author: admitterAs(author),
        lastRecordOf: () => last,
      })
    }),
    await verdictOf(() => {
      const how = { ...store, author: referenceAuthor(author), sameEpoch: isSameEpoch }
      const [from, to] = [forReference(previous), forReference(next)]
      checkNextDirectory(from, to, { ...how, lastRecord: () => lastRecord })
    }),
  ] as const
}

test('a step is accepted or refused alike, for one reason', { tags: 'slow' }, async () => {
  const seen = new Set<string>()
  const property = fc.asyncProperty(trial({ minLength: 0, maxLength: 1 }), async (one) => {
    const [product, reference] = await verdicts(one)
    seen.add(product)
    expect(product).toBe(reference)
  })
  await fc.assert(property, { seed, numRuns: full ? 5000 : 1000 })
  expect([...seen].toSorted()).toEqual(['accepted', 'keyring_chain', 'record_role'])
})

test('several steps at once are accepted or refused alike', { tags: 'slow' }, async () => {
  const property = fc.asyncProperty(trial({ minLength: 2, maxLength: 4 }), async (one) => {
    const [product, reference] = await verdicts(one)
    expect(product === 'accepted').toBe(reference === 'accepted')
  })
  await fc.assert(property, { seed, numRuns: full ? 5000 : 1000 })
})
