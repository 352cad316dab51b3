// Keyrings that were tampered with, or made wrongly by a holder of the keys.

import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { hasCode } from '../../../src/errors.ts'
import { type DeviceEntry, type Directory, encodeDirectory } from '../../../src/format/directory.ts'
import { recordContext, sealEnvelope } from '../../../src/format/envelope.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type KeyringFile,
  type Slot,
} from '../../../src/format/keyring.ts'
import { sealArchives } from '../../../src/keys/archive.ts'
import { epochKeys } from '../../../src/keys/epoch.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { createKeyring, openKeyring, type Unlock } from '../../../src/keys/keyring.ts'
import { openSlot, sealSlot } from '../../../src/keys/slot.ts'

const random = systemRandom
const founder = await generateIdentity()
const recoveryKey = random(32)
const code = (name: string): unknown => expect.objectContaining({ code: name })
const by = (identity: typeof founder): Unlock => ({ type: 'identity', identity })
const first = await createKeyring({ identity: founder, passphrase: undefined, recoveryKey, random })
const { storeId } = first
const strangers: DeviceEntry[] = []
while (strangers.length < 4) {
  const { deviceId, signing, kem } = await generateIdentity()
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  strangers.push({ deviceId, ...keys, role: 'writer', added: 0, removed: 0 })
}

describe('a keyring that is wrong inside:', () => {
  const directoryOf = (change: Partial<Directory>): Uint8Array =>
    sealEnvelope(
      'directory',
      first.epoch.directory,
      recordContext(storeId),
      random(32),
      encodeDirectory({ ...first.directory, ...change }),
    )
  const other = epochKeys(storeId, random(32), random(32))
  const archives = sealArchives(storeId, first.epoch, [other], random)

  /** The founder's keyring has four slots for devices. */
  const members = [...first.directory.devices, ...strangers].toSorted((a, b) => {
    return a.deviceId < b.deviceId ? -1 : 1
  })

  test.each<readonly [string, string, (file: KeyringFile) => KeyringFile]>([
    ['another number outside', 'keyring_mismatch', (file) => ({ ...file, number: 1 })],
    [
      'a recovery slot that the directory lacks',
      'keyring_mismatch',
      (file) => ({ ...file, directory: directoryOf({ recovery: [] }) }),
    ],
    [
      'a recovery slot under another id',
      'keyring_mismatch',
      (file) => {
        const recovery = first.directory.recovery.map((one) => ({
          ...one,
          slotId: 'ff'.repeat(16),
        }))
        return { ...file, directory: directoryOf({ recovery }) }
      },
    ],
    [
      'more active devices than slots',
      'keyring_mismatch',
      (file) => ({ ...file, directory: directoryOf({ devices: members.slice(0, 5) }) }),
    ],
    [
      'a directory under another key',
      'envelope_commitment',
      (file) => ({
        ...file,
        directory: sealEnvelope(
          'directory',
          { ...first.epoch.directory, key: random(32) },
          recordContext(storeId),
          random(32),
          encodeDirectory(first.directory),
        ),
      }),
    ],
    [
      'an archive of A alone',
      'keyring_mismatch',
      (file) => ({ ...file, archiveA: archives.archiveA }),
    ],
    [
      'an archive of C alone',
      'keyring_mismatch',
      (file) => ({ ...file, archiveC: archives.archiveC }),
    ],
    [
      'archives that name one epoch differently',
      'keyring_mismatch',
      (file) => ({
        ...file,
        archiveA: archives.archiveA,
        archiveC: sealArchives(storeId, first.epoch, [{ ...other, kid: '0'.repeat(16) }], random)
          .archiveC,
      }),
    ],
    [
      'archives that hold another A under a kid',
      'keyring_mismatch',
      (file) => ({
        ...file,
        ...sealArchives(storeId, first.epoch, [{ ...other, auditKey: random(32) }], random),
      }),
    ],
    [
      'an archive of A with another hash of C',
      'keyring_mismatch',
      (file) => ({
        ...file,
        archiveC: archives.archiveC,
        archiveA: sealArchives(
          storeId,
          first.epoch,
          [{ ...other, contentKeyHash: random(32) }],
          random,
        ).archiveA,
      }),
    ],
    [
      'archives swapped',
      'envelope_commitment',
      (file) => ({ ...file, archiveA: file.archiveC, archiveC: file.archiveA }),
    ],
    [
      'the current epoch among the older ones',
      'keyring_mismatch',
      (file) => ({ ...file, ...sealArchives(storeId, first.epoch, [first.epoch], random) }),
    ],
    [
      'archives that pair the keys of two epochs',
      'keyring_mismatch',
      (file) => ({
        ...file,
        archiveA: archives.archiveA,
        archiveC: sealArchives(storeId, first.epoch, [{ ...other, contentKey: random(32) }], random)
          .archiveC,
      }),
    ],
  ])('%s is %s', async (_, expected, edit) => {
    const bytes = edited(first.bytes, edit)
    await expect(openKeyring(bytes, storeId, by(founder))).rejects.toMatchObject({ code: expected })
  })

  test('as many active devices as slots, and removed ones, open', async () => {
    const [removed, ...active] = members.map((member, index) => {
      return index === 0 ? { ...member, added: 0, removed: 1 } : member
    })
    const devices = removed === undefined ? active : [removed, ...active]
    const bytes = edited(first.bytes, (file) => {
      const next = { number: 1, previous: [random(32)], founderRandom: undefined }
      const directory = directoryOf({ ...next, devices })
      return { ...file, number: 1, directory }
    })
    const { directory } = await openKeyring(bytes, storeId, by(founder))
    expect(directory.devices).toEqual(devices)
  })

  test('a slot of ours that is damaged is envelope_tag, not wrong_key', async () => {
    const mine = ownSlot()
    const damaged = { ...mine, envelope: flip(mine.envelope, 100) }
    const bytes = edited(first.bytes, (file) => ({
      ...file,
      slots: file.slots.map((slot) => (sameSlot(slot, mine) ? damaged : slot)),
    }))
    await expect(openKeyring(bytes, storeId, by(founder))).rejects.toMatchObject({
      code: 'envelope_tag',
    })
  })

  test('a slot whose ciphertext is changed opens for no device', async () => {
    const mine = ownSlot()
    const { envelope, ciphertext } = mine
    const changed = { ...mine, envelope, ciphertext: flip(ciphertext, 500) }
    const file = decodeKeyring(first.bytes)
    expect(openSlot(file, changed, founder.kem)).toBeUndefined()
  })

  test('a slot that holds the keys of another epoch is keyring_mismatch', () => {
    const common = { type: 'device', slotId: undefined, argon2: undefined, auditor: false } as const
    const forged = sealSlot(
      storeId,
      { ...first.epoch, auditKey: other.auditKey, contentKey: other.contentKey },
      { ...common, kemKey: founder.kem.publicKey },
      random,
    )
    expect(() => openSlot(decodeKeyring(first.bytes), forged, founder.kem)).toThrow(
      code('keyring_mismatch'),
    )
  })

  function ownSlot(): Slot {
    const file = decodeKeyring(first.bytes)
    const mine = file.slots.find((slot) => openSlot(file, slot, founder.kem) !== undefined)
    if (mine === undefined) throw new Error('The founder has no slot')
    return mine
  }
})

