// The bytes of a keyring, which follow from its directory and keys (FORMAT §7). Anyone who has the
// keys makes them again and compares, so that no member can seal another member's slot to a key
// that no one has. Must not decide about trust, nor which directory is allowed.

import { equalBytes, type Sealed, toHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { argon2Bytes, type Directory, directoryHash, encodeDirectory } from '../format/directory.ts'
import { noHedge, recordContext, sealEnvelope } from '../format/envelope.ts'
import {
  encodeKeyring,
  type KeyringFile,
  type PassphraseSlot,
  type Slot,
  slotPublicBytes,
  sortSlots,
} from '../format/keyring.ts'
import { sealArchiveOfA, sealArchives } from './archive.ts'
import { type AuditKeys, type EpochKeys, opensContents } from './epoch.ts'
import { countNobody, holdersOf, nobody } from './recipients.ts'
import { checkSealable, sealSlot } from './slot.ts'

/** What a keyring follows from. */
export interface KeyringParts<Keys extends AuditKeys = EpochKeys> {
  readonly directory: Directory
  readonly epoch: Keys
  /** Every earlier epoch, oldest first. */
  readonly older: readonly Keys[]
}

/** Yields after each slot: 256 of them take tens of milliseconds. Throws `change_too_large`. */
export function* makeKeyring(parts: KeyringParts): Generator<undefined, Sealed> {
  const { directory, epoch, older } = parts
  return encodeKeyring({
    kid: epoch.kid,
    seed: epoch.seed,
    number: directory.number,
    slots: yield* makeSlots(parts),
    ...sealArchives(epoch, older),
    directory: sealDirectory(parts),
  })
}

/**
 * Checks that an opened keyring is the one that follows from its directory and keys; an auditor
 * checks the part that it can make. Throws `keyring_slots` or `keyring_mismatch`.
 */
export function* checkKeyring(
  file: KeyringFile,
  parts: KeyringParts<AuditKeys | EpochKeys>,
): Generator<undefined, void> {
  const { epoch, older } = parts
  if (opensContents(epoch) && older.every(opensContents)) {
    const slots = yield* makeSlots({ ...parts, epoch, older })
    if (!areEqual(slots, file.slots)) throw wrongSlots()
    const { archiveA, archiveC } = sealArchives(epoch, older)
    checkEqual(archiveA, file.archiveA)
    checkEqual(archiveC, file.archiveC)
  } else {
    yield* checkAuditedSlots(file.slots, parts)
    checkEqual(sealArchiveOfA(epoch, older), file.archiveA)
  }
  checkEqual(sealDirectory(parts), file.directory)
}

/** The slots of auditors, the number of all, and the public part of those of passphrases. */
function* checkAuditedSlots(
  slots: readonly Slot[],
  parts: KeyringParts<AuditKeys>,
): Generator<undefined, void> {
  const holders = holdersOf(parts.directory)
  const listed = passphrasesOf(holders)
  const keys = holders.length - listed.length + countNobody(holders)
  if (slots.length !== keys + listed.length) throw wrongSlots()
  if (passphrasesOf(slots).join() !== listed.join()) throw wrongSlots()
  for (const holder of holders) {
    if (holder.isAuditor) {
      const expected = sealSlot(parts.epoch, hashOf(parts), holder)
      if (!slots.some((slot) => isEqual(slot, expected))) throw wrongSlots()
    } else {
      checkSealable(holder)
    }
    yield
  }
}

function* makeSlots(parts: KeyringParts): Generator<undefined, readonly Slot[]> {
  const { directory, epoch } = parts
  const hash = hashOf(parts)
  const slots: Slot[] = []
  const holders = holdersOf(directory)
  for (const holder of holders) {
    slots.push(sealSlot(epoch, hash, holder))
    yield
  }
  for (let index = 0; index < countNobody(holders); index += 1) {
    slots.push(sealSlot(epoch, hash, nobody(epoch, hash, index)))
    yield
  }
  return sortSlots(slots)
}

function sealDirectory({ directory, epoch }: KeyringParts<AuditKeys>): Sealed {
  const context = recordContext(epoch)
  const plaintext = encodeDirectory(directory)
  return sealEnvelope('directory', epoch.directory, context, noHedge, plaintext)
}

function hashOf({ directory, epoch }: KeyringParts<AuditKeys>): Uint8Array {
  return directoryHash(epoch.seed, directory)
}

function areEqual(a: readonly Slot[], b: readonly Slot[]): boolean {
  return a.length === b.length && a.every((slot, index) => isEqual(slot, b[index]))
}

function isEqual(a: Slot, b: Slot | undefined): boolean {
  if (b === undefined || a.type !== b.type) return false
  const isSamePlace = equalBytes(slotPublicBytes(a), slotPublicBytes(b))
  return isSamePlace && equalBytes(a.envelope, b.envelope)
}

/** The public bytes of passphrases, by slot id. */
function passphrasesOf(
  list: readonly { readonly passphrase: PassphraseSlot | undefined }[],
): readonly string[] {
  return list
    .flatMap(({ passphrase }) => (passphrase ? [passphrase] : []))
    .map(({ slotId, argon2 }) => slotId + toHex(argon2Bytes(argon2)))
    .toSorted()
}

function checkEqual(expected: Uint8Array, found: Uint8Array): void {
  if (equalBytes(expected, found)) return
  throw new StoreError(
    'keyring_mismatch',
    'A keyring is not the one that follows from its directory and keys',
  )
}

function wrongSlots(): StoreError {
  return new StoreError(
    'keyring_slots',
    'The slots of a keyring are not those that follow from its directory and keys: a member may ' +
      'be locked out',
  )
}
