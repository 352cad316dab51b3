// Proofs: that the whole history verifies, and its account of access, writing and erasing.

import { z } from 'zod'
import { reportCsv } from '../report-csv.ts'
import { reading, time } from './operation.ts'

const CERTIFICATES_MAX = 100

export const reportFields = {
  since: time.optional(),
  until: time.optional(),
  /** The texts of certificates. */
  certificates: z.array(z.string()).max(CERTIFICATES_MAX).optional(),
}

export const auditOperations = {
  'audit.verify': reading({}, ({ store, work }) => store.maintenance.verify(work)),

  'audit.report': reading(reportFields, ({ store, textsOutside, work }, input) =>
    store.maintenance.report({ ...input, ...work, textsOutside }),
  ),

  'audit.csv': reading(reportFields, async ({ store, clock, textsOutside, work }, input) => {
    const made = await store.maintenance.report({ ...input, ...work, textsOutside })
    return { csv: reportCsv(made, clock()) }
  }),
}
