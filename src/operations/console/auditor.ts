// What the console of an auditor answers: the trail, verified anew for each question, since nothing
// of it is kept. Contents, paths and settings are not readable for an auditor at all.

import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import { type Audit, type AuditOptions, auditStore } from '../../store/audit/audit.ts'
import { listRemotes } from '../../store/clone-remotes.ts'
import { devicesOfTrail, listReportedDevices } from '../../store/report/access-events.ts'
import { type AuditReport, reportAsAuditor } from '../../store/report/audit-report.ts'
import type { OperationDefinition } from '../operation.ts'
import { reportCsv } from '../report-csv.ts'
import type { InputOf, QuestionName, ResultOf } from './contract.ts'
import { readingIn } from './operation.ts'
import { type Overview, reportFields } from './store.ts'
import { type ConsoleSubject, answer } from './subject.ts'

/** Where the trail is, and who audits it. */
export interface AuditorUser {
  readonly places: Omit<AuditOptions, 'progress' | 'signal'>
  readonly clock: Clock
}

interface AuditorContext extends AuditorUser {
  readonly work: WorkOptions
}

type AuditorAnswer<Name extends QuestionName> = OperationDefinition<
  InputOf<Name>,
  ResultOf<Name>,
  AuditorContext
>

const reading = readingIn<AuditorContext>()

export function auditorSubject(user: AuditorUser): ConsoleSubject {
  return {
    ask: (name, input, work) => answer(operations, name, input, 'read_only', { ...user, work }),
    // What others write is seen when it is asked for.
    watch: (signal) => untilAborted(signal),
  }
}

const operations = {
  'store.overview': reading({}, async (context): Promise<Overview> => {
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
  }),

  'devices.list': reading({}, async (context) => ({
    devices: devicesOfTrail(await auditOf(context)),
  })),

  'audit.verify': reading({}, async (context) => {
    const { entries, memories, head } = await auditOf(context)
    const versions = entries.reduce((sum, entry) => sum + entry.versions.length, 0)
    return { commits: entries.length, versions, memories, head }
  }),

  'audit.report': reading(reportFields, reportOf),

  'audit.csv': reading(reportFields, async (context, input) => {
    return { csv: reportCsv(await reportOf(context, input), context.clock()) }
  }),
} satisfies { readonly [Name in QuestionName]?: AuditorAnswer<Name> }

function auditOf({ places, work }: AuditorContext): Promise<Audit> {
  return auditStore({ ...places, ...work })
}

function reportOf(
  { places, work }: AuditorContext,
  input: InputOf<'audit.report'>,
): Promise<AuditReport> {
  return reportAsAuditor({ ...places, ...work }, input)
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
