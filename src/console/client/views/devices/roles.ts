// The roles of devices, each with what it may.

import type { Role } from '../../../../api/console/contract.ts'

export const roles: readonly (readonly [Role, string])[] = [
  ['owner', 'owner: everything'],
  ['writer', 'writer: reads and writes memories'],
  ['reader', 'reader: reads memories'],
  ['auditor', 'auditor: sees who did what when, and no contents'],
]
