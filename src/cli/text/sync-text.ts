// The report of a sync, as text and as JSON.

import { formatId } from '../../format/id.ts'
import type { Wire } from '../../operations/wire.ts'
import type { GrantsReport } from '../../store/grants/publish.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { MergeOutcome } from '../../store/merge/plan.ts'
import type {
  BegunAnew,
  GrantWork,
  NewDevice,
  NotWritten,
  ReplacedHead,
  SettingsOutcome,
  SyncReport,
} from '../../store/sync/report.ts'
import { visible } from '../../text/visible.ts'
import type { Ink } from '../terminal/ink.ts'
import { deviceText, type DeviceNames, shortDeviceTexts } from './device-text.ts'
import {
  builtOnRedactedJson,
  builtOnRedactedText,
  pendingDeviceJson,
  pendingDevicesText,
  type ReportPlace,
  versionsTable,
} from './redactions.ts'
import { type Column, idColumn, indentedTable } from './table.ts'
import { wire } from './wire.ts'
import { countText, sizeText } from './words.ts'

const kinds: Readonly<Record<MergeOutcome['kind'], string>> = {
  merged: 'edits of both sides merged',
  both_kept: 'both sides edited the same lines: both kept; the older one comes first',
  newer_kept: 'both sides edited it: the newer text is kept, the older one is a version',
  newer_path_kept: 'both sides renamed it: the newer name is kept',
  edit_kept: 'one side deleted it, the other edited it: the edit is kept',
  joined: 'both sides created it: joined into the older memory',
  moved_aside: 'another memory is at, above or below its path: it moved aside',
}

const settingsTexts: Readonly<Record<SettingsOutcome, string>> = {
  replaced: 'the settings of another device are now in force: see `gitlocket settings`',
  kept:
    'another device had changed the settings too, and those set here are kept: ' +
    'see `gitlocket settings`',
}

/** Whether a user may want to look at it: anything but a clean merge of lines. */
export function wasCombined({ kind }: MergeOutcome): boolean {
  return kind !== 'merged'
}

/** `names`: of the devices, removed ones too. */
export function reportText(
  context: ReportPlace,
  ink: Ink,
  report: SyncReport,
  names: DeviceNames = new Map(),
): string {
  const { remote, received, sent, forkedDevices } = report
  const text = (lines: readonly string[]): string => ink.plain(lines.map(indented).join(''))
  return [
    ink.plain(`${remote}: ${movedText(received, sent)}\n`),
    text(erasedLines(report)),
    report.begunAnew === undefined ? '' : begunAnewText(context, ink, report.begunAnew, INDENT),
    pendingDevicesText(context, ink, report.pendingDevices, INDENT),
    text(report.newDevices.map(newDeviceText)),
    text(report.replaced === undefined ? [] : replacedLines(report.replaced)),
    text(mergeLines(report)),
    builtOnRedactedText(context, ink, report.builtOnRedacted, INDENT),
    text(
      report.hasRepeated
        ? ['what members had written on the side that was given up was written again']
        : [],
    ),
    text(report.grantWork.again.map(againLine)),
    notAgainText(context, ink, report.grantWork.notAgain),
    lateText(context, ink, report.late, names),
    text([
      ...forkedDevices.map((device) => {
        const forked = deviceText(device, names.get(device))
        return `${forked} wrote from two machines and can no longer write`
      }),
      ...(report.grants === undefined ? [] : grantLines(report.grants)),
      ...ignoredRefsLines(report),
      `words ${report.headFingerprint.join(' ')}`,
    ]),
  ].join('')
}

const INDENT = '  '

function indented(line: string): string {
  return `${INDENT}${line}\n`
}

function erasedLines({ erased }: SyncReport): readonly string[] {
  if (erased === 0) return []
  return [`erased ${countText(erased, 'version', 'versions')} that another device redacted`]
}