test(
  'every changed byte of a keyring is refused, but in the slot of somebody else',
  { tags: 'slow' },
  async () => {
    // Every byte of the framing, and one in each field of every slot and envelope.
    const places = Array.from({ length: first.bytes.length }, (_, at) => at).filter(
      (at) => at < 36 || at % 61 === 0 || at > first.bytes.length - 4,
    )
    for (const at of places) {
      const bytes = flip(first.bytes, at)
      expect(await isRefusedOrForeign(bytes), `byte ${at}`).toBe(true)
    }
  },
)

/** Opening fails with a code, or what was changed is a slot that is not the founder's. */
async function isRefusedOrForeign(bytes: Uint8Array): Promise<boolean> {
  try {
    const { epoch, directory } = await openKeyring(bytes, storeId, by(founder))
    return epoch.kid === first.epoch.kid && directory.number === 0
  } catch (error) {
    return hasCode(error, ...refusals)
  }
}

const refusals = [
  'keyring_malformed',
  'keyring_mismatch',
  'upgrade_required',
  'store_id_mismatch',
  'wrong_key',
  'envelope_magic',
  'envelope_suite',
  'envelope_type',
  'envelope_flags',
  'envelope_epoch',
  'envelope_commitment',
  'envelope_tag',
] as const

function edited(bytes: Uint8Array, edit: (file: KeyringFile) => KeyringFile): Uint8Array {
  return encodeKeyring(edit(decodeKeyring(bytes)))
}

function flip(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))
}

function sameSlot(a: Slot, b: Slot): boolean {
  return toHex(a.ciphertext) === toHex(b.ciphertext)
}
