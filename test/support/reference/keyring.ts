// FORMAT §7: the keyring blob: its framing, its slots and its archives. The directory inside it has
// a file of its own.

import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js'
import { concat, equal, fromHex, label, Reader, toHex, u16, u32, u64, u8, utf8 } from './bytes.ts'
import { decodeDirectory, type Directory, encodeDirectory } from './directory.ts'
import {
  archiveContext,
  checkPadding,
  directoryContext,
  type EnvelopeKeys,
  type EnvelopeType,
  openEnvelope,
  readKid,
  sealEnvelope,
  slotContext,
} from './envelope.ts'
import { H, keyedH } from './hash.ts'
import {
  auditKeys,
  auditorEpoch,
  auditSaltKey,
  contentKeys,
  type Epoch,
  fullEpoch,
  kidOf,
} from './keys.ts'
import { ensure, refuse } from './refusal.ts'

const keyringBytesMax = 1024 * 1024
const slotsMax = 1024
const ciphertextLength = 1120
/** 64 bytes of plaintext, padded to 512. */
const slotEnvelopeLength = 600

export interface Slot {
  readonly type: 1 | 2 | 3
  /** What stands before the envelope; it ends in the KEM ciphertext. */
  readonly publicBytes: Uint8Array
  readonly envelope: Uint8Array
}

export interface Keyring {
  readonly kid: string
  readonly storeId: string
  readonly directoryNumber: number
  readonly slots: readonly Slot[]
  /** Envelopes. */
  readonly auditArchive: Uint8Array
  readonly contentArchive: Uint8Array
  readonly directory: Uint8Array
}

// Framing

const publicLengths = { 1: ciphertextLength, 2: 40 + ciphertextLength, 3: 16 + ciphertextLength }

export function encodeKeyring(keyring: Keyring): Uint8Array {
  const { kid, storeId, slots, directoryNumber } = keyring
  const ids = concat(fromHex(kid), fromHex(storeId), u64(directoryNumber))
  const header = concat(utf8('GLKK'), u8(1), u8(0), u16(slots.length), ids)
  const bodies = slots.map(({ type, publicBytes, envelope }) => {
    const body = concat(publicBytes, envelope)
    return concat(u8(type), u8(0), u16(body.length), body)
  })
  const ends = [keyring.auditArchive, keyring.contentArchive, keyring.directory]
  return concat(header, ...bodies, ...ends.map((bytes) => concat(u32(bytes.length), bytes)))
}

/** The framing alone: nothing is opened. Else `keyring_malformed`. */
export function decodeKeyring(bytes: Uint8Array): Keyring {
  ensure(bytes.length <= keyringBytesMax, 'keyring_malformed', 'A keyring has at most 1 MiB')
  const reader = new Reader(bytes, 'keyring_malformed')
  ensure(equal(reader.raw(4), utf8('GLKK')), 'keyring_malformed', 'This is not a keyring')
  ensure(reader.u8() === 1, 'upgrade_required', 'The keyring has another version')
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const slotCount = reader.u16()
  ensure(slotCount <= slotsMax, 'keyring_malformed', 'A keyring has at most 1,024 slots')
  const [kid, storeId, directoryNumber] = [reader.hex(8), reader.hex(16), reader.u64()]
  const slots = Array.from({ length: slotCount }, () => readSlot(reader))
  const [auditArchive, contentArchive, directory] = [
    reader.raw(reader.u32()),
    reader.raw(reader.u32()),
    reader.raw(reader.u32()),
  ]
  reader.end()
  checkSlots(slots)
  const keyring = { kid, storeId, directoryNumber, slots, auditArchive, contentArchive, directory }
  checkKids(keyring)
  return keyring
}

function readSlot(reader: Reader): Slot {
  const type = reader.u8()
  if (type !== 1 && type !== 2 && type !== 3) {
    return refuse('keyring_malformed', 'A slot has an unknown type')
  }
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const body = reader.raw(reader.u16())
  const publicLength = publicLengths[type]
  const right = body.length === publicLength + slotEnvelopeLength
  ensure(right, 'keyring_malformed', 'A slot has another length than its type')
  return { type, publicBytes: body.slice(0, publicLength), envelope: body.slice(publicLength) }
}

