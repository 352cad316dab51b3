// The report of a sync, as text and as JSON.

import { formatId } from '../../format/id.ts'
import type { Wire } from '../../operations/wire.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { MergeOutcome } from '../../store/merge/plan.ts'
import type { NewDevice, SettingsOutcome, SyncReport } from '../../store/sync/report.ts'
import { visible } from '../../text/visible.ts'
import { deviceText, type DeviceNames } from './device-text.ts'
import {
  builtOnRedactedJson,
  builtOnRedactedLines,
  pendingDeviceJson,
  pendingDeviceLines,
} from './redactions.ts'
import { wire } from './wire.ts'
import { countText, listOf, sizeText } from './words.ts'

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

/** `names`: of the devices, removed ones too. Times are relative if `now` is given. */
export function reportText(
  report: SyncReport,
  names: DeviceNames = new Map(),
  now?: number,
): string {
  const { remote, received, sent, erased, forkedDevices } = report
  const lines = [`${remote}: ${movedText(received, sent)}`]
  if (erased > 0)
    lines.push(`  erased here: ${countText(erased, 'version', 'versions')} redacted elsewhere`)
  lines.push(...pendingDeviceLines(report.pendingDevices, now).map((line) => `  ${line}`))
  lines.push(...report.newDevices.map(newDeviceText))
  if (report.merge !== undefined) lines.push(`  merged in ${report.merge.slice(0, 12)}`)
  for (const { path, kind } of report.outcomes) lines.push(`  ${visible(path)}: ${kinds[kind]}`)
  if (report.outcomes.some(wasCombined)) lines.push('  `gitlocket conflicts` lists them again')
  if (report.mergedElsewhere.length > 0) lines.push(elsewhereText(report.mergedElsewhere))
  if (report.settings !== undefined) lines.push(`  ${settingsTexts[report.settings]}`)
  lines.push(...builtOnRedactedLines(report.builtOnRedacted).map((line) => `  ${line}`))
  if (report.hasRepeated) {
    lines.push('  what members had written on the line that is left was written again')
  }
  lines.push(...lateLines(report.late, names))
  for (const device of forkedDevices) {
    lines.push(
      `  ${deviceText(device, names.get(device))} wrote from two machines and can no longer write`,
    )
  }
  lines.push(`  words ${report.headFingerprint.join(' ')}`)
  return `${lines.join('\n')}\n`
}

const admissions = {
  owner: 'by an owner',
  recovery: 'by recovery key',
  passphrase: 'by passphrase',
} as const

function newDeviceText({ deviceId, name, role, admittedBy }: NewDevice): string {
  const device = deviceText(deviceId, name)
  return `  a new device joined: ${device}, ${role}, ${admissions[admittedBy]}`
}

/** At most this many paths are named. */
const PATHS_MAX = 3

function elsewhereText(merged: readonly Conflict[]): string {
  const all = [...new Set(merged.map(({ path }) => visible(path ?? '(redacted)')))]
  const paths = [...all.slice(0, PATHS_MAX), ...(all.length > PATHS_MAX ? ['…'] : [])].join(', ')
  const made = countText(merged.length, 'version', 'versions')
  const them = merged.length === 1 ? 'it' : 'them'
  return (
    `  merges elsewhere combined both sides in ${made} (${paths}): ` +
    `\`gitlocket conflicts\` lists ${them}`
  )
}

/** The versions that were left out: a program may want to write them again. */
function lateLines(late: SyncReport['late'], names: DeviceNames): readonly string[] {
  if (late.length === 0) return []
  const count = countText(late.length, 'commit', 'commits')
  const title = `  Left out ${count}, of a removed device or of the side that was given up:`
  return [
    title,
    listOf(late.flatMap((change) => lateTexts(change, names)).map((line) => `  ${line}`)),
  ]
}

function lateTexts(
  { commit, deviceId, kind, versions, redacts }: SyncReport['late'][number],
  names: DeviceNames,
): readonly string[] {
  const by = deviceText(deviceId, names.get(deviceId))
  if (redacts.length > 0) return redacts.map((id) => `${id}  redact, which is undone  by ${by}`)
  if (versions.length === 0) return [`${commit}  ${kind}  by ${by}`]
  return versions.map(({ versionId, memoryId, operation, path }) => {
    return `${versionId}  ${operation}  ${visible(path ?? memoryId)}  by ${by}`
  })
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
    newDevices: report.newDevices.map(({ deviceId, name, role, admittedBy }) =>
      wire({ deviceId, name, role, admittedBy }),
    ),
    forkedDevices,
    head,
    headFingerprint,
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
