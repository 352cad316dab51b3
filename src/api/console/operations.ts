// The catalogue of the console: everything that a member's console answers.

import { auditOperations } from './audit.ts'
import { devicesOperations } from './devices.ts'
import { memoriesOperations } from './memories.ts'
import { mergesOperations } from './merges.ts'
import { momentsOperations } from './moments.ts'
import { overviewOperations } from './overview.ts'
import { redactionOperations } from './redaction.ts'
import { revertsOperations } from './reverts.ts'
import { settingsOperations } from './settings.ts'
import { syncOperations } from './sync.ts'
import { timelineOperations } from './timeline.ts'
import { versionsOperations } from './versions.ts'

export const operations = {
  ...overviewOperations,
  ...memoriesOperations,
  ...versionsOperations,
  ...momentsOperations,
  ...timelineOperations,
  ...revertsOperations,
  ...mergesOperations,
  ...redactionOperations,
  ...devicesOperations,
  ...syncOperations,
  ...auditOperations,
  ...settingsOperations,
}
