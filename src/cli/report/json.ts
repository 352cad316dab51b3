// A report as JSON, in the vocabulary of all answers. Pure.

import { actorJson, timestamp, type Wire } from '../../operations/wire.ts'
import type { AccessEvent, Authorship, ReportedDevice } from '../../store/report/access-events.ts'
import type { AuditReport, ReportedRedaction, WriteCount } from '../../store/report/audit-report.ts'
import { searchedJson } from '../store/residue.ts'
import { pendingDeviceJson } from '../text/redactions.ts'
import { wire } from '../text/wire.ts'
import { limitsOf } from './wording.ts'

/** `createdAt` is when the report was made, by the clock of this machine. */
export function reportJson(report: AuditReport, createdAt: number): Wire {
  const { storeId, name, deviceId, role, since, until, verification, leftOut } = report
  return wire({
    type: 'gitlocket_report',
    version: 1,
    storeId,
    name,
    createdAt,
    deviceId,
    deviceName: report.devices.find((device) => device.deviceId === deviceId)?.name,
    role,
    since: since === undefined ? null : timestamp(since),
    until: until === undefined ? null : timestamp(until),
    verification: wire({ ...verification, recordsLeftOut: leftOut }),
    devices: report.devices.map(deviceJson),
    access: report.access.map(accessJson),
    writes: report.writes.map(writesJson),
    redactions: report.redactions.map(redactionJson),
    absence: report.absence && absenceJson(report.absence),
    limits: limitsOf(report),
  })
}

function authorJson(author: Authorship): Wire {
  const { deviceId, isRecovery, grantedBy, actor, session, record, commit } = author
  const createdBy = actorJson(actor)
  return wire({ deviceId, recovery: isRecovery, grantedBy, createdBy, session, record, commit })
}

function deviceJson(device: ReportedDevice): Wire {
  const { deviceId, name, role, added, removed, lastRecord } = device
  return wire({
    deviceId,
    name,
    role,
    active: removed === undefined,
    addedAt: added.time,
    addedBy: authorJson(added),
    removedAt: removed?.time,
    removedBy: removed && authorJson(removed),
    lastRecordAt: lastRecord,
  })
}

function accessJson({ action, ...author }: AccessEvent): Wire {
  const { type, ...facts } = action
  return wire({ type, createdAt: author.time, ...authorJson(author), subject: wire(facts) })
}

function writesJson({ day, actor, session, ...counts }: WriteCount): Wire {
  return wire({ day, createdBy: actorJson(actor), session, ...counts })
}

function redactionJson(redaction: ReportedRedaction): Wire {
  const { time, reason, versionIds, certificate, absence } = redaction
  return wire({
    redactedAt: time,
    reason,
    ...authorJson(redaction),
    versionIds,
    certificate: certificate && certificateJson(certificate),
    absence,
    unconfirmedDevices: redaction.unconfirmedDevices.map(pendingDeviceJson),
    unconfirmedRemotes: redaction.unconfirmedRemotes,
  })
}

/** Without its object ids, which are many: the certificate has them. */
function certificateJson({
  device_id,
  redacted_at,
  may_repeat,
  object_ids,
}: NonNullable<ReportedRedaction['certificate']>): Wire {
  return { verified: true, device_id, redacted_at, may_repeat, objects: object_ids.length }
}

/** Without the paths of versions that were written on redacted ones. */
function absenceJson(absence: NonNullable<AuditReport['absence']>): Wire {
  const builtOn = absence.builtOnRedacted.map(({ versionId, redactedVersionIds }) => {
    return wire({ versionId, redactedVersionIds })
  })
  return { ...searchedJson(absence, builtOn), texts_outside: absence.textsOutside }
}
