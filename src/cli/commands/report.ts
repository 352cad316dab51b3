// `report`: verifies the store, or the trail for an auditor, and writes a report and its signature.
// `report verify`: judges a signature. The file has names, actors and sessions in plaintext, as the
// user asked; no other file has, not even briefly.

import { rmSync } from 'node:fs'
import { utf8 } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import { csvColumns, reportCsv } from '../../operations/report-csv.ts'
import { actorJson, timestamp, type Wire } from '../../operations/wire.ts'
import type { AccessEvent, Authorship, ReportedDevice } from '../../store/report/access-events.ts'
import {
  type AuditReport,
  reportAsAuditor,
  type ReportedRedaction,
  type ReportOptions,
  type WriteCount,
} from '../../store/report/audit-report.ts'
import { type ReportSigner, signReport, verifyReport } from '../../store/report/report-signature.ts'
import {
  type Answer,
  type Command,
  type Context,
  type Input,
  ofAnotherStore,
  usageError,
} from '../call/command.ts'
import {
  readCertificateFile,
  readKey,
  readPlainFile,
  readReportFile,
  writeNewFile,
} from '../machine/files.ts'
import { isRealDirectory } from '../machine/memory-files.ts'
import { textsOutside } from '../machine/scratch-directory.ts'
import { reportPage } from '../report/page.ts'
import { limitsOf } from '../report/wording.ts'
import {
  auditHere,
  auditing,
  getIdentity,
  isStoreHere,
  withStoreOrTrail,
} from '../store/open-store.ts'
import { searchedJson } from '../store/residue.ts'
import { withProgress } from '../terminal/progress.ts'
import { pendingDeviceJson } from '../text/redactions.ts'
import { spanOf, timeFormat, type TimeFormat } from '../text/times.ts'
import { wire } from '../text/wire.ts'

const columnsText = Object.entries(csvColumns)
  .map(([name, meaning]) => `${name} (${meaning})`)
  .join(', ')

const reportNotes: readonly string[] = [
  'A member verifies the whole history and searches for redacted content, as `verify --absence` ' +
    'does; an auditor verifies the trail. No report names a path or holds a content. Names, ' +
    'actors and sessions are plaintext in it; the file is 0600. Without --out it is written ' +
    'to standard output, unsigned.',
  '--since and --until select writes, changes of access and redactions, by the clocks of the ' +
    'devices that wrote them; devices are listed whole.',
  `The columns of csv: ${columnsText}. A cell that a spreadsheet would take for a formula begins ` +
    'with an apostrophe.',
]

export const commands: readonly Command[] = [
  {
    name: 'report',
    summary: 'Write a signed report: devices, writes, redactions and checks',
    options: {
      '--out <file>': 'The file to write; its signature is written next to it, as .sig',
      '--format <html|csv|json>': 'What to write; else html, a page that needs no other file',
      '--since <time>': 'Nothing older: 36h, 7d, yesterday, 2026-01-31, or RFC 3339',
      '--until <time>': 'Nothing newer',
      '--certificate <file>': 'The certificate of a redaction, verified first; may be repeated',
      '--force': 'Replace the file and its signature',
    },
    notes: reportNotes,
    run: writeReport,
  },
  {
    name: 'report verify',
    summary: 'Verify the signature of a report, with or without a key of the store',
    usage: '<file>',
    options: {
      '--signature <file>': 'The signature; else the one next to the file, as .sig',
      '--device <dev_…>':
        'Compare with this one only: dev_…, "ssh-ed25519 …", or a file with one of them',
    },
    notes: [
      'Compares the signer with the devices in the verified history of the store here. With ' +
        '--device no store is needed. Without both, or if the device was removed, it shows who ' +
        'signed, which proves nothing: the exit code is 4 then.',
      '`ssh-keygen -Y verify -n gitlocket-report -f <signers> -I device -s <file>.sig < <file>` ' +
        'verifies it too; `<signers>` is a file with a line of `device` and the key, as this ' +
        'prints it.',
    ],
    run: reportVerify,
  },
]

/** `part was skipped`: whether the signer is a device of the store is not known. */
const SIGNER_UNKNOWN = 4

