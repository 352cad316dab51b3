// What the console of an auditor answers: the trail, verified anew for each question, since nothing
// of it is kept. Contents, paths and settings are not readable for an auditor at all.

import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import { type Audit, type AuditOptions, auditStore } from '../../store/audit/audit.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import { listReportedDevices } from '../../store/report/access-events.ts'
import type { AuditReport } from '../../store/report/audit-report.ts'
import { reportAsAuditor } from '../../store/report/auditor-report.ts'
import { reportCsv } from '../report-csv.ts'
import { reportInput } from './audit.ts'
import type { CareApi, ListedDevice } from './contract-care.ts'
import type { MemoriesApi } from './contract-memories.ts'
import { nothing } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'
import { answer, type ConsoleSubject } from './subject.ts'

/** Where the trail is, and who audits it. */
export interface AuditorUser {
  readonly places: Omit<AuditOptions, 'progress' | 'signal'>
  readonly clock: Clock
}

interface AuditorContext extends AuditorUser {
  readonly work: WorkOptions
}

type AuditorOperation<Name extends keyof AuditorApi> = ConsoleOperation<Name, AuditorContext>
type AuditorApi = Pick<MemoriesApi, 'store.overview'> &
  Pick<CareApi, 'devices.list' | 'audit.verify' | 'audit.report' | 'audit.csv'>

export function auditorSubject(user: AuditorUser): ConsoleSubject {
  return {
    ask: (name, input, work) => answer(operations, name, input, 'read_only', { ...user, work }),
    // What others write is seen when it is asked for.
    watch: (signal) => untilAborted(signal),
  }
}

const overview: AuditorOperation<'store.overview'> = {
  name: 'the overview',
  effect: 'read',
  input: nothing,
  run: async (context) => {
    const found = await auditOf(context)
    const devices = listReportedDevices(found.entries)
    const remotes = await listRemotes(context.places.directory)
    return {
      storeId: found.storeId,
      name: '',
      description: '',
      audience: 'auditor',
      access: 'read_only',
      archivedAt: undefined,
      deviceId: found.deviceId,
      deviceName: devices.find(({ deviceId }) => deviceId === found.deviceId)?.name ?? '',
      role: found.role,
      head: found.head,
      headFingerprint: found.headFingerprint,
      commits: found.entries.length,
      memories: found.memories,
      contentBytes: 0,
      remotes: remotes.map(({ name, url }) => ({ name, url })),
      guard: false,
    }
  },
}

const devices: AuditorOperation<'devices.list'> = {
  name: 'the list of devices',
  effect: 'read',
  input: nothing,
  run: async (context) => ({ devices: devicesOf(await auditOf(context)) }),
}

const verify: AuditorOperation<'audit.verify'> = {
  name: 'the verification',
  effect: 'read',
  input: nothing,
  run: async (context) => {
    const { entries, memories, head } = await auditOf(context)
    const versions = entries.reduce((sum, entry) => sum + entry.versions.length, 0)
    return { commits: entries.length, versions, memories, head }
  },
}

const report: AuditorOperation<'audit.report'> = {
  name: 'the report',
  effect: 'read',
  input: reportInput,
  run: reportOf,
}

const csv: AuditorOperation<'audit.csv'> = {
  name: 'the report as CSV',
  effect: 'read',
  input: reportInput,
  run: async (context, input) => {
    return { csv: reportCsv(await reportOf(context, input), context.clock()) }
  },
}

const operations: OperationsOf<AuditorApi, AuditorContext> = {
  'store.overview': overview,
  'devices.list': devices,
  'audit.verify': verify,
  'audit.report': report,
  'audit.csv': csv,
}

function auditOf({ places, work }: AuditorContext): Promise<Audit> {
  return auditStore({ ...places, ...work })
}

function reportOf(
  { places, work }: AuditorContext,
  input: CareApi['audit.report']['input'],
): Promise<AuditReport> {
  return reportAsAuditor({ ...places, ...work }, input)
}

function devicesOf({ entries, deviceId: own }: Audit): readonly ListedDevice[] {
  return listReportedDevices(entries).map((device) => {
    const { deviceId, name, role, added, removed, lastRecord } = device
    return { deviceId, name, role, added, removed, lastRecord, isThis: deviceId === own }
  })
}

function untilAborted(signal: AbortSignal): AsyncIterable<never, void> {
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
  })
  const next = async (): Promise<IteratorResult<never, void>> => {
    await ended
    return { done: true, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}