function checkSlots(slots: readonly Slot[]): void {
  for (const [i, slot] of slots.entries()) {
    const before = slots[i - 1]
    const ascending = before === undefined || before.type <= slot.type
    ensure(ascending, 'keyring_malformed', 'The slots do not ascend by type')
    // Those with a slot id begin with it.
    const ordered = before?.type !== slot.type || hexOf(before) < hexOf(slot)
    ensure(ordered, 'keyring_malformed', 'The slots of one type do not ascend')
  }
  const devices = slots.filter((slot) => slot.type === 1).length
  const padded = devices >= 4 && Number.isInteger(Math.log2(devices))
  ensure(padded, 'keyring_malformed', 'The device slots are not padded to 4, 8, 16, …')
  const passphrases = slots.filter((slot) => slot.type === 2).length
  ensure(passphrases <= 4, 'keyring_malformed', 'There are at most four passphrase slots')
}

function hexOf({ publicBytes }: Slot): string {
  return toHex(publicBytes)
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

// Slots

function slotKey(
  storeId: string,
  sharedSecret: Uint8Array,
  publicKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const names = concat(label('GLK1/slot/xwing/v1'), fromHex(storeId))
  return keyedH(sharedSecret, names, H(publicKey), H(ciphertext))
}

export interface NewSlot {
  readonly type: 1 | 2 | 3
  /** The public bytes before the KEM ciphertext. */
  readonly prefix: Uint8Array
  readonly recipient: Uint8Array
  /** A ‖ C, or A ‖ H(C). */
  readonly plaintext: Uint8Array
  /** 64 bytes. */
  readonly encapsulationRandom: Uint8Array
  readonly hedge: Uint8Array
}

/** Seals a slot to an X-Wing public key. */
export function sealSlot(storeId: string, epoch: Epoch, slot: NewSlot): Slot {
  const { type, prefix, recipient, plaintext, hedge } = slot
  const { cipherText, sharedSecret } = xwing.encapsulate(recipient, slot.encapsulationRandom)
  const key = slotKey(storeId, sharedSecret, recipient, cipherText)
  const publicBytes = concat(prefix, cipherText)
  const context = slotContext(storeId, type, publicBytes)
  const keys = { kid: epoch.kid, key, saltKey: auditSaltKey(epoch) }
  return { type, publicBytes, envelope: sealEnvelope('slot', keys, context, hedge, plaintext) }
}

/**
 * The epoch in a slot, opened with the seed of an X-Wing key pair; refuses as openEnvelope does.
 */
export function openSlot(keyring: Keyring, slot: Slot, kemSeed: Uint8Array): Epoch {
  const { storeId, kid } = keyring
  const pair = xwing.keygen(kemSeed)
  const ciphertext = slot.publicBytes.slice(-ciphertextLength)
  const sharedSecret = xwing.decapsulate(ciphertext, pair.secretKey)
  const key = slotKey(storeId, sharedSecret, pair.publicKey, ciphertext)
  const context = slotContext(storeId, slot.type, slot.publicBytes)
  // A slot's salt is hedged with randomness, and its salt key is inside: nothing recomputes it.
  const keys = { kid, key, saltKey: new Uint8Array(32) }
  const padded = openEnvelope('slot', keys, context, slot.envelope)
  checkPadding('slot', padded, 64)
  const [audit, second] = [padded.slice(0, 32), padded.slice(32, 64)]
  if (kidOf(storeId, audit, H(second)) === kid) return fullEpoch(storeId, audit, second)
  const auditor = auditorEpoch(storeId, audit, second)
  ensure(auditor.kid === kid, 'keyring_mismatch', 'The slot holds the keys of another epoch')
  return auditor
}

/** The X-Wing public key of a seed. */
export function kemPublicKey(seed: Uint8Array): Uint8Array {
  return xwing.keygen(seed).publicKey
}

// Archives

function encodeArchive(entries: readonly Uint8Array[]): Uint8Array {
  return concat(u8(1), u8(0), u16(entries.length), ...entries)
}

/** The archives of A and C, sealed; `older` goes from the oldest epoch to the newest. */
export function sealArchives(
  storeId: string,
  epoch: Epoch,
  older: readonly Epoch[],
  hedges: readonly [Uint8Array, Uint8Array],
): { auditArchive: Uint8Array; contentArchive: Uint8Array } {
  const audit = older.map((e) => concat(fromHex(e.kid), e.audit, e.contentHash))
  const content = older.map((e) => concat(fromHex(e.kid), e.content ?? new Uint8Array(32)))
  const seal = (keys: EnvelopeKeys, master: 'A' | 'C', i: 0 | 1) => {
    const plaintext = encodeArchive(i === 0 ? audit : content)
    return sealEnvelope('archive', keys, archiveContext(storeId, master), hedges[i], plaintext)
  }
  return {
    auditArchive: seal(auditKeys(epoch, 'archive'), 'A', 0),
    contentArchive: seal(contentKeys(epoch, 'archive'), 'C', 1),
  }
}

function decodeArchive(padded: Uint8Array, entryLength: number): Uint8Array[] {
  const reader = new Reader(padded, 'keyring_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The archive has another version')
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const entries = Array.from({ length: reader.u16() }, () => reader.raw(entryLength))
  checkPadding('archive', padded, reader.offset)
  return entries
}

/** Every epoch before `epoch`, oldest first. An auditor gets them without content keys. */
export function openArchives(keyring: Keyring, epoch: Epoch): Epoch[] {
  const { storeId } = keyring
  const auditContext = archiveContext(storeId, 'A')
  const keys = auditKeys(epoch, 'archive')
  const audit = decodeArchive(openEnvelope('archive', keys, auditContext, keyring.auditArchive), 72)
  const older = audit.map((entry) => {
    const archived = auditorEpoch(storeId, entry.slice(8, 40), entry.slice(40))
    const right = archived.kid === toHex(entry.slice(0, 8))
    ensure(right, 'keyring_mismatch', 'An archived audit key is not its kid’s')
    return archived
  })
  return epoch.content === undefined ? older : withContent(keyring, epoch, older)
}

function withContent(keyring: Keyring, epoch: Epoch, older: readonly Epoch[]): Epoch[] {
  const context = archiveContext(keyring.storeId, 'C')
  const keys = contentKeys(epoch, 'archive')
  const entries = decodeArchive(openEnvelope('archive', keys, context, keyring.contentArchive), 40)
  const [all, both] = [older.length, entries.length]
  ensure(all === both, 'keyring_mismatch', 'The archives name different epochs')
  return entries.map((entry, i) => {
    const full = fullEpoch(keyring.storeId, older[i]?.audit ?? new Uint8Array(), entry.slice(8))
    const right = full.kid === older[i]?.kid && full.kid === toHex(entry.slice(0, 8))
    ensure(right, 'keyring_mismatch', 'An archived content key is not its kid’s')
    return full
  })
}

// Directory

export function sealDirectory(
  storeId: string,
  epoch: Epoch,
  directory: Directory,
  hedge: Uint8Array,
): Uint8Array {
  const [keys, context] = [auditKeys(epoch, 'directory'), directoryContext(storeId)]
  return sealEnvelope('directory', keys, context, hedge, encodeDirectory(directory))
}

/** The directory of a keyring, whose numbers and recovery slots agree; else `keyring_mismatch`. */
export function openDirectory(keyring: Keyring, epoch: Epoch): Directory {
  const context = directoryContext(keyring.storeId)
  const keys = auditKeys(epoch, 'directory')
  const directory = decodeDirectory(openEnvelope('directory', keys, context, keyring.directory))
  const numbered = directory.number === keyring.directoryNumber
  ensure(numbered, 'keyring_mismatch', 'The keyring names another directory number')
  const slots = keyring.slots.filter((slot) => slot.type !== 1)
  const inSlots = slots.map((s) => `${toHex(s.publicBytes.slice(0, 16))} ${s.type}`)
  const inDirectory = directory.recoveries.map((r) => `${r.slotId} ${r.slotType}`)
  const paired = inSlots.toSorted().join() === inDirectory.toSorted().join()
  ensure(paired, 'keyring_mismatch', 'The recovery entries are not those of the slots')
  const active = directory.devices.filter((device) => device.removed === 0).length
  const enough = active <= keyring.slots.length - slots.length
  ensure(enough, 'keyring_mismatch', 'There are fewer device slots than devices')
  return directory
}
