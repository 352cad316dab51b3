// FORMAT §7: the keyring blob. It follows from the directory and the keys of its epochs, so that it
// is made again to be checked. Slots, archives and the directory have files of their own.

import { openArchives, sealAuditArchive, sealContentArchive } from './archives.ts'
import { concat, equal, fromHex, Reader, u16, u32, u64, u8, utf8, zeros } from './bytes.ts'
import { decodeDirectory, type Directory, encodeDirectory } from './directory.ts'
import {
  directoryContext,
  type EnvelopeType,
  openEnvelope,
  readKid,
  sealEnvelope,
  zeroHedge,
} from './envelope.ts'
import { encapsulate } from './kem.ts'
import { auditKeys, type Epoch } from './keys.ts'
import { ensure, refuse } from './refusal.ts'
import {
  ciphertextLength,
  makeAuditorSlots,
  makeSlots,
  passphrasePrefix,
  type Slot,
  slotBody,
  slotCounts,
  slotOrder,
} from './slots.ts'

const keyringBytesMax = 4 * 1024 * 1024
const slotsMax = 513
/** 64 bytes of plaintext, padded to 512. */
const slotEnvelopeLength = 608
const passphrasePrefixLength = 40

export interface Keyring {
  readonly kid: string
  readonly seed: string
  readonly directoryNumber: number
  readonly slots: readonly Slot[]
  /** Envelopes. */
  readonly auditArchive: Uint8Array
  readonly contentArchive: Uint8Array
  readonly directory: Uint8Array
}

// Framing

const publicLengths = { 1: ciphertextLength, 2: passphrasePrefixLength + ciphertextLength }

export function encodeKeyring(keyring: Keyring): Uint8Array {
  const { kid, seed, slots, directoryNumber } = keyring
  const ids = concat(fromHex(kid), fromHex(seed), u64(directoryNumber))
  const header = concat(utf8('GLKK'), u8(1), u8(0), u16(slots.length), ids)
  const bodies = slots.map((slot) => {
    const body = slotBody(slot)
    return concat(u8(slot.type), u8(0), u16(body.length), body)
  })
  const ends = [keyring.auditArchive, keyring.contentArchive, keyring.directory]
  return concat(header, ...bodies, ...ends.map((bytes) => concat(u32(bytes.length), bytes)))
}

/** The framing alone: nothing is opened. Else `keyring_malformed`. */
export function decodeKeyring(bytes: Uint8Array): Keyring {
  ensure(bytes.length <= keyringBytesMax, 'keyring_malformed', 'A keyring has at most 4 MiB')
  const reader = new Reader(bytes, 'keyring_malformed')
  ensure(equal(reader.raw(4), utf8('GLKK')), 'keyring_malformed', 'This is not a keyring')
  ensure(reader.u8() === 1, 'upgrade_required', 'The keyring has another version')
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const slotCount = reader.u16()
  ensure(slotCount <= slotsMax, 'keyring_malformed', 'A keyring has at most 513 slots')
  const [kid, seed, directoryNumber] = [reader.hex(16), reader.hex(16), reader.u64()]
  const slots = Array.from({ length: slotCount }, () => readSlot(reader))
  const [auditArchive, contentArchive, directory] = [
    reader.raw(reader.u32()),
    reader.raw(reader.u32()),
    reader.raw(reader.u32()),
  ]
  reader.end()
  checkSlots(slots)
  const keyring = { kid, seed, directoryNumber, slots, auditArchive, contentArchive, directory }
  checkKids(keyring)
  return keyring
}

function readSlot(reader: Reader): Slot {
  const type = reader.u8()
  if (type !== 1 && type !== 2) return refuse('upgrade_required', 'A slot has an unknown type')
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const body = reader.raw(reader.u16())
  const publicLength = publicLengths[type]
  const right = body.length === publicLength + slotEnvelopeLength
  ensure(right, 'keyring_malformed', 'A slot has another length than its type')
  return { type, publicBytes: body.slice(0, publicLength), envelope: body.slice(publicLength) }
}

function checkSlots(slots: readonly Slot[]): void {
  const orders = slots.map(slotOrder)
  const ascending = orders.every((order, i) => i === 0 || order > (orders[i - 1] ?? ''))
  ensure(ascending, 'keyring_malformed', 'The slots do not ascend')
  const passphrases = slots.filter((slot) => slot.type === 2)
  ensure(passphrases.length <= 1, 'keyring_malformed', 'There is at most one passphrase slot')
  const others = slots.length - passphrases.length
  const padded = others >= 4 && Number.isInteger(Math.log2(others))
  ensure(padded, 'keyring_malformed', 'The slots of type 1 are not padded to 4, 8, 16, …')
}

