// A report on a store, made of its verified trail: the verification, who had access, who wrote how
// much on which day, and each redaction with its proof and the devices that have not confirmed it.
// Names no path and holds no content, even if a member makes it.

import type { WorkOptions } from '../../async.ts'
import type { Actor, Operation, RedactReason } from '../../format/change-record.ts'
import type { MemberRole } from '../../format/directory.ts'
import { inSlices } from '../../time-slice.ts'
import type { AuditEntry } from '../audit/audit-trail.ts'
import { type Audit, type AuditOptions, withAudit } from '../audit/audit.ts'
import { verifyByTrail } from '../audit/verify-certificate.ts'
import { Ancestry } from '../commits/ancestry.ts'
import { mayStillWrite, type PendingDevice } from '../redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../redaction/built-on.ts'
import type { RedactionCertificate } from '../redaction/certificate.ts'
import type { ResidueOptions, ResidueReport } from '../redaction/residue.ts'
import {
  type AccessEvent,
  type Authorship,
  authorshipOf,
  listAccessEvents,
  listReportedDevices,
  type ReportedDevice,
} from './access-events.ts'

/** What a report is about. */
export interface ReportOptions extends WorkOptions {
  /** Events of this time and later, ms since 1970, by the clocks of the devices that wrote them. */
  readonly since?: number | undefined
  /** Events of this time and earlier. */
  readonly until?: number | undefined
  /** The texts of certificates of redactions: each is verified first. */
  readonly certificates?: readonly string[] | undefined
  /** As of `findResidue`; a report gives their number, and not their names. */
  readonly textsOutside?: ResidueOptions['textsOutside']
}

/** The same with certificates that were verified against the trail of the report. */
export interface ReportScope extends Pick<ReportOptions, 'since' | 'until'> {
  readonly certificates?: readonly RedactionCertificate[] | undefined
}

/** The facts that only a member knows. */
export interface MemberFacts {
  /** The name of the store. */
  readonly name: string
  /** The search for redacted versions; undefined if the report has no redaction. */
  readonly absence: ResidueReport | undefined
  readonly remotes: readonly KnownRemote[]
}

export interface KnownRemote {
  readonly name: string
  /** The commits that it lacked when it was last seen; undefined if it was never seen. */
  readonly lacks: ReadonlySet<string> | undefined
}

export interface AuditReport {
  /** `memstore_…` */
  readonly storeId: string
  /** Undefined for an auditor, who cannot read it. */
  readonly name: string | undefined
  /** The device that makes the report, `dev_…`, and its role. */
  readonly deviceId: string
  readonly role: MemberRole | undefined
  readonly since: number | undefined
  readonly until: number | undefined
  /** From the first commit to the head. */
  readonly verification: {
    /** `history`: everything. `trail`: all but contents, paths and settings (FORMAT §8.4). */
    readonly extent: 'history' | 'trail'
    /** 40 hex digits, and its twelve words. */
    readonly head: string
    readonly headFingerprint: readonly string[]
    readonly commits: number
    readonly versions: number
    /** The number of live memories. */
    readonly memories: number
  }
  readonly devices: readonly ReportedDevice[]
  readonly access: readonly AccessEvent[]
  readonly writes: readonly WriteCount[]
  readonly redactions: readonly ReportedRedaction[]
  /** Undefined for an auditor, and if there is no redaction. */
  readonly absence:
    | (Omit<ResidueReport, 'builtOnRedacted' | 'textsOutside'> & {
        /** Without paths. */
        readonly builtOnRedacted: readonly Omit<BuiltOnRedacted, 'memoryId' | 'path'>[]
        /** Their number. */
        readonly textsOutside: number
      })
    | undefined
  /** For an auditor: how many records it had verified that members have left out since. */
  readonly leftOut: number
}

