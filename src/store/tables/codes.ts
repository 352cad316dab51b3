// Codes of the words of a record in tables and in the history's segments: places in these lists; 0
// stands for none.

import type { Operation, RecordKind, RedactReason } from '../../format/change-record.ts'

// Codes are places in these lists; 0 stands for none. Those of the history's segments are the same.
export const kinds: readonly RecordKind[] = ['genesis', 'change', 'redact', 'keyring', 'settings']

export const operations: readonly Operation[] = ['created', 'modified', 'deleted']

export const reasons: readonly RedactReason[] = [
  'unspecified',
  'leaked_secret',
  'personal_data',
  'legal',
  'poisoned',
  'retention',
]
