// The public framing of a keyring (FORMAT §7): slots, archives and the sealed directory, and the
// plaintext of the archives. Checks strictly what can be checked without a key; keys/ opens the
// envelopes.

import {
  ByteReader,
  ByteWriter,
  compareBytes,
  equalBytes,
  fromHex,
  type Sealed,
  toHex,
  utf8,
} from '../bytes.ts'
import { envelopeOverhead, sealedFraming } from '../crypto/aead.ts'
import { kemCiphertextLength } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import { keyringBytesMax, keyringSlotsMax, MEBIBYTE, passphrasesMax } from '../limits.ts'
import { argon2Bytes, type Argon2Parameters, readArgon2 } from './directory.ts'
import { checkPadding, type EnvelopeType, paddedLength, readKid } from './envelope.ts'
import { newerRelease } from './public-files.ts'

/** `key` is for a device, a recovery key, or no one: it does not show whose it is. */
export const slotTypes = { key: 1, passphrase: 2 } as const

/** Sealed keys of an epoch. `ciphertext` is X-Wing's. */
export interface Slot {
  readonly type: keyof typeof slotTypes
  /** For a passphrase only: they must be known before its slot can be opened. */
  readonly passphrase: PassphraseSlot | undefined
  readonly ciphertext: Uint8Array
  readonly envelope: Uint8Array
}

export interface PassphraseSlot {
  readonly slotId: string
  readonly argon2: Argon2Parameters
}

export interface KeyringFile {
  readonly kid: string
  readonly seed: string
  readonly number: number
  readonly slots: readonly Slot[]
  readonly archiveA: Uint8Array
  readonly archiveC: Uint8Array
  readonly directory: Uint8Array
}

/** The key of an older epoch. In the archive of A, `hashC` is H(C); in that of C, undefined. */
export interface ArchiveEntry {
  readonly kid: string
  readonly key: Uint8Array
  readonly hashC: Uint8Array | undefined
}

/** A ‖ C, or for an auditor A ‖ H(C). */
export const slotPlaintextLength: number = 64

const MAGIC = utf8('GLKK')
const VERSION = 1
const ARCHIVE_VERSION = 1
const KEY_SLOTS_MIN = 4
const SLOT_ENVELOPE_LENGTH = paddedLength('slot', slotPlaintextLength) + envelopeOverhead

/** Throws `change_too_large` if readers would refuse the result. */
export function encodeKeyring(file: KeyringFile): Sealed {
  const writer = new ByteWriter()
    .raw(MAGIC)
    .u8(VERSION)
    .u8(0)
    .u16(file.slots.length)
    .raw(fromHex(file.kid + file.seed))
    .u64(file.number)
  for (const slot of file.slots) {
    const body = new ByteWriter().raw(slotPublicBytes(slot)).raw(slot.envelope).bytes()
    writer.u8(slotTypes[slot.type]).u8(0).u16(body.length).raw(body)
  }
  for (const part of [file.archiveA, file.archiveC, file.directory]) {
    writer.u32(part.length).raw(part)
  }
  const bytes = writer.bytes()
  if (bytes.length > keyringBytesMax) {
    throw new StoreError(
      'change_too_large',
      `Its devices and keys would need more than ${keyringBytesMax / MEBIBYTE} MiB, mostly for ` +
        'those of earlier times: create a new store, and move the memories there with ' +
        '`gitlocket export` and `gitlocket import`',
    )
  }
  return sealedFraming(bytes)
}

/** Throws `keyring_malformed`, `upgrade_required`, or an envelope code that needs no key. */
export function decodeKeyring(bytes: Uint8Array): KeyringFile {
  if (bytes.length > keyringBytesMax) throw malformed('it is too large')
  const reader = new ByteReader(bytes, malformed)
  if (!equalBytes(reader.raw(4), MAGIC)) throw malformed('it does not start with GLKK')
  if (reader.u8() !== VERSION) throw newerRelease()
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const count = reader.u16()
  if (count > keyringSlotsMax) throw malformed('it has too many slots')
  const kid = toHex(reader.raw(16))
  const seed = toHex(reader.raw(16))
  const number = reader.u64()
  const slots = Array.from({ length: count }, () => readSlot(reader))
  const archiveA = reader.raw(reader.u32())
  const archiveC = reader.raw(reader.u32())
  const directory = reader.raw(reader.u32())
  reader.end()
  const file = { kid, seed, number, slots, archiveA, archiveC, directory }
  checkSlotCounts(slots)
  checkSlotOrder(slots)
  checkKids(file)
  return file
}