async function writeReport(context: Context, input: Input): Promise<Answer> {
  const file = input.text('out')
  const isForced = input.flag('force')
  if (isForced && file === undefined) throw usageError('--force needs --out', 'report')
  if (file !== undefined && !isForced) [file, signatureOf(file)].forEach(checkIsNew)
  const made = await makeReport(context, requestOf(context, input))
  const json = reportJson(made, context.clock())
  const text = render(made, input.text('format') ?? 'html', context.clock())
  const { absence } = made
  const found = (absence?.found.length ?? 0) + (absence?.textsOutside ?? 0)
  const note = found === 0 ? {} : { note: leftNote }
  if (file === undefined) return { text, json, ...note }
  const signature = signReport(utf8(text), getIdentity(context.environment))
  write('the report', file, text, isForced)
  write('the signature', signatureOf(file), signature, isForced)
  const { deviceId, verification } = made
  return {
    text: `Wrote the report to ${file} and its signature to ${signatureOf(file)}\n`,
    json: wire({ file, signatureFile: signatureOf(file), deviceId, head: verification.head }),
    ...note,
  }
}

const leftNote =
  'Something is left of redacted versions, or may be: `gitlocket verify --absence` names it'

function requestOf(context: Context, input: Input): ReportOptions {
  return {
    ...spanOf(context, input),
    certificates: input.texts('certificate').map(readCertificateFile),
  }
}

function makeReport(context: Context, request: ReportOptions): Promise<AuditReport> {
  return withStoreOrTrail(
    context,
    (store) =>
      withProgress(context, 'Verifying', (options) =>
        store.maintenance.report({
          ...request,
          ...options,
          textsOutside: textsOutside(context.environment, store),
        }),
      ),
    () => auditing(context, (options) => reportAsAuditor(options, request)),
  )
}

function render(made: AuditReport, format: string, createdAt: number): string {
  if (format === 'csv') return reportCsv(made, createdAt)
  if (format === 'json') return `${JSON.stringify(reportJson(made, createdAt))}\n`
  return reportPage(made, createdAt)
}

function signatureOf(file: string): string {
  return `${file}.sig`
}

function checkIsNew(file: string): void {
  if (isRealDirectory(file) === undefined) return
  throw new StoreError('path_conflict', `${file} exists already: name another one, or add --force`)
}

/** Never through a symbolic link: one at this path is replaced. */
function write(what: string, file: string, text: string, isForced: boolean): void {
  if (isForced) attempt(`replace ${what}`, file, () => rmSync(file, { force: true }))
  writeNewFile(what, file, text)
}

async function reportVerify(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  const file = readReportFile(name)
  const signature = readPlainFile('the signature', input.text('signature') ?? signatureOf(name))
  const key = input.text('device')
  const format = timeFormat(context)
  if (key !== undefined) {
    return answerOf(await verifyReport(file, signature, { key: readKey(key) }), 'key', format)
  }
  if (!isStoreHere(context))
    return answerOf(await verifyReport(file, signature, 'unknown'), undefined, format)
  const trust = await auditHere(context)
  try {
    return answerOf(await verifyReport(file, signature, trust), 'store', format)
  } catch (error) {
    throw ofAnotherStore(error, 'device')
  }
}

function answerOf(
  signer: ReportSigner,
  asked: 'store' | 'key' | undefined,
  format: TimeFormat,
): Answer {
  const { storeId, deviceId, publicKey, device } = signer
  const removed = device?.removed
  const proof = removed === undefined ? asked : undefined
  const lines = [
    `About        ${storeId}`,
    `Signed by    ${deviceId}${device === undefined ? '' : `, ${device.role}`}`,
    ...(device === undefined || device.name === '' ? [] : [`Name         ${device.name}`]),
    `Key          ${publicKey}`,
    '',
    ...proofLines(signer, proof, format),
    '',
  ]
  const { name, role } = device ?? {}
  return {
    text: lines.join('\n'),
    json: wire({
      verifiedBy: proof,
      storeId,
      deviceId,
      publicKey,
      name,
      role,
      removedAt: removed?.time,
    }),
    exitCode: proof === undefined ? SIGNER_UNKNOWN : 0,
  }
}

function proofLines(
  { deviceId, device }: ReportSigner,
  proof: 'store' | 'key' | undefined,
  format: TimeFormat,
): readonly string[] {
  if (proof !== undefined) {
    const whose = proof === 'store' ? 'a device of this store' : 'the device of the given key'
    return [
      `Verified: ${whose} has signed exactly this file.`,
      'Its content is the word of that device; `gitlocket report` makes one of this copy.',
    ]
  }
  if (device?.removed !== undefined) {
    return [
      `NOT VERIFIED: that device was removed, ${format(device.removed.time)}. Its user may have`,
      'signed this since, whatever date it shows. If you had the file before, give --device.',
    ]
  }
  return [
    'NOT VERIFIED: anybody can make such a file. It shows only that the key which the signature',
    `names has made it, which is that of ${deviceId}.`,
    'Compare it with a clone of the store (--store), or with the key of a device (--device).',
  ]
}

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
