// The report of an auditor: verifies the trail, which is all that it can open. Changes nothing but
// the anchor, as every audit does.

import { inSlices } from '../../time-slice.ts'
import { type AuditOptions, withAudit } from '../audit/audit.ts'
import { verifyByTrail } from '../audit/verify-certificate.ts'
import type { RedactionCertificate } from '../redaction/certificate.ts'
import { type AuditReport, collectReport, type ReportOptions } from './audit-report.ts'

/** Throws as `auditStore`, and as `verifyCertificate` for what the trail does not prove. */
export function reportAsAuditor(
  places: AuditOptions,
  { since, until, certificates: texts = [] }: Omit<ReportOptions, 'progress' | 'signal'>,
): Promise<AuditReport> {
  return withAudit(places, async (audit, objects) => {
    const certificates: RedactionCertificate[] = []
    for (const text of texts) certificates.push(await verifyByTrail(text, audit, objects))
    return inSlices(collectReport(audit, undefined, { since, until, certificates }))
  })
}
