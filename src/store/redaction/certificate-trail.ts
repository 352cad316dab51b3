// Verifies a certificate in an open store: the history of a member as a trail to compare with.

import { toHex } from '../../bytes.ts'
import { loadSodium } from '../../crypto/sodium.ts'
import { formatId, parseId } from '../../format/id.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { StoreSession } from '../session/session.ts'
import { type CertificateTrail, checkCertificate, type RedactRecord } from './certificate-check.ts'
import { readCertificate } from './certificate-text.ts'
import type { RedactionCertificate } from './certificate.ts'

/**
 * Returns the certificate of a text, or of what JSON made of one, if this store's history proves
 * it. Throws the codes of `readCertificate` and of `checkCertificate`.
 */
export async function verifyCertificateHere(
  session: StoreSession,
  given: string | RedactionCertificate,
): Promise<RedactionCertificate> {
  await loadSodium()
  const certificate = readCertificate(given)
  await readConsistently(session, (history) => {
    return checkCertificate(certificate, trailOf(session.storeId, session.contents, history))
  })
  return certificate
}

function trailOf(
  storeId: string,
  source: Omit<HistorySource, 'storeId'>,
  history: History,
): CertificateTrail {
  const records = new Map<string, CommitEntry>()
  for (const commit of history.commits) {
    if (commit.kind !== 'redact') continue
    const bytes = readCommitBytes(source.objects, commit.oid)
    records.set(toHex(decodeCommit(storeId, source.epochs, commit.oid, bytes).hash), commit)
  }
  const commits = history.oids()
  return {
    storeId: formatId('store', storeId),
    findRedact: (record) => describe(records.get(record)),
    findVersion(versionId) {
      const version = history.find(parseId('version', versionId))
      if (version === undefined) return undefined
      const { memoryId, operation } = version
      return { memoryId: formatId('memory', memoryId), operation }
    },
    hasCommit: (oid) => commits.has(oid),
    objects: source.objects,
    head: history.head?.oid ?? '',
  }
}

function describe(commit: CommitEntry | undefined): RedactRecord | undefined {
  if (commit === undefined) return undefined
  const { oid, time, deviceId, actor, session, redacts, reason } = commit
  return {
    commit: oid,
    time,
    deviceId: formatId('device', deviceId),
    actor,
    session,
    redacts: redacts.map((versionId) => formatId('version', versionId)),
    redactReason: reason,
  }
}
