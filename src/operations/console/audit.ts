// The trail for people who audit: verified as a whole, then listed, filtered and reported, for
// members and auditors alike. The verified trail is kept until it is verified again, so that the
// page states when that was.

import { z } from 'zod'
import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Page } from '../../page.ts'
import type { AuditEntry } from '../../store/audit/audit-trail.ts'
import type { Audit } from '../../store/audit/audit.ts'
import {
  type AccessAction,
  listAccessEvents,
  listReportedDevices,
} from '../../store/report/access-events.ts'
import { type AuditReport, collectReport } from '../../store/report/audit-report.ts'
import { inSlices } from '../../time-slice.ts'
import { reportCsv } from '../report-csv.ts'
import type { FieldsOf } from '../schemas.ts'
import {
  type ConsoleContext,
  limitOf,
  type ListInput,
  pageFields,
  readingIn,
  short,
  type SignedReport,
  type SignReport,
  time,
} from './operation.ts'

const CERTIFICATES_MAX = 100

const reportFields = {
  since: time.optional(),
  until: time.optional(),
  /** The texts of certificates. */
  certificates: z.array(z.string()).max(CERTIFICATES_MAX).optional(),
}

type ReportInput = FieldsOf<typeof reportFields>

/** Where a trail comes from. */
export interface AuditSource {
  /** Identifies the store as long as it is open. */
  readonly key: object
  readonly audit: (work: WorkOptions) => Promise<Audit>
  readonly report: (input: ReportInput) => Promise<AuditReport>
  readonly sign: SignReport
  /** The newest commit, which may not be verified with the trail yet. */
  readonly head: () => Promise<string | undefined>
  readonly clock: Clock
  readonly work: WorkOptions
}

/** A commit of the trail: who, what, when, where. It names no path. */
export interface TrailRow {
  readonly commit: string
  readonly time: number
  readonly kind: AuditEntry['kind']
  readonly isMerge: boolean
  readonly actor: AuditEntry['actor']
  readonly session: string | undefined
  /** For people; may be empty. */
  readonly deviceName: string
  readonly deviceId: string
  /** Signed by a passphrase or recovery key, or by the holder of a grant. */
  readonly isRecovery: boolean
  readonly isGrant: boolean
  readonly created: number
  readonly modified: number
  readonly deleted: number
  /** The versions that it erased, and why. */
  readonly redacts: number
  readonly redactReason: AuditEntry['redactReason']
  readonly actions: readonly TrailAction[]
}

/** A change of access. */
export interface TrailAction {
  readonly type: AccessAction['type']
  readonly subject: string | undefined
  readonly role: string | undefined
}

const trailFields = {
  /** A part of the name of an actor, a session or a device, or of the id of one. */
  who: short.optional(),
  kind: z.enum(['genesis', 'change', 'redact', 'keyring', 'settings', 'grants']).optional(),
  since: time.optional(),
  until: time.optional(),
}

type TrailFilter = FieldsOf<typeof trailFields>

interface KeptTrail {
  readonly audit: Audit
  readonly at: number
}

const verified: WeakMap<object, Promise<KeptTrail>> = new WeakMap()

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- inferred, as all operations
export function auditOperationsIn<Context>(sourceOf: (context: Context) => AuditSource) {
  const reading = readingIn<Context>()
  return {
    'audit.verify': reading({}, async (context) => {
      const source = sourceOf(context)
      verified.delete(source.key)
      const { audit } = await verifiedOf(source)
      const { entries, memories, head } = audit
      const versions = entries.reduce((sum, entry) => sum + entry.versions.length, 0)
      return { commits: entries.length, versions, memories, head }
    }),

    /** The trail as it was verified last; verifies it if that never happened. */
    'audit.state': reading({}, (context) => stateOf(sourceOf(context))),

    /** Newest first. */
    'audit.trail': reading({ ...trailFields, ...pageFields }, async (context, input) =>
      pageOf(await verifiedOf(sourceOf(context)), input),
    ),

    'audit.signed': reading(reportFields, async (context, input): Promise<SignedReport> => {
      const { report, sign } = sourceOf(context)
      return sign(await report(input))
    }),

    'audit.csv': reading(reportFields, async (context, input) => {
      const { report, clock } = sourceOf(context)
      return { csv: reportCsv(await report(input), clock()) }
    }),
  }
}

