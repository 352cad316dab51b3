// A report as CSV (RFC 4180): one row for each fact, all with the same columns. Names and ids come
// from members: a cell that a spreadsheet would take for a formula is made text. Pure.

import type { AccessEvent, Authorship, ReportedDevice } from '../store/report/access-events.ts'
import type { AuditReport, ReportedRedaction, WriteCount } from '../store/report/audit-report.ts'
import { visible } from '../text/visible.ts'
import { timestamp } from './wire.ts'

/** The columns in their order, each with its meaning. */
export const csvColumns = {
  type: 'report, device, access, writes, redaction or unconfirmed',
  time: 'RFC 3339; of writes the day',
  event: 'the check or action, the reason of a redaction, or device or remote',
  device_id: 'the device that signed, or that has not confirmed',
  actor_type: 'api, user, service_account or session',
  actor_id: 'as the device names it',
  session_id: 'the same',
  subject: 'the store or device that it is about, or the record of the redaction',
  name: 'of the store, device or remote',
  role: 'of the device',
  created: 'versions, of writes',
  modified: 'the same',
  deleted: 'the same',
  redacted: 'those of them that are redacted by now, or the versions of a redaction',
  certificate: 'the device that signed the verified certificate',
  absence: 'nothing_found, may_be_repeated or found; empty if not searched',
  commit: '40 hex digits',
} as const

type Row = Partial<Readonly<Record<keyof typeof csvColumns, string | number | undefined>>>

/** `createdAt` is when the report was made. */
export function reportCsv(report: AuditReport, createdAt: number): string {
  const names = Object.keys(csvColumns)
  const rows = [
    reportRow(report, createdAt),
    ...report.devices.map(deviceRow),
    ...report.access.map(accessRow),
    ...report.writes.map(writesRow),
    ...report.redactions.flatMap(redactionRows),
  ]
  const lines = rows.map((row: Readonly<Record<string, string | number | undefined>>) => {
    return names.map((name) => cell(row[name] ?? '')).join(',')
  })
  return [names.join(','), ...lines, ''].join('\r\n')
}

function cell(value: string | number): string {
  const text = visible(String(value).toWellFormed())
  const isFormula = /^[=+\-@\t\r\n]/.test(text)
  const safe = isFormula ? `'${text}` : text
  return isFormula || /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function reportRow({ storeId, name, deviceId, role, verification }: AuditReport, at: number): Row {
  const { extent, head } = verification
  const event = `verified_${extent}`
  const who = { device_id: deviceId, role, subject: storeId, name }
  return { type: 'report', time: timestamp(at), event, ...who, commit: head }
}

function authorCells({ deviceId, actor, session, commit }: Authorship): Row {
  return {
    device_id: deviceId,
    actor_type: actor?.type,
    actor_id: actor?.id,
    session_id: session,
    commit,
  }
}

function deviceRow({ deviceId, name, role, added, removed }: ReportedDevice): Row {
  const event = removed === undefined ? 'active' : 'removed'
  const { time } = removed ?? added
  const author = authorCells(removed ?? added)
  return { type: 'device', time: timestamp(time), event, ...author, subject: deviceId, name, role }
}

function accessRow({ action, ...author }: AccessEvent): Row {
  return {
    type: 'access',
    time: timestamp(author.time),
    event: action.type,
    ...authorCells(author),
    ...('deviceId' in action && { subject: action.deviceId }),
    ...('grantId' in action && { subject: action.grantId }),
    ...('name' in action && { name: action.name }),
    ...('role' in action && { role: action.role }),
  }
}

function writesRow({ day, actor, session, ...counts }: WriteCount): Row {
  const who = { actor_type: actor?.type, actor_id: actor?.id, session_id: session }
  return { type: 'writes', time: day, ...who, ...counts }
}

function redactionRows(redaction: ReportedRedaction): readonly Row[] {
  const { time, record, versionIds, certificate, absence } = redaction
  const erased = { redacted: versionIds.length, certificate: certificate?.device_id, absence }
  const what = { event: redaction.reason, subject: record, ...erased }
  const missing = { type: 'unconfirmed', subject: record } as const
  return [
    { type: 'redaction', time: timestamp(time), ...what, ...authorCells(redaction) },
    ...redaction.unconfirmedDevices.map(({ deviceId, name, role, lastRecord }) => {
      const last = lastRecord === undefined ? '' : timestamp(lastRecord)
      return Object.assign(
        { time: last, event: 'device', device_id: deviceId, name, role },
        missing,
      )
    }),
    ...redaction.unconfirmedRemotes.map((name) =>
      Object.assign({ event: 'remote', name }, missing),
    ),
  ]
}
