// Proofs: that the whole history verifies, and what it says of access, writing and erasing.

import { z } from 'zod'
import { reportCsv } from '../report-csv.ts'
import type { CareApi } from './contract-care.ts'
import { nothing, time } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

const CERTIFICATES_MAX = 100

export const reportInput: z.ZodType<CareApi['audit.report']['input']> = z.strictObject({
  since: time.optional(),
  until: time.optional(),
  certificates: z.array(z.string()).max(CERTIFICATES_MAX).optional(),
})

const verify: ConsoleOperation<'audit.verify'> = {
  name: 'the verification',
  effect: 'read',
  input: nothing,
  run: ({ store, work }) => store.maintenance.verify(work),
}

const report: ConsoleOperation<'audit.report'> = {
  name: 'the report',
  effect: 'read',
  input: reportInput,
  run: ({ store, textsOutside, work }, input) =>
    store.maintenance.report({ ...input, ...work, textsOutside }),
}

const csv: ConsoleOperation<'audit.csv'> = {
  name: 'the report as CSV',
  effect: 'read',
  input: reportInput,
  run: async ({ store, clock, textsOutside, work }, input) => {
    const made = await store.maintenance.report({ ...input, ...work, textsOutside })
    return { csv: reportCsv(made, clock()) }
  },
}

export const auditOperations: OperationsOf<
  Pick<CareApi, 'audit.verify' | 'audit.report' | 'audit.csv'>
> = { 'audit.verify': verify, 'audit.report': report, 'audit.csv': csv }