async function stateOf(source: AuditSource) {
  const { audit, at } = await verifiedOf(source)
  const { storeId, deviceId, role, entries, memories, head, headFingerprint } = audit
  const names = namesIn(entries)
  const { redactions } = await inSlices(collectReport(audit, undefined, {}))
  return {
    verifiedAt: at,
    storeId,
    deviceName: names.get(deviceId) || deviceId,
    role,
    commits: entries.length,
    versions: entries.reduce((sum, entry) => sum + entry.versions.length, 0),
    memories,
    head,
    headFingerprint,
    isBehind: (await source.head()) !== head,
    leftOut: audit.leftOut.length,
    unconfirmed: redactions
      .filter(({ unconfirmedDevices }) => unconfirmedDevices.length > 0)
      .map(({ commit, time: redactedAt, reason, versionIds, unconfirmedDevices }) => {
        const versions = versionIds.length
        return { commit, time: redactedAt, reason, versions, devices: unconfirmedDevices }
      })
      .toReversed(),
  }
}

function pageOf(
  { audit }: KeptTrail,
  input: TrailFilter & ListInput,
): Page<TrailRow> & { readonly total: number } {
  const names = namesIn(audit.entries)
  const found = audit.entries.filter(conditionOf(input, names)).toReversed()
  const last = found.findIndex(({ commit }) => commit === input.after)
  if (input.after !== undefined && last === -1) {
    // A redaction gave the commits other ids: going on from the start would repeat rows.
    throw new StoreError('precondition_failed', 'The trail has changed: begin with its first page')
  }
  const start = last + 1
  const shown = found.slice(start, start + limitOf(input))
  const hasMore = start + shown.length < found.length
  return {
    data: shown.map((entry) => rowOf(entry, names)),
    nextPage: hasMore ? shown.at(-1)?.commit : undefined,
    total: found.length,
  }
}

export const auditOperations = auditOperationsIn(sourceOfMember)

function sourceOfMember(context: ConsoleContext): AuditSource {
  const { store, textsOutside, sign, clock, work } = context
  return {
    key: store,
    audit: (how) => store.maintenance.audit(how),
    report: (input) => store.maintenance.report({ ...input, ...work, textsOutside }),
    sign,
    head: async () => (await store.summary()).head,
    clock,
    work,
  }
}

async function verifiedOf(source: AuditSource): Promise<KeptTrail> {
  for (;;) {
    try {
      return await (verified.get(source.key) ?? verify(source))
    } catch (error) {
      // It was begun by another request that has ended: this one still waits, and begins again.
      const isOthers = hasCode(error, 'cancelled') && source.work.signal?.aborted !== true
      if (!isOthers) throw error
    }
  }
}

function verify({ key, audit, clock, work }: AuditSource): Promise<KeptTrail> {
  const verifying = audit(work).then((found) => ({ audit: found, at: clock() }))
  verified.set(key, verifying)
  verifying.catch(() => {
    if (verified.get(key) === verifying) verified.delete(key)
  })
  return verifying
}

function namesIn(entries: readonly AuditEntry[]): ReadonlyMap<string, string> {
  return new Map(listReportedDevices(entries).map(({ deviceId, name }) => [deviceId, name]))
}

function conditionOf(
  { who = '', kind, since, until }: TrailFilter,
  names: ReadonlyMap<string, string>,
): (entry: AuditEntry) => boolean {
  const wanted = who.toLowerCase()
  return ({ actor, session, deviceId, kind: is, time: at }) =>
    [actor?.id, session, names.get(deviceId), deviceId].some((name = '') =>
      name.toLowerCase().includes(wanted),
    ) &&
    (kind === undefined || is === kind) &&
    (since === undefined || at >= since) &&
    (until === undefined || at <= until)
}

function rowOf(entry: AuditEntry, names: ReadonlyMap<string, string>): TrailRow {
  const { commit, kind, parents, actor, session, deviceId, isRecovery, redactReason } = entry
  const counts = { created: 0, modified: 0, deleted: 0 }
  for (const { operation } of entry.versions) counts[operation] += 1
  return {
    commit,
    time: entry.time,
    kind,
    isMerge: parents.length > 1,
    actor,
    session,
    deviceName: names.get(deviceId) ?? '',
    deviceId,
    isRecovery,
    isGrant: entry.grantedBy !== undefined,
    ...counts,
    redacts: entry.redacts.length,
    redactReason,
    actions: listAccessEvents([entry]).map(({ action }) => describe(action, names)),
  }
}

function describe(action: AccessAction, names: ReadonlyMap<string, string>): TrailAction {
  const { type } = action
  const role = 'role' in action ? action.role : undefined
  if ('grantId' in action) return { type, role, subject: action.grantId }
  if (!('deviceId' in action)) return { type, role, subject: undefined }
  const name = 'name' in action ? action.name : names.get(action.deviceId)
  return { type, role, subject: name || action.deviceId }
}
