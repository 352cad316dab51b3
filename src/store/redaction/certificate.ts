// The certificate of a redaction (FORMAT §10.1): the erased versions, reason, author and time, and
// the objects that a host should delete, signed by the device for `ssh-keygen -Y verify`. Must not
// hold paths or contents. The redact record in the history is the lasting proof; the certificate is
// for users without a key of the store.

import { toHex, utf8 } from '../../bytes.ts'
import type { Actor, Operation, RedactReason } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import { sshPublicKey, sshSignature } from '../../format/sshsig.ts'
import type { Identity } from '../../keys/identity.ts'
import type { Author } from '../commits/commit-context.ts'
import type { StoreSession } from '../session/session.ts'
import type { RedactionPlan, RedactionRequest } from './redaction-plan.ts'
import type { Outcome } from './redaction-step.ts'

/** The namespace: option `-n` of `ssh-keygen -Y verify`. */
export const certificateNamespace = 'gitlocket-redaction'

/** A signed certificate, with fields in the signed order, ids in text form and RFC 3339 times. */
export interface RedactionCertificate {
  /** `…_record` if it was issued from the record alone, without the word of the first signer. */
  readonly type: 'gitlocket_redaction' | 'gitlocket_redaction_record'
  readonly version: 1
  readonly store_id: string
  readonly reason: RedactReason
  readonly redacted_at: string
  readonly actor: Actor
  readonly session_id: string | null
  /** The device that wrote the redact records. */
  readonly device_id: string
  /** The device that signed it, if it was issued from the record alone. */
  readonly issued_by?: string
  /** The redact records, 64 hex digits each: later redactions do not change these hashes. */
  readonly records: readonly string[]
  /** Their commits when this was signed, in the same order. */
  readonly commits: readonly string[]
  /** Null if it was issued from the record alone. */
  readonly old_head: string | null
  readonly new_head: string
  readonly versions: readonly RedactedVersion[]
  /**
   * Versions, `memver_…`, that remain and may repeat an erased text, as far as it was known here:
   * those with the same text, and those written on an erased one.
   */
  readonly may_repeat: readonly string[]
  /** Objects that this store does not hold any more, and that a host should delete. */
  readonly object_ids: readonly string[]
  readonly signature: {
    /** `ssh-ed25519 AAAA…`, the key that the id of the signing device is the hash of. */
    readonly public_key: string
    readonly namespace: string
    /** SSHSIG over `JSON.stringify` of everything but `signature`, in UTF-8. */
    readonly value: string
  }
}

/** The facts about an erased version that remain in the history. */
export interface RedactedVersion {
  readonly memory_version_id: string
  readonly memory_id: string
  readonly operation: Operation
}

/** The device that signed a certificate. */
export function signerOf({
  device_id,
  issued_by = device_id,
}: Pick<RedactionCertificate, 'device_id' | 'issued_by'>): string {
  return issued_by
}

/** The signed text. */
export type Statement = Omit<RedactionCertificate, 'signature'>

export function signCertificate(
  session: StoreSession,
  request: RedactionRequest,
  author: Author,
  { plan, outcome }: { readonly plan: RedactionPlan; readonly outcome: Outcome },
): RedactionCertificate {
  const { storeId, identity } = session
  const statement: Statement = {
    type: 'gitlocket_redaction',
    version: 1,
    store_id: formatId('store', storeId),
    reason: request.reason,
    redacted_at: new Date(outcome.time).toISOString(),
    actor: { type: author.actor.type, id: author.actor.id },
    session_id: author.session ?? null,
    device_id: formatId('device', identity.deviceId),
    records: outcome.heads.map(({ record }) => toHex(record)),
    commits: outcome.heads.map(({ commit }) => commit),
    old_head: outcome.oldHead,
    new_head: outcome.newHead,
    versions: outcome.erased.map(({ versionId, memoryId, operation }) => ({
      memory_version_id: formatId('version', versionId),
      memory_id: formatId('memory', memoryId),
      operation,
    })),
    may_repeat: repeatedIn(plan),
    object_ids: [...outcome.rewritten.dead],
  }
  return signStatement(identity, statement)
}

/** The versions, `memver_…`, that remain and may repeat an erased text. */
export function repeatedIn({
  sameText,
  builtOn,
}: Pick<RedactionPlan, 'sameText' | 'builtOn'>): readonly string[] {
  return [...new Set([...sameText, ...builtOn].map(({ versionId }) => versionId))]
}

export function signStatement({ signing }: Identity, statement: Statement): RedactionCertificate {
  const text = utf8(JSON.stringify(statement))
  return {
    ...statement,
    signature: {
      public_key: sshPublicKey(signing.publicKey),
      namespace: certificateNamespace,
      value: sshSignature(certificateNamespace, text, signing),
    },
  }
}

/** The file of a certificate. */
export function certificateText(certificate: object): string {
  return `${JSON.stringify(certificate, undefined, 2)}\n`
}
