// `expire`: deletes memories that were not changed or read for some time, as ordinary changes. Only
// --redact-older also erases old versions permanently.

import type { Expiry, ExpiryRule } from '../../store/changes/retention.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { RedactionPlan, RedactionRequest } from '../../store/redaction/redaction-plan.ts'
import type { Redaction } from '../../store/redaction/redaction.ts'
import type { MemoryInfo } from '../../store/snapshot/live-memory.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { authorOf, authorOptions, dryRunOption, yesOption } from '../call/options.ts'
import { withStore } from '../store/open-store.ts'
import { loadHistory } from '../store/points.ts'
import { inkOf } from '../terminal/ink.ts'
import { confirm } from '../terminal/prompt.ts'
import { pendingDeviceJson, pendingDevicesParagraph } from '../text/redactions.ts'
import { storePath } from '../text/store-path.ts'
import { type Column, tableText } from '../text/table.ts'
import { ageFormat, parseDuration } from '../text/times.ts'
import { versionColumns } from '../text/versions-text.ts'
import { countText, sizeText } from '../text/words.ts'
import { redacting } from './redact.ts'

export const commands: readonly Command[] = [
  {
    name: 'expire',
    destroys: true,
    summary: 'Delete memories that were not changed or read for some time',
    options: {
      '--unchanged <duration>': 'Not changed for this long, such as 90d',
      '--unread <duration>': 'Not read on this device for this long',
      '--path <path>': 'Only at or below this path',
      '--redact-older <duration>':
        'Also erase permanently versions older than this that are not current',
      ...dryRunOption,
      ...yesOption,
      ...authorOptions,
    },
    notes: [
      'Asks on a terminal; elsewhere it needs --yes. Deleting is an ordinary change: `restore` ' +
        'and `rollback` undo it. Erasing, with --redact-older only, cannot be undone.',
    ],
    run: expire,
  },
]

/** What the command did, or would do. */
interface Expired {
  readonly dryRun: boolean
  readonly expiry: Expiry | undefined
  readonly plan: RedactionPlan | undefined
  readonly redaction: Redaction | undefined
}

function expire(context: Context, input: Input): Promise<Answer> {
  const rule = ruleOf(input)
  const request = redactionOf(context, input)
  if (rule === undefined && request === undefined) {
    throw usageError('expire needs --unchanged, --unread or --redact-older', 'expire')
  }
  const author = authorOf(context, input)
  const dryRun = input.flag('dry-run')
  return withStore(context, async (store) => {
    const plan = request && (await planErasure(context, store, request))
    const erased = plan?.versions.length ?? 0
    const planned = rule && (await store.as(author).expire(rule, { dryRun: true }))
    const deleted = planned?.expired.length ?? 0
    if (!dryRun) await agree(context, input, { deleted, erased })
    // Erasing comes first, so that what this call deletes can still be restored.
    const redaction =
      erased > 0 && !dryRun ? await erase(context, store, request, author) : undefined
    const expiry = dryRun ? planned : rule && (await store.as(author).expire(rule))
    return answerOf(context, { dryRun, expiry, plan, redaction })
  })
}

function ruleOf(input: Input): ExpiryRule | undefined {
  const [unchangedFor, unreadFor] = ['unchanged', 'unread'].map((option) => {
    const text = input.text(option)
    const duration = text === undefined ? undefined : parseDuration(option, text)
    if (duration !== 0) return duration
    throw usageError(`--${option} must be longer than 0`, 'expire')
  })
  if (unchangedFor === undefined && unreadFor === undefined) return undefined
  return {
    ...(unchangedFor === undefined ? {} : { unchangedFor }),
    ...(unreadFor === undefined ? {} : { unreadFor }),
    ...pathOf(input),
  }
}

function redactionOf(context: Context, input: Input): RedactionRequest | undefined {
  const text = input.text('redact-older')
  if (text === undefined) return undefined
  const before = context.clock() - parseDuration('redact-older', text)
  return { select: { before, ...pathOf(input) }, reason: 'retention', current: 'keep' }
}

function pathOf(input: Input): { readonly path?: string } {
  const path = input.text('path')
  return path === undefined ? {} : { path: storePath(path) }
}

async function planErasure(
  context: Context,
  store: MemoryStore,
  request: RedactionRequest,
): Promise<RedactionPlan> {
  await loadHistory(context, store)
  return store.history.planRedaction(request)
}

/** Asks once about everything that would be deleted or erased. */
async function agree(
  context: Context,
  input: Input,
  counts: { readonly deleted: number; readonly erased: number },
): Promise<void> {
  const memories = countText(counts.deleted, 'memory', 'memories')
  const versions = countText(counts.erased, 'old version', 'old versions')
  const would = [
    ...(counts.deleted > 0 ? [`${memories} would be deleted`] : []),
    ...(counts.erased > 0 ? [`${versions} would be erased permanently`] : []),
  ]
  if (would.length === 0) return
  const question = [
    ...(counts.deleted > 0 ? [`Delete ${memories}?`] : []),
    ...(counts.erased > 0 ? [`Erase ${versions} permanently? They cannot be recovered.`] : []),
  ]
  const preview = '--dry-run lists them'
  await confirm(context, input, { would: would.join(', '), question: question.join(' '), preview })
}

async function erase(
  context: Context,
  store: MemoryStore,
  request: RedactionRequest | undefined,
  author: Author,
): Promise<Redaction | undefined> {
  if (request === undefined) return undefined
  return redacting(context, store, request, author)
}

function answerOf(context: Context, { dryRun, expiry, plan, redaction }: Expired): Answer {
  const ink = inkOf(context)
  const { certificate, pendingDevices = [] } = redaction ?? {}
  const expired = expiry?.expired ?? []
  const redacted = dryRun ? plan?.versions.length : certificate?.versions.length
  const memories = countText(expired.length, 'memory', 'memories')
  const versions = countText(redacted ?? 0, 'old version', 'old versions')
  const listed = dryRun ? (plan?.versions ?? []) : []
  return {
    text: [
      expiry === undefined ? '' : `${dryRun ? 'Would delete' : 'Deleted'} ${memories}\n`,
      tableText(context, ink, expired, expiredColumns(context)),
      expired.length > 0 && listed.length > 0 ? '\n' : '',
      plan === undefined ? '' : `${dryRun ? 'Would redact' : 'Redacted'} ${versions}\n`,
      tableText(context, ink, listed, versionColumns(context, ink)),
      pendingDevicesParagraph(context, ink, pendingDevices),
    ].join(''),
    inked: true,
    ...(dryRun ? { paged: true } : {}),
    json: {
      dry_run: dryRun,
      commit: expiry?.commit ?? null,
      expired: expired.map(({ memoryId, path }) => ({ memory_id: memoryId, path })),
      redacted: redacted ?? 0,
      certificate: certificate ?? null,
      pending_devices: pendingDevices.map(pendingDeviceJson),
    },
  }
}

function expiredColumns(context: Context): readonly Column<MemoryInfo>[] {
  const age = ageFormat(context)
  return [
    { head: 'PATH', cell: ({ path }) => path, cut: 'beginning' },
    {
      head: 'SIZE',
      cell: ({ sizeBytes }) => sizeText(sizeBytes),
      exact: ({ sizeBytes }) => String(sizeBytes),
      align: 'right',
    },
    { head: 'CHANGED', cell: ({ updatedAt }) => age(updatedAt) },
  ]
}