/** The public bytes that a slot's envelope is bound to, in addition to its type (FORMAT §3.1). */
export function slotPublicBytes(slot: Omit<Slot, 'envelope'>): Uint8Array {
  const writer = new ByteWriter()
  const { passphrase } = slot
  if (passphrase !== undefined) {
    writer.raw(fromHex(passphrase.slotId)).raw(argon2Bytes(passphrase.argon2))
  }
  return writer.raw(slot.ciphertext).bytes()
}

/** Sorts slots by type, then by body. */
export function sortSlots(slots: readonly Slot[]): readonly Slot[] {
  return slots.toSorted(compareSlots)
}

export function encodeArchive(entries: readonly ArchiveEntry[]): Uint8Array {
  const writer = new ByteWriter().u8(ARCHIVE_VERSION).u8(0).u16(entries.length)
  for (const { kid, key, hashC } of entries) {
    writer.raw(fromHex(kid)).raw(key)
    if (hashC !== undefined) writer.raw(hashC)
  }
  return writer.bytes()
}

/** Throws `keyring_malformed`, `upgrade_required` or `envelope_padding`. */
export function decodeArchive(padded: Uint8Array, master: 'A' | 'C'): readonly ArchiveEntry[] {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== ARCHIVE_VERSION) throw newerRelease()
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const entries = Array.from({ length: reader.u16() }, () => ({
    kid: toHex(reader.raw(16)),
    key: reader.raw(32),
    hashC: master === 'A' ? reader.raw(32) : undefined,
  }))
  checkPadding('archive', padded, reader.offset)
  return entries
}

function readSlot(reader: ByteReader): Slot {
  const code = reader.u8()
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const body = new ByteReader(reader.raw(reader.u16()), malformed)
  const type = slotTypeOf(code)
  const passphrase =
    type === 'passphrase' ? { slotId: toHex(body.raw(16)), argon2: readArgon2(body) } : undefined
  const ciphertext = body.raw(kemCiphertextLength)
  const envelope = body.raw(SLOT_ENVELOPE_LENGTH)
  body.end()
  return { type, passphrase, ciphertext, envelope }
}

function slotTypeOf(code: number): Slot['type'] {
  switch (code) {
    case slotTypes.key:
      return 'key'
    case slotTypes.passphrase:
      return 'passphrase'
    default:
      throw newerRelease()
  }
}

/** The number of slots of type 1 for `holders` devices and recovery keys (FORMAT §7). */
export function keySlotCount(holders: number): number {
  let count = KEY_SLOTS_MIN
  while (count < holders) count *= 2
  return count
}

/** There are 4, 8, 16, … slots of type 1, and a few of passphrases. */
function checkSlotCounts(slots: readonly Slot[]): void {
  const keys = slots.filter(({ type }) => type === 'key').length
  if (keys !== keySlotCount(keys)) {
    throw malformed('the number of its slots of type 1 is not 4, 8, 16, …')
  }
  if (slots.filter(({ type }) => type === 'passphrase').length > passphrasesMax) {
    throw malformed('it has too many passphrases')
  }
}

function checkSlotOrder(slots: readonly Slot[]): void {
  slots.forEach((slot, index) => {
    const before = slots[index - 1]
    if (before !== undefined && compareSlots(before, slot) >= 0) {
      throw malformed('its slots do not ascend')
    }
  })
}

function compareSlots(a: Slot, b: Slot): number {
  const byType = slotTypes[a.type] - slotTypes[b.type]
  return byType === 0 ? compareBytes(orderOf(a), orderOf(b)) : byType
}

/** Passphrases ascend by slot id, so that none has two slots, other slots by their bytes. */
function orderOf(slot: Slot): Uint8Array {
  return slot.passphrase === undefined ? slotPublicBytes(slot) : fromHex(slot.passphrase.slotId)
}

/** Every envelope in a keyring has the keyring's kid. */
function checkKids({ kid, slots, archiveA, archiveC, directory }: KeyringFile): void {
  const envelopes: readonly (readonly [EnvelopeType, Uint8Array])[] = [
    ...slots.map(({ envelope }) => ['slot', envelope] as const),
    ['archive', archiveA],
    ['archive', archiveC],
    ['directory', directory],
  ]
  for (const [type, envelope] of envelopes) {
    if (readKid(type, envelope) === kid) continue
    throw new StoreError('envelope_epoch', 'A part of a keyring belongs to another epoch')
  }
}

function malformed(problem: string): StoreError {
  return new StoreError('keyring_malformed', `A keyring is malformed: ${problem}`)
}