/** How many versions an actor has written in a session on one day. */
export interface WriteCount extends Readonly<Record<Operation, number>> {
  /** In UTC, by the clocks of the devices: `2026-01-31`. */
  readonly day: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  /** How many of them are redacted by now. */
  readonly redacted: number
}

export interface ReportedRedaction extends Authorship {
  readonly reason: RedactReason | undefined
  /** `memver_…` */
  readonly versionIds: readonly string[]
  /** A verified certificate that names this redaction. */
  readonly certificate: RedactionCertificate | undefined
  /** What the search found of these versions: undefined if no one has searched. */
  readonly absence: 'nothing_found' | 'may_be_repeated' | 'found' | undefined
  readonly unconfirmedDevices: readonly PendingDevice[]
  /** The names of the remotes that are not known to have it. */
  readonly unconfirmedRemotes: readonly string[]
}

type ReportedAbsence = NonNullable<AuditReport['absence']>

/**
 * The report of an auditor. Changes only the anchor, as every audit does. Throws as `auditStore`,
 * and as `verifyCertificate` for a certificate that the trail does not prove.
 */
export function reportAsAuditor(
  places: AuditOptions,
  { since, until, certificates: texts = [] }: Omit<ReportOptions, 'progress' | 'signal'>,
): Promise<AuditReport> {
  return withAudit(places, async (audit, objects) => {
    const certificates: RedactionCertificate[] = []
    for (const text of texts) certificates.push(await verifyByTrail(text, audit, objects))
    return inSlices(collectReport(audit, undefined, { since, until, certificates }))
  })
}

/** Looks at one entry of the trail in each step. */
export function* collectReport(
  audit: Audit,
  member: MemberFacts | undefined,
  scope: ReportScope,
): Generator<undefined, AuditReport> {
  const { storeId, deviceId, role, head, headFingerprint, memories, entries, leftOut } = audit
  const { since, until } = scope
  const devices = listReportedDevices(entries)
  const found = entries.filter((entry) => isWithin(entry, scope))
  const absence = member?.absence && withoutPaths(member.absence)
  const unconfirmed = findUnconfirmed(entries, devices, deviceId)
  const known = { scope, absence, remotes: member?.remotes ?? [], unconfirmed }
  return {
    storeId,
    name: member?.name,
    deviceId,
    role,
    since,
    until,
    verification: {
      extent: member === undefined ? 'trail' : 'history',
      head,
      headFingerprint,
      commits: entries.length,
      versions: entries.reduce((sum, { versions }) => sum + versions.length, 0),
      memories,
    },
    devices,
    access: listAccessEvents(entries).filter((event) => isWithin(event, scope)),
    writes: yield* countWrites(found),
    redactions: found.filter(isRedaction).map((entry) => describeRedaction(entry, known)),
    absence,
    leftOut: leftOut.length,
  }
}

/** Whether the report on this scope has a redaction, so that a member searches for its versions. */
export function hasRedactions({ entries }: Audit, scope: ReportScope): boolean {
  return entries.some((entry) => isRedaction(entry) && isWithin(entry, scope))
}

function isRedaction({ kind }: AuditEntry): boolean {
  return kind === 'redact'
}

function isWithin({ time }: { readonly time: number }, { since, until }: ReportScope): boolean {
  return (since === undefined || time >= since) && (until === undefined || time <= until)
}

function* countWrites(entries: readonly AuditEntry[]): Generator<undefined, readonly WriteCount[]> {
  const counts = new Map<string, WriteCount>()
  for (const { time, actor, session, versions } of entries) {
    yield
    const [day = ''] = new Date(time).toISOString().split('T')
    const key = [day.length, day, actor?.type, actor?.id, session].join(' ')
    for (const { operation, isRedacted } of versions) {
      const known = counts.get(key) ?? { day, actor, session, ...none }
      const redacted = known.redacted + (isRedacted ? 1 : 0)
      counts.set(key, { ...known, [operation]: known[operation] + 1, redacted })
    }
  }
  // A year beyond 9999 has more digits.
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count)
}

