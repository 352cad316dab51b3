// The catalogue of the console: everything that a member's console answers.

import { auditOperations } from './audit.ts'
import { devicesOperations } from './devices.ts'
import { historyOperations } from './history.ts'
import { memoriesOperations } from './memories.ts'
import { redactionOperations } from './redaction.ts'
import { revertsOperations } from './reverts.ts'
import { reviewOperations } from './review.ts'
import { storeOperations } from './store.ts'

export const operations = {
  ...storeOperations,
  ...auditOperations,
  ...memoriesOperations,
  ...historyOperations,
  ...revertsOperations,
  ...reviewOperations,
  ...redactionOperations,
  ...devicesOperations,
}
