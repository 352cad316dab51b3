// How the Memory Stores API answers what failed (§2): status, headers and body for an error.

import { type ErrorDetails, StoreError } from '../errors.ts'
import { surfaceOf } from './error-surface.ts'
import type { Wire } from './wire.ts'

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Wire
}

const FULL = 507
const diskFull =
  'The disk of the server is full: its operator must free space; acknowledged writes are ' +
  'safe, and reading still works'
const failed = 'The server failed; its log has the error of this request'

export function errorAnswer(error: unknown, requestId: string): ErrorAnswer {
  const { status, type } = surfaceOf(error)
  const described = error instanceof StoreError && status < 500 ? error : undefined
  // Faults of a store or the machine are for its operator alone.
  const message = described?.message ?? (status === FULL ? diskFull : failed)
  const conflict =
    type === 'memory_path_conflict_error' ? conflictOf(described?.details ?? {}) : undefined
  const isFinal =
    type === 'memory_precondition_failed_error' ||
    Boolean(conflict?.conflicting_memory_id) ||
    status === FULL
  return {
    status,
    headers: {
      // SDKs repeat a 409 and a 507 that do not say this.
      ...(isFinal && { 'x-should-retry': 'false' }),
      ...(status === 429 && { 'retry-after': '1' }),
    },
    body: { type: 'error', error: { type, message, ...conflict }, request_id: requestId },
  }
}

function conflictOf({ memoryId, path }: ErrorDetails): {
  readonly conflicting_memory_id: string
  readonly conflicting_path: string
} {
  return { conflicting_memory_id: memoryId ?? '', conflicting_path: path ?? '' }
}
