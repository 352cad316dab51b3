// Compares a certificate with a verified history, of a member or an auditor (FORMAT §10.1). What it
// finds there is what members have signed: a record of kind redact is by a device that was an
// owner, or the history would not verify. That the object ids and the old head were part of it is
// the signer's word alone, since what proves that is erased; that none of them is, is checked.

import { StoreError } from '../../errors.ts'
import type { Actor, Operation, RedactReason } from '../../format/change-record.ts'
import type { RedactionCertificate } from './certificate.ts'

/** A redact record of a verified history; ids in text form. */
export interface RedactRecord {
  readonly commit: string
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly redacts: readonly string[]
  readonly redactReason: RedactReason | undefined
}

/** The verified history that a certificate is compared with; ids in text form. */
export interface CertificateTrail {
  readonly storeId: string
  /** The redact record with this hash, 64 hex digits. */
  findRedact(record: string): RedactRecord | undefined
  findVersion(
    versionId: string,
  ): { readonly memoryId: string; readonly operation: Operation } | undefined
  hasCommit(oid: string): boolean
  /** One of these objects that the history still contains. */
  findReached(oids: readonly string[]): Promise<string | undefined>
}

/** Throws `store_id_mismatch` or `certificate_invalid`. */
export async function checkCertificate(
  certificate: RedactionCertificate,
  trail: CertificateTrail,
): Promise<void> {
  if (certificate.store_id !== trail.storeId) {
    throw new StoreError(
      'store_id_mismatch',
      `The certificate is of the store ${certificate.store_id}, and this one is ${trail.storeId}`,
    )
  }
  const found = certificate.records.map((record) => trail.findRedact(record))
  const records = found.filter((record) => record !== undefined)
  if (records.length < found.length) {
    throw mismatch('it names a redact record that is not in this history')
  }
  for (const record of records) checkRecord(certificate, record)
  checkVersions(certificate, trail, records)
  checkCommits(certificate, trail, records)
  const reached = await trail.findReached(certificate.object_ids)
  if (reached === undefined) return
  throw mismatch(`it names an object as erased that is part of the history, ${reached}`)
}

function checkRecord(certificate: RedactionCertificate, record: RedactRecord): void {
  const { device_id, redacted_at, reason, actor, session_id } = certificate
  if (record.deviceId !== device_id) throw mismatch('another device wrote the redact record')
  const isSame =
    new Date(record.time).toISOString() === redacted_at &&
    record.redactReason === reason &&
    record.actor?.type === actor.type &&
    record.actor.id === actor.id &&
    (record.session ?? null) === session_id
  if (!isSame) throw mismatch('its time, reason, actor or session is not that of the redact record')
}

function checkVersions(
  { versions, may_repeat }: RedactionCertificate,
  trail: CertificateTrail,
  records: readonly RedactRecord[],
): void {
  const redacted = new Set(records.flatMap(({ redacts }) => redacts))
  const isTrue = versions.every(({ memory_version_id, memory_id, operation }) => {
    const version = trail.findVersion(memory_version_id)
    const isRedacted = redacted.has(memory_version_id)
    return isRedacted && version?.memoryId === memory_id && version.operation === operation
  })
  const isThere = may_repeat.every((versionId) => trail.findVersion(versionId) !== undefined)
  if (isTrue && isThere && versions.length === redacted.size) return
  throw mismatch('its versions are not those of the redact record')
}

/**
 * A later redaction gives the records other commits, but never one that they had before. That the
 * old head is no commit follows from the objects, of which it is one.
 */
function checkCommits(
  { commits }: RedactionCertificate,
  trail: CertificateTrail,
  records: readonly RedactRecord[],
): void {
  const isTrue = commits.every((oid, index) => {
    return oid === records[index]?.commit || !trail.hasCommit(oid)
  })
  if (isTrue) return
  throw mismatch('its commits are not those of the redaction')
}

function mismatch(problem: string): StoreError {
  return new StoreError(
    'certificate_invalid',
    `The certificate does not agree with the history: ${problem}`,
  )
}
