// What a sync has done, in words for people and as values for programs.

import { formatId } from '../format/id.ts'
import type { MergeOutcome } from '../store/merge/plan.ts'
import type { SyncReport } from '../store/sync/report.ts'
import { visible } from './output.ts'
import { countText, sizeText } from './sizes.ts'

const kinds: Readonly<Record<MergeOutcome['kind'], string>> = {
  merged: 'edits of both sides merged',
  both_kept: 'both sides edited the same lines: both are kept, the older first',
  newer_kept: 'both sides edited it: the newer text is kept, the older one is a version',
  newer_path_kept: 'both sides renamed it: the newer name is kept',
  edit_kept: 'one side deleted it, the other edited it: the edit is kept',
  joined: 'both sides created it: joined into the older memory',
  moved_aside: 'a file and a directory had this name: the younger moved aside',
}

/** Whether a person may want to look at it: all but a clean merge of lines. */
export function wasCombined({ kind }: MergeOutcome): boolean {
  return kind !== 'merged'
}

export function reportText(report: SyncReport): string {
  const { remote, received, sent, erased, forkedDevices } = report
  const lines = [`${remote}: ${movedText(received, sent)}`]
  if (erased > 0)
    lines.push(`  erased here: ${countText(erased, 'version', 'versions')} redacted elsewhere`)
  if (report.merge !== undefined) lines.push(`  merged in ${report.merge.slice(0, 12)}`)
  for (const { path, kind } of report.outcomes) lines.push(`  ${visible(path)}: ${kinds[kind]}`)
  if (report.outcomes.some(wasCombined)) lines.push('  `gitlocket conflicts` lists them again')
  for (const device of forkedDevices) {
    lines.push(`  ${device} writes from two machines at once and may write no more`)
  }
  lines.push(`  head ${report.headWords.join(' ')}`)
  return `${lines.join('\n')}\n`
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

export function reportJson(report: SyncReport): Readonly<Record<string, unknown>> {
  return {
    remote: report.remote,
    received: report.received,
    sent: report.sent,
    merge: report.merge ?? null,
    outcomes: report.outcomes.map(({ kind, memoryId, path, inputs }) => ({
      kind,
      memory_id: formatId('memory', memoryId),
      path,
      memory_version_ids: inputs.map((id) => formatId('version', id)),
    })),
    versions_erased: report.erased,
    forked_devices: report.forkedDevices,
    head: report.head,
    head_words: report.headWords,
  }
}