function ignoredRefsLines({ remote, ignoredRefs }: SyncReport): readonly string[] {
  if (ignoredRefs === undefined) return []
  const refs = countText(ignoredRefs, 'ref', 'refs')
  return [
    `${remote} has ${refs} that gitlocket ignores, and each sync reads their list. Anyone who ` +
      `may push there can remove them: \`git push ${remote} --delete <ref>...\``,
  ]
}

/** Explains why the history here is another one, and names the versions to look at. */
export function begunAnewText(
  context: ReportPlace,
  ink: Ink,
  { deviceId, changes, mayRepeat }: BegunAnew,
  indent = '',
): string {
  const device = deviceText(deviceId, undefined)
  const again = `${countText(changes, 'change was', 'changes were')} written again`
  const begun =
    `began anew from the state that ${device} describes, since something older than this clone ` +
    `was redacted; ${again}`
  if (mayRepeat.length === 0) return ink.plain(`${indent}${begun}\n`)
  const versions = countText(mayRepeat.length, 'version', 'versions')
  const suspected =
    `${versions} written again may repeat redacted text: if so, an owner has to redact ` +
    `${mayRepeat.length === 1 ? 'it' : 'them'} with \`gitlocket redact\``
  const lines = [begun, suspected].map((line) => ink.plain(`${indent}${line}\n`)).join('')
  return lines + versionsTable(context, ink, mayRepeat, `${indent}  `)
}

function mergeLines({ merge, outcomes, mergedElsewhere, settings }: SyncReport): readonly string[] {
  return [
    ...(merge === undefined ? [] : [`merged in ${merge.slice(0, 12)}`]),
    ...outcomes.map(({ path, kind }) => `${visible(path)}: ${kinds[kind]}`),
    ...(outcomes.some(wasCombined) ? ['`gitlocket conflicts` lists them again'] : []),
    ...(mergedElsewhere.length > 0 ? [elsewhereText(mergedElsewhere)] : []),
    ...(settings === undefined ? [] : [settingsTexts[settings]]),
  ]
}

const admissions = {
  owner: 'by an owner',
  recovery: 'by recovery key',
  passphrase: 'by passphrase',
} as const

function newDeviceText({ deviceId, name, role, admittedBy }: NewDevice): string {
  const device = deviceText(deviceId, name)
  return `a new device joined: ${device}, ${role}, ${admissions[admittedBy]}`
}

/** At most this many paths are named. */
const PATHS_MAX = 3

function someOf(paths: readonly string[]): string {
  const all = [...new Set(paths.map((path) => visible(path)))]
  return [...all.slice(0, PATHS_MAX), ...(all.length > PATHS_MAX ? ['…'] : [])].join(', ')
}

function elsewhereText(merged: readonly Conflict[]): string {
  const paths = someOf(merged.map(({ path = '(redacted)' }) => path))
  const made = countText(merged.length, 'version', 'versions')
  const them = merged.length === 1 ? 'it' : 'them'
  return (
    `merges elsewhere combined both sides in ${made} (${paths}): ` +
    `\`gitlocket conflicts\` lists ${them}`
  )
}

function replacedLines(head: ReplacedHead): readonly string[] {
  const kept = countText(head.kept, 'commit', 'commits')
  const dropped = countText(head.dropped, 'commit', 'commits')
  return [
    `replaced the head ${head.commit.slice(0, 12)} of the remote, which was refused ` +
      `(${head.code}): kept ${kept} that verified below it, and dropped ${dropped}`,
    ...head.refused.map(({ commit, code }) => `refused ${commit} (${code})`),
  ]
}

function againLine({ grantId, changes, memories }: GrantWork['again'][number]): string {
  const count = countText(changes, 'change', 'changes')
  const paths = someOf(memories.map(({ path }) => path))
  const where = paths === '' ? '' : ` (${paths})`
  return `wrote ${count} of the grant ${grantId} again, without what a removed device wrote${where}`
}

