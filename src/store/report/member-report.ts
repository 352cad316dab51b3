// The report of a member: verifies the whole history, contents included, and gathers what an
// auditor cannot know. Changes nothing.

import type { WorkOptions } from '../../async.ts'
import { formatId } from '../../format/id.ts'
import { inSlices } from '../../time-slice.ts'
import { roleOf } from '../access/authority.ts'
import { Trail } from '../audit/audit-trail.ts'
import type { Audit } from '../audit/audit.ts'
import { verifyCertificateHere } from '../redaction/certificate-check.ts'
import type { RedactionCertificate } from '../redaction/certificate.ts'
import { findResidue, type ResidueReport } from '../redaction/residue.ts'
import { onCurrentHead } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import { comparedOf } from '../snapshot/compared.ts'
import { findUnsent } from '../sync/remote-state.ts'
import { verifyHistory } from '../verify/verify.ts'
import {
  type AuditReport,
  collectReport,
  hasRedactions,
  type KnownRemote,
  type ReportOptions,
} from './audit-report.ts'

/**
 * Throws the code of the first violation of the history, and those of `verifyCertificateHere` for a
 * certificate that it does not prove.
 */
export async function reportAsMember(
  session: StoreSession,
  options: ReportOptions,
): Promise<AuditReport> {
  const audit = await auditSession(session, options)
  const { since, until, certificates: texts = [] } = options
  const certificates: RedactionCertificate[] = []
  for (const text of texts) certificates.push(await verifyCertificateHere(session, text))
  const scope = { since, until, certificates }
  const absence = hasRedactions(audit, scope)
    ? await searchAll(session, certificates, options)
    : undefined
  const { name } = await session.reading(({ settings }) => settings.value)
  const facts = { name, absence, remotes: await listRemotes(session) }
  return inSlices(collectReport(audit, facts, scope), options.signal)
}

/** The trail, as `auditStore` lists it, of a history that was verified as a whole. */
export async function auditSession(
  session: StoreSession,
  { progress, signal }: WorkOptions,
): Promise<Audit> {
  const { storeId, identity } = session
  const deviceId = formatId('device', identity.deviceId)
  return onCurrentHead(session, async (head) => {
    const trail = new Trail(session)
    const { snapshot } = await verifyHistory(session, head, {
      progress,
      signal,
      onCommit: (commit) => trail.add(commit),
    })
    return {
      storeId: formatId('store', storeId),
      deviceId,
      role: roleOf(snapshot, identity.deviceId),
      head,
      ...(await comparedOf(storeId, snapshot)),
      memories: snapshot.count,
      entries: await inSlices(trail.entries(snapshot.redacted), signal),
      leftOut: [],
    }
  })
}

/** The certificates are verified: their objects must not be stored either. */
function searchAll(
  session: StoreSession,
  certificates: readonly RedactionCertificate[],
  { progress, signal, textsOutside }: ReportOptions,
): Promise<ResidueReport> {
  const objectIds = certificates.flatMap(({ object_ids }) => object_ids)
  return findResidue(session, { progress, signal, objectIds, textsOutside })
}

async function listRemotes(session: StoreSession): Promise<readonly KnownRemote[]> {
  const remotes: KnownRemote[] = []
  for (const remote of session.objects.exchange.remotes()) {
    const lacks = await findUnsent(session, remote)
    remotes.push({ name: remote.name, lacks: lacks && new Set(lacks) })
  }
  return remotes
}
