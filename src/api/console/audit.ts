// Proofs: that the whole history verifies, and its account of access, writing and erasing.

import { z } from 'zod'
import { reportCsv } from '../report-csv.ts'
import { nothing, time } from './fields.ts'
import { consoleOperation } from './operation.ts'

const CERTIFICATES_MAX = 100

export const reportInput = z.strictObject({
  since: time.optional(),
  until: time.optional(),
  /** The texts of certificates. */
  certificates: z.array(z.string()).max(CERTIFICATES_MAX).optional(),
})

export const auditOperations = {
  'audit.verify': consoleOperation({
    name: 'the verification',
    effect: 'read',
    input: nothing,
    run: ({ store, work }) => store.maintenance.verify(work),
  }),

  'audit.report': consoleOperation({
    name: 'the report',
    effect: 'read',
    input: reportInput,
    run: ({ store, textsOutside, work }, input) =>
      store.maintenance.report({ ...input, ...work, textsOutside }),
  }),

  'audit.csv': consoleOperation({
    name: 'the report as CSV',
    effect: 'read',
    input: reportInput,
    run: async ({ store, clock, textsOutside, work }, input) => {
      const made = await store.maintenance.report({ ...input, ...work, textsOutside })
      return { csv: reportCsv(made, clock()) }
    },
  }),
}
