// Codes of a record's enumerated fields in tables and in history segments: the index in these lists
// plus one; 0 means none. The order must not change.

import type { Operation, RecordKind, RedactReason } from '../../format/change-record.ts'

export const kinds: readonly RecordKind[] = [
  'genesis',
  'change',
  'redact',
  'keyring',
  'settings',
  'grants',
]

export const operations: readonly Operation[] = ['created', 'modified', 'deleted']

export const reasons: readonly RedactReason[] = [
  'unspecified',
  'leaked_secret',
  'personal_data',
  'legal',
  'poisoned',
  'retention',
]
