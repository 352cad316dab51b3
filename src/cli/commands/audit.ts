// `audit`: verifies the trail and lists who did what when, with the identity of an auditor or any
// other device. Reads neither contents nor paths, even if the identity could.

import type { AccessChange, AuditedVersion, AuditEntry } from '../../store/audit/audit-trail.ts'
import type { Audit } from '../../store/audit/audit.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { auditHere } from '../open-store.ts'
import { countText } from '../sizes.ts'
import { parseTime } from '../times.ts'
import { actorJson, timestamp } from '../wire.ts'

export async function audit(context: Context, input: Input): Promise<Answer> {
  const wanted = filterOf(context, input)
  const limit = input.integer('limit', 1, Number.MAX_SAFE_INTEGER)
  const found = await auditHere(context, input.flag('accept-rolled-back'))
  const shown = found.entries.filter(wanted).toReversed().slice(0, limit)
  return {
    text: [verifiedText(found), ...shown.map(entryText)].join('\n'),
    json: auditJson(found, shown),
    paged: true,
  }
}

function filterOf(context: Context, input: Input): (entry: AuditEntry) => boolean {
  const [since, until] = ['since', 'until'].map((option) => {
    const text = input.text(option)
    return text === undefined ? undefined : parseTime(option, text, context.clock())
  })
  const actor = input.text('actor')
  const session = input.text('session')
  const device = input.text('device')
  return (entry) =>
    (actor === undefined || entry.actor?.id === actor) &&
    (session === undefined || entry.session === session) &&
    (device === undefined || entry.deviceId.startsWith(device)) &&
    (since === undefined || entry.time >= since) &&
    (until === undefined || entry.time <= until)
}

function verifiedText({ entries, head, headFingerprint, memories }: Audit): string {
  const commits = countText(entries.length, 'commit', 'commits')
  const live = countText(memories, 'memory', 'memories')
  const words = headFingerprint.join(' ')
  return `Verified the trail: ${commits}, ${live}; the head is ${head}\nWords: ${words}\n`
}

function entryText(entry: AuditEntry): string {
  const { kind, parents, actor, session, isRecovery } = entry
  const what = parents.length === 2 ? `${kind}, a merge` : kind
  const who = actor === undefined ? 'not recorded' : `${actor.type}:${actor.id}`
  const marker = isRecovery ? ' (passphrase or recovery key)' : ''
  const lines = [
    `commit ${entry.commit}`,
    `Date:    ${timestamp(entry.time)}`,
    `Device:  ${entry.deviceId}${marker}`,
    `Actor:   ${who}`,
    ...(session === undefined ? [] : [`Session: ${session}`]),
    `What:    ${what}`,
    ...entry.versions.map((version) => `  ${versionText(version)}`),
    ...entry.redacts.map((versionId) => `  redacted ${versionId} (${entry.redactReason})`),
    ...(entry.access === undefined ? [] : accessLines(entry.access)),
  ]
  return `${lines.join('\n')}\n`
}

function versionText({ operation, versionId, memoryId, isRedacted }: AuditedVersion): string {
  return `${operation.padEnd(8)} ${versionId} of ${memoryId}${isRedacted ? ', redacted' : ''}`
}

function accessLines(access: AccessChange): string[] {
  return [
    ...access.added.map(({ deviceId, role }) => `  added ${deviceId} as ${role}`),
    ...access.changed.map(({ deviceId, role }) => `  made ${deviceId} ${role}`),
    ...access.removed.map((deviceId) => `  removed ${deviceId}`),
    ...access.recoveryAdded.map((type) => `  set ${slotNames[type]}`),
    ...access.recoveryRemoved.map((type) => `  removed ${slotNames[type]}`),
    ...(access.isNewEpoch ? ['  began an epoch of keys'] : []),
  ]
}

const slotNames = { passphrase: 'a passphrase', recovery: 'a recovery key' } as const

function auditJson(found: Audit, shown: readonly AuditEntry[]): Readonly<Record<string, unknown>> {
  return {
    verified: true,
    memory_store_id: found.storeId,
    device_id: found.deviceId,
    role: found.role ?? null,
    commits: found.entries.length,
    memories: found.memories,
    head: found.head,
    head_fingerprint: found.headFingerprint,
    entries: shown.map(entryJson),
  }
}

function entryJson(entry: AuditEntry): Readonly<Record<string, unknown>> {
  const { access } = entry
  return {
    commit: entry.commit,
    parents: entry.parents,
    height: entry.height,
    kind: entry.kind,
    created_at: timestamp(entry.time),
    created_by: actorJson(entry.actor),
    session_id: entry.session ?? null,
    device_id: entry.deviceId,
    recovery: entry.isRecovery,
    versions: entry.versions.map((version) => ({
      id: version.versionId,
      memory_id: version.memoryId,
      operation: version.operation,
      base_version_ids: version.baseVersionIds,
      redacted: version.isRedacted,
    })),
    redacts: entry.redacts,
    redact_reason: entry.redactReason ?? null,
    access: access === undefined ? null : accessJson(access),
  }
}

function accessJson(access: AccessChange): Readonly<Record<string, unknown>> {
  return {
    added: named(access.added),
    changed: named(access.changed),
    removed: access.removed,
    recovery_added: access.recoveryAdded,
    recovery_removed: access.recoveryRemoved,
    new_epoch: access.isNewEpoch,
  }
}

function named(
  devices: AccessChange['added'],
): readonly { readonly device_id: string; readonly role: string }[] {
  return devices.map(({ deviceId, role }) => ({ device_id: deviceId, role }))
}