const lostTexts: Readonly<Record<NotWritten, string>> = {
  not_here: "the removed device's memory",
  overlaps: "edit of the removed device's text",
  redacted: 'may hold redacted text',
  refused: 'not taken by this store',
}

/** Under a heading; empty without versions. */
function notAgainText(context: ReportPlace, ink: Ink, versions: GrantWork['notAgain']): string {
  if (versions.length === 0) return ''
  const columns: readonly Column<GrantWork['notAgain'][number]>[] = [
    {
      head: 'PATH',
      cell: ({ path, memoryId }) => path ?? memoryId,
      cut: 'beginning',
      weight: 2,
    },
    { head: 'WHY', cell: ({ why }) => lostTexts[why] },
    { head: 'GRANT', cell: ({ grantId }) => grantId, cut: 'end' },
    idColumn(({ versionId }) => versionId),
  ]
  const count = countText(versions.length, 'version', 'versions')
  const title = `Did not write ${count} of grants again`
  return `${INDENT}${title}\n${indentedTable(context, ink, versions, columns, `${INDENT}  `)}`
}

/** A change that was left out; a program may want to write it again. */
interface LateRow {
  readonly path: string
  readonly change: string
  readonly deviceId: string
  /** Of a version, or of a commit without one. */
  readonly id: string
}

function lateText(
  context: ReportPlace,
  ink: Ink,
  late: SyncReport['late'],
  names: DeviceNames,
): string {
  if (late.length === 0) return ''
  const count = countText(late.length, 'commit', 'commits')
  const rows = late.flatMap(lateRowsOf)
  const devices = shortDeviceTexts(new Set(rows.map(({ deviceId }) => deviceId)), names)
  const columns: readonly Column<LateRow>[] = [
    { head: 'PATH', cell: ({ path }) => path, cut: 'beginning', weight: 2 },
    { head: 'CHANGE', cell: ({ change }) => change },
    {
      head: 'DEVICE',
      cell: ({ deviceId }) => devices.get(deviceId) ?? deviceId,
      exact: ({ deviceId }) => deviceText(deviceId, names.get(deviceId)),
      cut: 'end',
    },
    idColumn(({ id }) => id),
  ]
  const title = `Left out ${count} of a removed device, or of the side that was given up`
  return `${INDENT}${title}\n${indentedTable(context, ink, rows, columns, `${INDENT}  `)}`
}

function lateRowsOf({
  commit,
  deviceId,
  kind,
  versions,
  redacts,
}: SyncReport['late'][number]): readonly LateRow[] {
  if (redacts.length > 0) {
    return redacts.map((id) => ({ path: '', change: 'redaction, undone', deviceId, id }))
  }
  if (versions.length === 0) return [{ path: '', change: kind, deviceId, id: commit }]
  return versions.map(({ versionId, memoryId, operation, path = memoryId }) => {
    return { path, change: operation, deviceId, id: versionId }
  })
}

function grantLines(grants: GrantsReport): readonly string[] {
  const { ended, isRefreshed, wereLost, removedStarts, removedRefs, failure } = grants
  const begin = 'what holders of grants begin with'
  return [
    ...ended.map((id) => `ended the grant ${id}, whose time is over`),
    ...(isRefreshed && wereLost ? [`${begin} was missing at the remote, and was made again`] : []),
    ...(isRefreshed && !wereLost ? [`brought ${begin} up to date`] : []),
    ...(removedStarts > 0
      ? [`removed ${countText(removedStarts, 'start', 'starts')} from before a redaction`]
      : []),
    ...(removedRefs > 0
      ? [`removed ${countText(removedRefs, 'ref', 'refs')} that a removed device kept for grants`]
      : []),
    ...(failure === undefined ? [] : [`could not keep ${begin}: ${visible(failure.message)}`]),
  ]
}

