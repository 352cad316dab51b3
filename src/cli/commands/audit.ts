// `audit`: verifies the trail and lists who did what when, with the identity of an auditor or any
// other device. Reads neither contents nor paths, even if the identity could.

import { giversText } from '../../format/directory.ts'
import { actorJson, pageJson, type Wire } from '../../operations/wire.ts'
import type {
  AccessChange,
  AuditEntry,
  AuditedGrant,
  AuditedVersion,
} from '../../store/audit/audit-trail.ts'
import type { Audit } from '../../store/audit/audit.ts'
import type { LeftOut } from '../../store/audit/left-out.ts'
import { listReportedDevices } from '../../store/report/access-events.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { holderText } from '../report/wording.ts'
import { resolveNamed } from '../store/named.ts'
import { auditHere } from '../store/open-store.ts'
import { deviceText, namesInTrail, type DeviceNames } from '../text/device-text.ts'
import { spanOf, timeFormat, type TimeFormat } from '../text/times.ts'
import { wire } from '../text/wire.ts'
import { countText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'audit',
    summary: 'Verify the trail and list who did what when, newest first, without contents',
    options: {
      '-n, --limit <number>': 'List at most this many commits',
      '--device <device>': 'List only those of this device, by name or id',
      '--actor <id>': 'List only those of this actor',
      '--session <id>': 'List only those of this session',
      '--since <time>': 'Nothing older: 36h, 7d, yesterday, 2026-01-31, or RFC 3339',
      '--until <time>': 'Nothing newer',
      '--accept-rolled-back': 'Accept an older state, and list what it leaves out',
    },
    notes: [
      'The task of an auditor; other devices may run it as well. Every record, signature, change ' +
        'of keys and file name is verified, from the first commit on; texts and paths are not ' +
        'read. `join` makes a clone on the machine of an auditor and `sync` keeps it current; a ' +
        'copy made with `git clone --bare` works too.',
      'Records that were verified here and that the members have left out since, as those of a ' +
        'device that was removed in the meantime, are listed first, once they were accepted.',
    ],
    run: audit,
  },
]

/** How the facts of entries are worded. */
interface TextOptions {
  readonly names: DeviceNames
  readonly format: TimeFormat
}

async function audit(context: Context, input: Input): Promise<Answer> {
  const span = spanOf(context, input)
  const limit = input.integer('limit', 1, Number.MAX_SAFE_INTEGER)
  const found = await auditHere(context, input.flag('accept-rolled-back'))
  const shown = found.entries
    .filter(filterOf(input, span, found.entries))
    .toReversed()
    .slice(0, limit)
  const names = namesInTrail(found.entries)
  const how = { names, format: timeFormat(context) }
  const texts = shown.map((entry) => entryText(entry, how))
  return {
    text: [verifiedText(found), ...leftOutTexts(found, how), ...texts].join('\n'),
    json: auditJson(found, shown, names),
    paged: true,
  }
}

function filterOf(
  input: Input,
  { since, until }: ReturnType<typeof spanOf>,
  entries: readonly AuditEntry[],
): (entry: AuditEntry) => boolean {
  const actor = input.text('actor')
  const session = input.text('session')
  const devices = listReportedDevices(entries).map(({ deviceId, name }) => ({ id: deviceId, name }))
  const kind = { kind: 'device', list: 'gitlocket device list' }
  const device = input.parsed('device', (typed) => resolveNamed(devices, typed, kind))
  return (entry) =>
    (actor === undefined || entry.actor?.id === actor) &&
    (session === undefined || entry.session === session) &&
    (device === undefined || entry.deviceId === device) &&
    (since === undefined || entry.time >= since) &&
    (until === undefined || entry.time <= until)
}

function verifiedText({ entries, head, headFingerprint, memories }: Audit): string {
  const commits = countText(entries.length, 'commit', 'commits')
  const live = countText(memories, 'memory', 'memories')
  const words = headFingerprint.join(' ')
  return `Verified the trail: ${commits}, ${live}; the head is ${head}\nWords: ${words}\n`
}

/** In front, whatever is filtered: these records are in no history any more. */
function leftOutTexts({ leftOut }: Audit, how: TextOptions): readonly string[] {
  if (leftOut.length === 0) return []
  const records = countText(leftOut.length, 'record', 'records')
  const title = `Left out: ${records} that this device had verified, as accepted here\n`
  const end = `The history again, without ${leftOut.length === 1 ? 'it' : 'them'}:\n`
  return [title, ...leftOut.map((one) => leftOutText(one, how)), end]
}

function leftOutText({ commit, entry, why, acceptedAt }: LeftOut, how: TextOptions): string {
  const text = entry === undefined ? `commit ${commit} (erased here)\n` : entryText(entry, how)
  return `${text}Left out: ${leftOutReasons[why]}, accepted ${how.format(acceptedAt)}\n`
}

const leftOutReasons = {
  late: 'of a device that was removed in the meantime, or on top of that',
  missing: 'for no reason that the history shows',
} as const

