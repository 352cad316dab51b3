// Verifies a certificate of a redaction without a store that is open: by the trail of an auditor,
// or by a key that the reader has from elsewhere. Must not trust the key that it names itself.

import { loadSodium } from '../../crypto/sodium.ts'
import { StoreError } from '../../errors.ts'
import { deviceIdOf, formatId, parseId } from '../../format/id.ts'
import { parseSshPublicKey } from '../../format/sshsig.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import { inSlices } from '../../time-slice.ts'
import { type CertificateTrail, checkCertificate } from '../redaction/certificate-check.ts'
import { readCertificate } from '../redaction/certificate-text.ts'
import { type RedactionCertificate, signerOf } from '../redaction/certificate.ts'
import { type Audit, type AuditOptions, withAudit } from './audit.ts'

/**
 * What a certificate is believed by: the trail of an auditor's clone, which is verified as by
 * `auditStore`, or the device whose key the reader knows, as `dev_…` or `ssh-ed25519 …`. `unknown`
 * asks for no more than that the key which the certificate names has signed it: anybody can make
 * such a certificate.
 */
export type CertificateTrust = AuditOptions | { readonly key: string } | 'unknown'

/**
 * Returns the certificate. Throws `invalid_input` for what is none, `store_id_mismatch` for one of
 * another store than the trail, `certificate_invalid` for one not to be believed, and as
 * `auditStore`. A key proves
 * who signed it; a trail also that the redaction is part of the history. Members of the store use
 * `store.maintenance.verifyCertificate`.
 */
export async function verifyCertificate(
  text: string,
  trust: CertificateTrust,
): Promise<RedactionCertificate> {
  await loadSodium()
  if (trust !== 'unknown' && !('key' in trust)) {
    return withAudit(trust, (audit, objects) => verifyByTrail(text, audit, objects))
  }
  const certificate = readCertificate(text)
  if (trust !== 'unknown') checkSigner(certificate, pinnedDevice(trust.key))
  return certificate
}

/** The same by a trail that was verified from these objects. */
export async function verifyByTrail(
  text: string,
  audit: Audit,
  objects: ObjectStore,
): Promise<RedactionCertificate> {
  const certificate = readCertificate(text)
  await inSlices(checkCertificate(certificate, trailOf(audit, objects)))
  return certificate
}

function checkSigner(certificate: RedactionCertificate, pinned: string): void {
  const signer = signerOf(certificate)
  if (signer === pinned) return
  throw new StoreError(
    'certificate_invalid',
    `The certificate is signed by ${signer}, and the given key is that of ${pinned}`,
  )
}

/** The device of `dev_…` or of `ssh-ed25519 …`, which a comment may follow. */
export function pinnedDevice(key: string): string {
  if (key.startsWith('dev_')) return formatId('device', parseId('device', key))
  const publicKey = parseSshPublicKey(key.split(' ').slice(0, 2).join(' '))
  if (publicKey !== undefined) return formatId('device', deviceIdOf(publicKey))
  throw new StoreError('invalid_input', 'A key must be given as dev_… or as ssh-ed25519 …')
}

function trailOf({ storeId, entries, head }: Audit, objects: ObjectStore): CertificateTrail {
  const records = new Map(entries.map((entry) => [entry.record, entry]))
  const versions = new Map(
    entries.flatMap((entry) => entry.versions.map((version) => [version.versionId, version])),
  )
  const commits = new Set(entries.map(({ commit }) => commit))
  const devices = new Set(
    entries.flatMap(({ access }) => access?.added.map(({ deviceId }) => deviceId) ?? []),
  )
  return {
    storeId,
    findRedact(record) {
      const entry = records.get(record)
      return entry?.kind === 'redact' ? entry : undefined
    },
    findVersion: (versionId) => versions.get(versionId),
    hasCommit: (oid) => commits.has(oid),
    hasDevice: (deviceId) => devices.has(deviceId),
    objects,
    head,
  }
}
