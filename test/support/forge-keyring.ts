// Keyrings with a chosen fault, sealed with real keys (FORMAT §7): what does not lie at the fault
// is what follows from directory and keys.

import { concatBytes, fromHex, label } from '../../src/bytes.ts'
import { hash256, keyedHash } from '../../src/crypto/digest.ts'
import { encapsulate } from '../../src/crypto/recipient.ts'
import { type Directory, directoryHash, encodeDirectory } from '../../src/format/directory.ts'
import { archiveContext, recordContext, slotContext } from '../../src/format/envelope.ts'
import {
  encodeArchive,
  encodeKeyring,
  type KeyringFile,
  type Slot,
  slotPublicBytes,
  slotTypes,
  sortSlots,
} from '../../src/format/keyring.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import {
  countNobody,
  holdersOf,
  nobody,
  type Recipient,
  recipientKinds,
} from '../../src/keys/recipients.ts'
import { seal, type SealFault } from './forge-seal.ts'

export interface KeyringPlan {
  readonly directory: Directory
  readonly epoch: EpochKeys
  /** Every epoch before, oldest first. */
  readonly older: readonly EpochKeys[]
}

export interface KeyringFault {
  /** The finished parts, before they are framed. */
  readonly file?: (file: KeyringFile) => KeyringFile
  /** The devices that the slots are sealed to, by default all in the directory, and decoys. */
  readonly recipients?: (recipients: readonly Recipient[]) => readonly Recipient[]
  /** What a slot holds, by default A ‖ C. */
  readonly slotPlaintext?: Uint8Array
  readonly slotSeal?: SealFault
  readonly directorySeal?: SealFault
  readonly archiveSeal?: SealFault
  /** The framed whole. */
  readonly bytes?: (bytes: Uint8Array) => Uint8Array
}

const noHedge = new Uint8Array(32)

export function forgeKeyring(plan: KeyringPlan, fault: KeyringFault = {}): Uint8Array {
  const { directory, epoch } = plan
  const honest: KeyringFile = {
    kid: epoch.kid,
    seed: epoch.seed,
    number: directory.number,
    slots: sortSlots(forgeSlots(plan, fault)),
    archiveA: sealArchive(plan, 'A', fault),
    archiveC: sealArchive(plan, 'C', fault),
    directory: seal(
      {
        type: 'directory',
        keys: epoch.directory,
        context: recordContext(epoch),
        hedge: noHedge,
        plaintext: encodeDirectory(directory),
      },
      fault.directorySeal,
    ),
  }
  const bytes = encodeKeyring(fault.file?.(honest) ?? honest)
  return fault.bytes?.(bytes) ?? bytes
}

/** What FORMAT §7 makes of a shared secret. */
function slotKeyOf(
  { seed }: EpochKeys,
  sharedSecret: Uint8Array,
  kemKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const place = [fromHex(seed), hash256(kemKey), hash256(ciphertext)]
  return keyedHash(32, sharedSecret, label('GLK1/slot/xwing/v1'), ...place)
}

export function forgeSlot(plan: KeyringPlan, recipient: Recipient, fault: KeyringFault = {}): Slot {
  const { epoch } = plan
  const { kind, kemKey, passphrase, isAuditor } = recipient
  const { ciphertext, sharedSecret } = encapsulate(kemKey, eseedOf(plan, recipient))
  const type = kind === 'passphrase' ? 'passphrase' : 'key'
  const open = { type, passphrase, ciphertext } as const
  const key = slotKeyOf(epoch, sharedSecret, kemKey, ciphertext)
  const content = isAuditor ? epoch.contentKeyHash : epoch.contentKey
  const envelope = seal(
    {
      type: 'slot',
      keys: { kid: epoch.kid, key, saltKey: epoch.slotSaltKey },
      context: slotContext(epoch, slotTypes[type], slotPublicBytes(open)),
      hedge: noHedge,
      plaintext: fault.slotPlaintext ?? concatBytes(epoch.auditKey, content),
    },
    fault.slotSeal,
  )
  return { ...open, envelope }
}

function eseedOf(plan: KeyringPlan, { kind, id, kemKey, isAuditor }: Recipient): Uint8Array {
  const { epoch, directory } = plan
  const { seed } = epoch
  const hash = directoryHash(seed, directory)
  const place = [fromHex(seed), hash, Uint8Array.of(recipientKinds[kind]), fromHex(id), kemKey]
  const key = isAuditor ? epoch.auditorSlotKey : epoch.slotKey
  return keyedHash(64, key, label('GLK1/slot/eseed/v1'), ...place)
}

function forgeSlots(plan: KeyringPlan, fault: KeyringFault): readonly Slot[] {
  const { epoch, directory } = plan
  const holders = holdersOf(directory)
  const hash = directoryHash(epoch.seed, directory)
  const others = Array.from({ length: countNobody(holders) }, (_, index) => {
    return nobody(epoch, hash, index)
  })
  const honest = [...holders, ...others]
  const recipients = fault.recipients?.(honest) ?? honest
  return recipients.map((recipient) => forgeSlot(plan, recipient, fault))
}

function sealArchive(plan: KeyringPlan, master: 'A' | 'C', fault: KeyringFault): Uint8Array {
  const { epoch, older } = plan
  const entries = older.map(({ kid, auditKey, contentKey, contentKeyHash }) =>
    master === 'A'
      ? { kid, key: auditKey, hashC: contentKeyHash }
      : { kid, key: contentKey, hashC: undefined },
  )
  const keys = master === 'A' ? epoch.archiveA : epoch.archiveC
  const context = archiveContext(epoch, master)
  const plaintext = encodeArchive(entries)
  return seal({ type: 'archive', keys, context, hedge: noHedge, plaintext }, fault.archiveSeal)
}