function entryText(entry: AuditEntry, { names, format }: TextOptions): string {
  const { kind, parents, actor, session } = entry
  const what = parents.length === 2 ? `${kindTexts[kind]}, a merge` : kindTexts[kind]
  const who = actor === undefined ? 'not recorded' : `${actor.type}:${actor.id}`
  const marker = holderText(entry, (id) => deviceText(id, names.get(id)))
  const lines = [
    `commit ${entry.commit}`,
    `Date:    ${format(entry.time)}`,
    `Device:  ${deviceText(entry.deviceId, names.get(entry.deviceId))}${marker}`,
    `Actor:   ${who}`,
    ...(session === undefined ? [] : [`Session: ${session}`]),
    `What:    ${what}`,
    ...entry.versions.map((version) => `  ${versionText(version)}`),
    ...entry.redacts.map((versionId) => `  redacted ${versionId} (${entry.redactReason})`),
    ...(entry.access === undefined ? [] : accessLines(entry.access, names)),
    ...entry.grants.map((grant) => `  ${grantText(grant, format)}`),
  ]
  return `${lines.join('\n')}\n`
}

const kindTexts: Readonly<Record<AuditEntry['kind'], string>> = {
  genesis: 'beginning',
  change: 'change',
  redact: 'redaction',
  keyring: 'devices or keys',
  grants: 'grants',
  settings: 'settings',
}

function versionText({ operation, versionId, memoryId, isRedacted }: AuditedVersion): string {
  return `${operation.padEnd(8)} ${versionId} of ${memoryId}${isRedacted ? ', redacted' : ''}`
}

function accessLines(access: AccessChange, names: DeviceNames): string[] {
  const named = (id: string): string => deviceText(id, names.get(id))
  return [
    ...access.added.map(
      ({ deviceId, name, role }) => `  added ${deviceText(deviceId, name)} as ${role}`,
    ),
    ...access.changed.map(({ deviceId, role }) => `  made ${named(deviceId)} ${role}`),
    ...access.renamed.map(({ deviceId, name }) => `  named ${deviceId} "${name}"`),
    ...access.removed.map((deviceId) => `  removed ${named(deviceId)}`),
    ...access.recoveryAdded.map((type) => `  set ${slotNames[type]}`),
    ...access.recoveryRemoved.map((type) => `  removed ${slotNames[type]}`),
    ...(access.givers === undefined ? [] : [`  let ${giversText(access.givers)} give grants`]),
    ...(access.isNewEpoch ? ['  replaced the keys of the store'] : []),
  ]
}

function grantText(
  { grantId, role, expiresAt, isEnd }: AuditedGrant,
  format: TextOptions['format'],
): string {
  return isEnd ? `ended grant ${grantId}` : `gave ${grantId} as ${role} until ${format(expiresAt)}`
}

const slotNames = { passphrase: 'a passphrase', recovery: 'a recovery key' } as const

function auditJson(found: Audit, shown: readonly AuditEntry[], names: DeviceNames): Wire {
  const { storeId, deviceId, role, memories, head, headFingerprint } = found
  return wire({
    type: 'audit',
    verified: true,
    storeId,
    deviceId,
    deviceName: names.get(deviceId),
    role,
    commits: found.entries.length,
    memories,
    head,
    headFingerprint,
    leftOut: found.leftOut.map(({ record, commit, why, acceptedAt, entry }) => {
      return wire({ record, commit, why, acceptedAt, entry: entry && entryJson(entry, names) })
    }),
    ...pageJson(shown.map((entry) => entryJson(entry, names))),
  })
}

function entryJson(entry: AuditEntry, names: DeviceNames): Wire {
  const { commit, record, parents, height, kind, session, deviceId, redacts } = entry
  return wire({
    type: 'audit_entry',
    commit,
    record,
    parents,
    height,
    kind,
    createdAt: entry.time,
    createdBy: actorJson(entry.actor),
    session,
    deviceId,
    deviceName: names.get(deviceId),
    recovery: entry.isRecovery,
    grantedBy: entry.grantedBy,
    versions: entry.versions.map(({ versionId, memoryId, operation, baseVersionIds, isRedacted }) =>
      wire({
        type: 'memory_version',
        id: versionId,
        memoryId,
        operation,
        baseVersionIds,
        redacted: isRedacted,
      }),
    ),
    redacts,
    redactReason: entry.redactReason,
    access: entry.access && accessJson(entry.access),
    grants: entry.grants.map(({ grantId, grantedBy, role, expiresAt, isEnd }) => {
      return wire({ grantId, grantedBy, role, expiresAt, ended: isEnd })
    }),
  })
}

function accessJson(access: AccessChange): Wire {
  const { added, changed, renamed, removed, recoveryAdded, recoveryRemoved } = access
  return wire({
    added: added.map(({ deviceId, role, name }) => wire({ deviceId, role, name })),
    changed: changed.map(({ deviceId, role }) => wire({ deviceId, role })),
    renamed: renamed.map(({ deviceId, name }) => wire({ deviceId, name })),
    removed,
    recoveryAdded,
    recoveryRemoved,
    givers: access.givers,
    newEpoch: access.isNewEpoch,
  })
}