function movedText(received: SyncReport['received'], sent: SyncReport['sent']): string {
  const parts = [partText('received', received), partText('sent', sent)].filter(
    (part) => part !== undefined,
  )
  return parts.length === 0 ? 'nothing to do' : parts.join(', ')
}

function partText(
  verb: string,
  { commits, bytes }: { readonly commits: number; readonly bytes: number },
): string | undefined {
  if (commits === 0) return undefined
  return `${verb} ${countText(commits, 'commit', 'commits')} (${sizeText(bytes)})`
}

export function reportJson(report: SyncReport, names: DeviceNames = new Map()): Wire {
  const { remote, received, sent, merge, settings } = report
  const { forkedDevices, head, headFingerprint } = report
  return wire({
    type: 'sync',
    remote,
    received,
    sent,
    merge,
    outcomes: report.outcomes.map(({ kind, memoryId, path, inputs }) => {
      const versionIds = inputs.map((id) => formatId('version', id))
      return wire({ kind, memoryId: formatId('memory', memoryId), path, versionIds })
    }),
    mergedElsewhere: report.mergedElsewhere.map(versionPlaceJson),
    versionsErased: report.erased,
    pendingDevices: report.pendingDevices.map(pendingDeviceJson),
    settings,
    builtOnRedacted: report.builtOnRedacted.map(builtOnRedactedJson),
    lateChanges: report.late.map((change) => lateJson(change, names)),
    writtenAgain: report.hasRepeated,
    grantWork: grantWorkJson(report.grantWork),
    replaced: report.replaced && replacedJson(report.replaced),
    newDevices: report.newDevices.map(({ deviceId, name, role, admittedBy }) =>
      wire({ deviceId, name, role, admittedBy }),
    ),
    forkedDevices,
    begunAnew: report.begunAnew && begunAnewJson(report.begunAnew),
    grants: report.grants && grantsJson(report.grants),
    ignoredRefs: report.ignoredRefs,
    head,
    headFingerprint,
  })
}

function replacedJson({ commit, code, kept, dropped, refused }: ReplacedHead): Wire {
  const commits = refused.map((one) => wire({ commit: one.commit, code: one.code }))
  return wire({ commit, code, kept, dropped, refused: commits })
}

function grantWorkJson({ again, notAgain }: GrantWork): Wire {
  return wire({
    writtenAgain: again.map(({ grantId, changes, memories }) =>
      wire({
        grantId,
        changes,
        memories: memories.map(({ memoryId, path }) => wire({ memoryId, path })),
      }),
    ),
    notWrittenAgain: notAgain.map(({ grantId, versionId, memoryId, path, why }) =>
      wire({ grantId, versionId, memoryId, path, reason: why }),
    ),
  })
}

function begunAnewJson({ deviceId, changes, mayRepeat }: BegunAnew): Wire {
  return wire({ deviceId, changes, mayRepeat: mayRepeat.map(builtOnRedactedJson) })
}

function grantsJson(report: GrantsReport): Wire {
  const { isRefreshed, wereLost, removedStarts, removedRefs, ended, failure } = report
  return wire({
    refreshed: isRefreshed,
    wereLost,
    removedStarts,
    removedRefs,
    endedGrants: ended,
    failure: failure && { code: failure.code, message: failure.message },
  })
}

function versionPlaceJson(found: SyncReport['mergedElsewhere'][number]): Wire {
  const { memoryId, versionId, path } = found
  return wire({ memoryId, versionId, path })
}

function lateJson(
  { commit, deviceId, time, kind, versions, redacts }: SyncReport['late'][number],
  names: DeviceNames,
): Wire {
  const listed = versions.map(({ versionId, memoryId, operation, path }) => {
    return wire({ id: versionId, memoryId, operation, path })
  })
  const deviceName = names.get(deviceId)
  return wire({ commit, deviceId, deviceName, createdAt: time, kind, versions: listed, redacts })
}
