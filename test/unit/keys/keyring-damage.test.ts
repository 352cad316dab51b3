// Keyrings that were tampered with, or made wrongly by a holder of the keys.

import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { type DeviceEntry, type Directory, encodeDirectory } from '../../../src/format/directory.ts'
import { noHedge, recordContext, sealEnvelope } from '../../../src/format/envelope.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type KeyringFile,
  type Slot,
  sortSlots,
} from '../../../src/format/keyring.ts'
import { zeroId } from '../../../src/format/record.ts'
import { sealArchives } from '../../../src/keys/archive.ts'
import { epochKeys } from '../../../src/keys/epoch.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { checkKeyring } from '../../../src/keys/keyring-bytes.ts'
import { createKeyring, openDirectory, openKeyring } from '../../../src/keys/keyring.ts'
import { openSlot } from '../../../src/keys/slot.ts'
import type { Unlock } from '../../../src/keys/unlock.ts'
import { inSlices } from '../../../src/time-slice.ts'
import { memberOf } from '../../support/forge-fault.ts'

const random = systemRandom
const founder = await generateIdentity()
const recoveryKey = random(32)
const code = (name: string): unknown => expect.objectContaining({ code: name })
const by = (identity: typeof founder): Unlock => ({ type: 'identity', identity })
const first = await createKeyring({
  identity: founder,
  name: '',
  passphrase: undefined,
  recoveryKeyOf: () => recoveryKey,
  random,
})
const strangers: DeviceEntry[] = []
while (strangers.length < 4) {
  strangers.push(memberOf(await generateIdentity(), 'writer', 0))
}

/** The founder's keyring has four slots of type 1. */
const members = [...first.directory.devices, ...strangers].toSorted((a, b) => {
  return a.deviceId < b.deviceId ? -1 : 1
})

describe('a keyring that is wrong inside:', () => {
  const directoryOf = (change: Partial<Directory>): Uint8Array =>
    sealEnvelope(
      'directory',
      first.epoch.directory,
      recordContext(first.epoch),
      noHedge,
      encodeDirectory({ ...first.directory, ...change }),
    )
  const other = epochKeys(first.epoch.seed, random(32), random(32))
  const archives = sealArchives(first.epoch, [other])

  test.each<readonly [string, string, (file: KeyringFile) => KeyringFile]>([
    ['another number outside', 'keyring_mismatch', (file) => ({ ...file, number: 1 })],
    [
      'a directory under another key',
      'envelope_commitment',
      (file) => ({
        ...file,
        directory: sealEnvelope(
          'directory',
          { ...first.epoch.directory, key: random(32) },
          recordContext(first.epoch),
          noHedge,
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
        archiveC: sealArchives(first.epoch, [{ ...other, kid: '0'.repeat(32) }]).archiveC,
      }),
    ],
    [
      'archives that hold another A under a kid',
      'keyring_mismatch',
      (file) => ({
        ...file,
        ...sealArchives(first.epoch, [{ ...other, auditKey: random(32) }]),
      }),
    ],
    [
      'an archive of A with another hash of C',
      'keyring_mismatch',
      (file) => ({
        ...file,
        archiveC: archives.archiveC,
        archiveA: sealArchives(first.epoch, [{ ...other, contentKeyHash: random(32) }]).archiveA,
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
      (file) => ({ ...file, ...sealArchives(first.epoch, [first.epoch]) }),
    ],
    [
      'archives that pair the keys of two epochs',
      'keyring_mismatch',
      (file) => ({
        ...file,
        archiveA: archives.archiveA,
        archiveC: sealArchives(first.epoch, [{ ...other, contentKey: random(32) }]).archiveC,
      }),
    ],
  ])('%s is %s', async (_, expected, edit) => {
    const bytes = edited(first.bytes, edit)
    await expect(openKeyring(bytes, zeroId, by(founder))).rejects.toMatchObject({ code: expected })
  })

  /** A keyring that opens is checked: everything else in it must follow from the opened parts. */
  test.each<readonly [string, string, (file: KeyringFile) => KeyringFile]>([
    [
      'a directory without an entry that has a slot',
      'keyring_slots',
      (file) => ({ ...file, directory: directoryOf({ recovery: [] }) }),
    ],
    [
      'an entry under another id',
      'keyring_slots',
      (file) => {
        const recovery = first.directory.recovery.map((one) => {
          return { ...one, slotId: 'ff'.repeat(16) }
        })
        return { ...file, directory: directoryOf({ recovery }) }
      },
    ],
    [
      'more active devices than slots',
      'keyring_slots',
      (file) => ({ ...file, directory: directoryOf({ devices: members.slice(0, 5) }) }),
    ],
    [
      'as many slots as there should be, for others',
      'keyring_slots',
      (file) => ({ ...file, directory: directoryOf({ devices: members.slice(0, 3) }) }),
    ],
    [
      'slots of another making for nobody',
      'keyring_slots',
      (file) => ({ ...file, slots: sortSlots(file.slots.map(damagedUnlessOurs)) }),
    ],
  ])('%s is %s, once everything is made again', async (_, expected, edit) => {
    const bytes = edited(first.bytes, edit)
    await expect(openAndCheck(bytes)).rejects.toMatchObject({ code: expected })
  })

  test('another seed outside is wrong_key, and store_seed_mismatch with the keys', async () => {
    const bytes = edited(first.bytes, (file) => ({ ...file, seed: '77'.repeat(16) }))
    await expect(openKeyring(bytes, zeroId, by(founder))).rejects.toThrow(code('wrong_key'))
    const epochs = new Map([[first.epoch.kid, first.epoch]])
    expect(() => openDirectory(bytes, epochs)).toThrow(code('store_seed_mismatch'))
  })

  function damagedUnlessOurs(slot: Slot): Slot {
    return sameSlot(slot, ownSlot()) ? slot : { ...slot, ciphertext: flip(slot.ciphertext, 7) }
  }

  function ownSlot(): Slot {
    const file = decodeKeyring(first.bytes)
    const mine = file.slots.find((slot) => openSlot(file, slot, founder.kem) !== undefined)
    if (mine === undefined) throw new Error('The founder has no slot')
    return mine
  }
})

/** As a member does: opens it, and makes it again. */
async function openAndCheck(bytes: Uint8Array): Promise<void> {
  const { directory, epoch, epochs } = await openKeyring(bytes, zeroId, by(founder))
  const older = [...epochs.values()].filter(({ kid }) => kid !== epoch.kid)
  await inSlices(checkKeyring(decodeKeyring(bytes), { directory, epoch, older }))
}

function edited(bytes: Uint8Array, edit: (file: KeyringFile) => KeyringFile): Uint8Array {
  return encodeKeyring(edit(decodeKeyring(bytes)))
}

function flip(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))
}

function sameSlot(a: Slot, b: Slot): boolean {
  return toHex(a.ciphertext) === toHex(b.ciphertext)
}