/** Every envelope carries the keyring's kid. */
function checkKids(keyring: Keyring): void {
  const { kid, slots, auditArchive, contentArchive, directory } = keyring
  const envelopes: (readonly [EnvelopeType, Uint8Array])[] = [
    ...slots.map((slot) => ['slot', slot.envelope] as const),
    ['archive', auditArchive],
    ['archive', contentArchive],
    ['directory', directory],
  ]
  for (const [type, envelope] of envelopes) {
    const own = readKid(type, envelope) === kid
    ensure(own, 'envelope_epoch', 'An envelope of the keyring has another kid')
  }
}

// What follows from the directory and the keys

/** The keyring; `older` are the epochs before, oldest first. */
export function makeKeyring(
  seed: string,
  epoch: Epoch,
  older: readonly Epoch[],
  directory: Directory,
): Keyring {
  return {
    kid: epoch.kid,
    seed,
    directoryNumber: directory.number,
    slots: makeSlots(seed, epoch, directory),
    auditArchive: sealAuditArchive(seed, epoch, older),
    contentArchive: sealContentArchive(seed, epoch, older),
    directory: sealDirectory(seed, epoch, directory),
  }
}

function sealDirectory(seed: string, epoch: Epoch, directory: Directory): Uint8Array {
  const [keys, context] = [auditKeys(epoch, 'directory'), directoryContext(seed)]
  return sealEnvelope('directory', keys, context, zeroHedge, encodeDirectory(directory))
}

/** The directory of a keyring that is the one which it and the keys give. */
export function openDirectory(keyring: Keyring, epoch: Epoch): Directory {
  const context = directoryContext(keyring.seed)
  const keys = auditKeys(epoch, 'directory')
  const directory = decodeDirectory(openEnvelope('directory', keys, context, keyring.directory))
  const numbered = directory.number === keyring.directoryNumber
  ensure(numbered, 'keyring_mismatch', 'The keyring names another directory number')
  const older = openArchives(keyring, epoch)
  if (epoch.content === undefined) checkForAuditor(keyring, epoch, older, directory)
  else checkWhole(keyring, makeKeyring(keyring.seed, epoch, older, directory))
  return directory
}

function checkWhole(keyring: Keyring, expected: Keyring): void {
  const [found, wanted] = [keyring, expected].map(({ slots }) => slots.map(slotOrder).join())
  ensure(found === wanted, 'keyring_slots', 'The slots are not those of the directory')
  const same = equal(encodeKeyring(keyring), encodeKeyring(expected))
  ensure(same, 'keyring_mismatch', 'The keyring is not the one of its directory and keys')
}

/** What can be made again without the content key. */
function checkForAuditor(
  keyring: Keyring,
  epoch: Epoch,
  older: readonly Epoch[],
  directory: Directory,
): void {
  const { seed, slots } = keyring
  const recipients = [...directory.devices, ...directory.recoveries]
  const sealable = recipients.every(({ kemKey }) => encapsulate(kemKey, zeros(64)) !== undefined)
  ensure(sealable, 'keyring_slots', 'Nothing can be sealed to an X-Wing key')
  const there = new Set(slots.map(slotOrder))
  const own = makeAuditorSlots(seed, epoch, directory).map(slotOrder)
  const present = own.every((order) => there.has(order))
  ensure(present, 'keyring_slots', 'The slot of an auditor is not that of the directory')
  const passphrases = slots.filter((slot) => slot.type === 2)
  const counts = slotCounts(directory)
  const counted = counts[2] === passphrases.length && counts[1] + counts[2] === slots.length
  ensure(counted, 'keyring_slots', 'The directory gives another number of slots')
  const entries = directory.recoveries.filter((entry) => entry.slotType === 2)
  const prefixed = entries.every((entry, i) => {
    const publicBytes = passphrases[i]?.publicBytes ?? new Uint8Array()
    return equal(publicBytes.slice(0, passphrasePrefixLength), passphrasePrefix(entry))
  })
  ensure(prefixed, 'keyring_slots', 'A passphrase slot is not that of the directory')
  const archived = equal(keyring.auditArchive, sealAuditArchive(seed, epoch, older))
  const listed = equal(keyring.directory, sealDirectory(seed, epoch, directory))
  ensure(archived && listed, 'keyring_mismatch', 'The keyring is not the one of its directory')
}