const none = { created: 0, modified: 0, deleted: 0, redacted: 0 } as const

/** What the redactions of a report are described by. */
interface RedactionFacts {
  readonly scope: ReportScope
  readonly absence: ReportedAbsence | undefined
  readonly remotes: readonly KnownRemote[]
  /** By commit. */
  readonly unconfirmed: ReturnType<typeof findUnconfirmed>
}

function describeRedaction(
  entry: AuditEntry,
  { scope, absence, remotes, unconfirmed }: RedactionFacts,
): ReportedRedaction {
  const { commit, record, redacts, redactReason } = entry
  const certificates = scope.certificates?.filter(({ records }) => records.includes(record)) ?? []
  // One that was issued again from the record does not have the ids of the erased objects.
  const certificate =
    certificates.find(({ issued_by: issuedBy }) => issuedBy === undefined) ?? certificates[0]
  const lacking = remotes.filter(({ lacks }) => lacks === undefined || lacks.has(commit))
  return {
    ...authorshipOf(entry),
    reason: redactReason,
    versionIds: redacts,
    certificate,
    absence: absence && absenceOf(new Set(redacts), certificate, absence),
    unconfirmedDevices: unconfirmed.get(commit) ?? [],
    unconfirmedRemotes: lacking.map(({ name }) => name),
  }
}

function absenceOf(
  redacted: ReadonlySet<string>,
  certificate: RedactionCertificate | undefined,
  { found, builtOnRedacted, textsOutside }: ReportedAbsence,
): ReportedRedaction['absence'] {
  const objects = new Set(certificate?.object_ids)
  const isLeft = found.some(({ versionId = '', objectId = '' }) => {
    return redacted.has(versionId) || objects.has(objectId)
  })
  if (isLeft) return 'found'
  const isRepeated = builtOnRedacted.some(({ redactedVersionIds }) => {
    return redactedVersionIds.some((versionId) => redacted.has(versionId))
  })
  return isRepeated || textsOutside > 0 ? 'may_be_repeated' : 'nothing_found'
}

function withoutPaths(report: ResidueReport): ReportedAbsence {
  const { builtOnRedacted, textsOutside, ...searched } = report
  const named = builtOnRedacted.map(({ versionId, redactedVersionIds }) => {
    return { versionId, redactedVersionIds }
  })
  return { ...searched, builtOnRedacted: named, textsOutside: textsOutside.length }
}

/**
 * For each redact record, by its commit: the active devices that have written nothing since they
 * knew of it, by the rule of `redaction/acknowledgement.ts`. Not `reader`, which has verified the
 * trail, nor devices that were added later.
 */
function findUnconfirmed(
  entries: readonly AuditEntry[],
  devices: readonly ReportedDevice[],
  reader: string,
): ReadonlyMap<string, readonly PendingDevice[]> {
  const redactions = entries.filter(isRedaction)
  const found = new Map(redactions.map(({ commit }) => [commit, [] as PendingDevice[]]))
  const positions = new Map(entries.map(({ commit }, position) => [commit, position]))
  const positionOf = (commit: string): number => positions.get(commit) ?? -1
  const ancestry = new Ancestry()
  for (const { parents } of entries) ancestry.append(parents.map(positionOf))
  const newest = new Map(entries.map(({ deviceId, commit }) => [deviceId, commit]))
  for (const device of devices) {
    const { deviceId, name, role, lastRecord, added, removed } = device
    if (removed !== undefined || deviceId === reader) continue
    const last = newest.get(deviceId) ?? added.commit
    const isKnown = ancestry.pastOf([added.commit, last].map(positionOf))
    const canAcknowledge = mayStillWrite(role, false)
    for (const { commit } of redactions) {
      if (isKnown(positionOf(commit))) continue
      found.get(commit)?.push({ deviceId, name, role, lastRecord, canAcknowledge })
    }
  }
  return found
}
