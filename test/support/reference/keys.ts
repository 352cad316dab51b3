// FORMAT §4: the keys of an epoch and their subkeys. An auditor's epoch has no content
// key, only its hash.

import { fromHex, label, toHex } from './bytes.ts'
import type { EnvelopeKeys } from './envelope.ts'
import { H, subkey } from './hash.ts'
import { refuse } from './refusal.ts'

export interface Epoch {
  readonly kid: string
  /** A. */
  readonly audit: Uint8Array
  /** C; undefined for an auditor. */
  readonly content: Uint8Array | undefined
  /** H(C). */
  readonly contentHash: Uint8Array
}

export function kidOf(seed: string, audit: Uint8Array, contentHash: Uint8Array): string {
  const hash = H(label('GLK1/kcv/v1'), fromHex(seed), H(audit), contentHash)
  return toHex(hash.slice(0, 16))
}

export function fullEpoch(seed: string, audit: Uint8Array, content: Uint8Array): Epoch {
  const contentHash = H(content)
  return { kid: kidOf(seed, audit, contentHash), audit, content, contentHash }
}

export function auditorEpoch(seed: string, audit: Uint8Array, contentHash: Uint8Array): Epoch {
  return { kid: kidOf(seed, audit, contentHash), audit, content: undefined, contentHash }
}

const auditSubkeys = { record: 1, directory: 3, archive: 5 } as const
const contentSubkeys = { memory: 1, detail: 2, settings: 3, archive: 5, baseline: 7 } as const
const saltSubkey = 4
const slotSubkey = 6
const refNameSubkey = 9
const context = 'GLK1keys'

/** The subkeys of A. */
export function auditKeys(epoch: Epoch, purpose: keyof typeof auditSubkeys): EnvelopeKeys {
  const key = subkey(epoch.audit, auditSubkeys[purpose], context)
  return { kid: epoch.kid, key, saltKey: auditSaltKey(epoch) }
}

/** Salts of records, slots, directories and the archive of A. */
export function auditSaltKey(epoch: Epoch): Uint8Array {
  return subkey(epoch.audit, saltSubkey, context)
}

/** The subkeys of C. */
export function contentKeys(epoch: Epoch, purpose: keyof typeof contentSubkeys): EnvelopeKeys {
  const { content } = epoch
  if (content === undefined) return refuse('permission_denied', 'An auditor reads no content')
  const key = subkey(content, contentSubkeys[purpose], context)
  return { kid: epoch.kid, key, saltKey: subkey(content, saltSubkey, context) }
}

/** The key of the seeds of auditors' slots, which an auditor makes again too (§7). */
export function auditorSlotKey(epoch: Epoch): Uint8Array {
  return subkey(epoch.audit, slotSubkey, context)
}

/** The key of the seeds of all other slots. */
export function slotSeedKey({ content }: Epoch): Uint8Array {
  if (content === undefined) return refuse('permission_denied', 'An auditor makes no such slot')
  return subkey(content, slotSubkey, context)
}

/** The key of the names of refs (§12), from the C of the first epoch. */
export function refNameKey(content: Uint8Array): Uint8Array {
  return subkey(content, refNameSubkey, context)
}

/** The Ed25519 seed of the epoch's group signature. */
export function groupSeed(epoch: Epoch): Uint8Array {
  return subkey(epoch.audit, 2, context)
}

/** Hash of an unpadded, unsealed record, as hex. */
export function recordHash(seed: string, body: Uint8Array, signature: Uint8Array): string {
  return toHex(H(label('GLK1/record/v1'), fromHex(seed), body, signature))
}
