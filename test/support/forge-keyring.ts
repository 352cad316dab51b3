// Keyrings with a chosen fault, sealed with real keys (FORMAT §7). Argon2id parameters are the
// caller's, so that vectors can stay at the floor.

import { concatBytes, fromHex, label } from '../../src/bytes.ts'
import { hash256, keyedHash } from '../../src/crypto/digest.ts'
import type { Random } from '../../src/crypto/random.ts'
import { encapsulate, kemKeyPair } from '../../src/crypto/recipient.ts'
import { type Directory, encodeDirectory, slotTypes } from '../../src/format/directory.ts'
import { archiveContext, recordContext, slotContext } from '../../src/format/envelope.ts'
import {
  type Argon2Parameters,
  encodeArchive,
  encodeKeyring,
  type KeyringFile,
  type Slot,
  slotPublicBytes,
  sortSlots,
} from '../../src/format/keyring.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import { seal, type SealFault } from './forge-seal.ts'

export interface KeyringPlan {
  readonly storeId: string
  readonly directory: Directory
  readonly epoch: EpochKeys
  /** Every epoch before, oldest first. */
  readonly older: readonly EpochKeys[]
  /** Of the passphrase slot, if the directory has one. */
  readonly argon2?: Argon2Parameters | undefined
  readonly random: Random
}

export interface KeyringFault {
  /** The finished parts, before they are framed. */
  readonly file?: (file: KeyringFile) => KeyringFile
  /** What a slot holds, by default A ‖ C. */
  readonly slotPlaintext?: Uint8Array
  readonly slotSeal?: SealFault
  readonly directorySeal?: SealFault
  readonly archiveSeal?: SealFault
  /** The framed whole. */
  readonly bytes?: (bytes: Uint8Array) => Uint8Array
}

export function forgeKeyring(plan: KeyringPlan, fault: KeyringFault = {}): Uint8Array {
  const { storeId, directory, epoch, random } = plan
  const honest: KeyringFile = {
    kid: epoch.kid,
    storeId,
    number: directory.number,
    slots: sortSlots(forgeSlots(plan, fault)),
    archiveA: sealArchive(plan, 'A', fault),
    archiveC: sealArchive(plan, 'C', fault),
    directory: seal(
      {
        type: 'directory',
        keys: epoch.directory,
        context: recordContext(storeId),
        hedge: random(32),
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
  storeId: string,
  sharedSecret: Uint8Array,
  kemKey: Uint8Array,
  ciphertext: Uint8Array,
): Uint8Array {
  const place = [fromHex(storeId), hash256(kemKey), hash256(ciphertext)]
  return keyedHash(32, sharedSecret, label('GLK1/slot/xwing/v1'), ...place)
}

export function forgeSlot(
  plan: KeyringPlan,
  recipient: Pick<Slot, 'type' | 'slotId' | 'argon2'> & { readonly kemKey: Uint8Array },
  fault: KeyringFault = {},
): Slot {
  const { storeId, epoch, random } = plan
  const { type, slotId, argon2, kemKey } = recipient
  const { ciphertext, sharedSecret } = encapsulate(kemKey, random)
  const open = { type, slotId, argon2, ciphertext }
  const key = slotKeyOf(storeId, sharedSecret, kemKey, ciphertext)
  const envelope = seal(
    {
      type: 'slot',
      keys: { kid: epoch.kid, key, saltKey: epoch.slotSaltKey },
      context: slotContext(storeId, slotTypes[type], slotPublicBytes(open)),
      hedge: random(32),
      plaintext: fault.slotPlaintext ?? concatBytes(epoch.auditKey, epoch.contentKey),
    },
    fault.slotSeal,
  )
  return { ...open, envelope }
}

function forgeSlots(plan: KeyringPlan, fault: KeyringFault): readonly Slot[] {
  const { directory, random, argon2 } = plan
  const active = directory.devices.filter((device) => device.removed === 0)
  const keys = active.map((device) => device.kemKey)
  let wanted = 4
  while (wanted < keys.length) wanted *= 2
  while (keys.length < wanted) keys.push(kemKeyPair(random(32)).publicKey)
  const nobody = { slotId: undefined, argon2: undefined }
  return [
    ...keys.map((kemKey) => forgeSlot(plan, { type: 'device', ...nobody, kemKey }, fault)),
    ...directory.recovery.map(({ type, slotId, kemKey }) => {
      const parameters = type === 'passphrase' ? argon2 : undefined
      return forgeSlot(plan, { type, slotId, argon2: parameters, kemKey }, fault)
    }),
  ]
}

function sealArchive(plan: KeyringPlan, master: 'A' | 'C', fault: KeyringFault): Uint8Array {
  const { storeId, epoch, older, random } = plan
  const entries = older.map(({ kid, auditKey, contentKey, contentKeyHash }) =>
    master === 'A'
      ? { kid, key: auditKey, hashC: contentKeyHash }
      : { kid, key: contentKey, hashC: undefined },
  )
  const keys = master === 'A' ? epoch.archiveA : epoch.archiveC
  const context = archiveContext(storeId, master)
  const plaintext = encodeArchive(entries)
  return seal({ type: 'archive', keys, context, hedge: random(32), plaintext }, fault.archiveSeal)
}
