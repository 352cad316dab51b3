// The objects of the Memory Stores API as they must be: every key that each has, and no other.

import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Json } from '../../support/http-caller.ts'

/** RFC 3339, as Date reads it, with a zone. */
export const timestamp: unknown = expect.stringMatching(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
)

const storeId: unknown = expect.stringMatching(/^memstore_[A-Za-z0-9_-]+$/)
const memoryId: unknown = expect.stringMatching(/^mem_[A-Za-z0-9_-]+$/)
const versionId: unknown = expect.stringMatching(/^memver_[A-Za-z0-9_-]+$/)

export function storeObject(fields: object): object {
  return {
    id: storeId,
    type: 'memory_store',
    name: expect.any(String),
    description: '',
    metadata: {},
    created_at: timestamp,
    updated_at: timestamp,
    archived_at: null,
    ...fields,
  }
}

/** `content` decides about hash and size; `view` about whether it is there. */
export function memoryObject(
  content: string,
  fields: object,
  view: 'basic' | 'full' = 'basic',
): object {
  return {
    id: memoryId,
    type: 'memory',
    memory_store_id: storeId,
    memory_version_id: versionId,
    path: expect.any(String),
    content: view === 'full' ? content : null,
    content_sha256: sha256(content),
    content_size_bytes: Buffer.byteLength(content),
    created_at: timestamp,
    updated_at: timestamp,
    ...fields,
  }
}

/** Checks a version that holds `content`; undefined for a deletion. */
export function versionObject(
  content: string | undefined,
  fields: object,
  view: 'basic' | 'full' = 'basic',
): object {
  const held = content !== undefined
  return {
    id: versionId,
    type: 'memory_version',
    memory_id: memoryId,
    memory_store_id: storeId,
    operation: held ? 'created' : 'deleted',
    path: expect.any(String),
    content: held && view === 'full' ? content : null,
    content_sha256: held ? sha256(content) : null,
    content_size_bytes: held ? Buffer.byteLength(content) : null,
    created_at: timestamp,
    created_by: expect.any(Object),
    redacted_at: null,
    redacted_by: null,
    ...fields,
  }
}

export function apiActor(keyId: string): object {
  return { type: 'api_actor', api_key_id: keyId }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function guard(content: string): object {
  return { type: 'content_sha256', content_sha256: sha256(content) }
}

/** Waits until the clock shows another millisecond, so that a later time is a greater one. */
export async function nextMillisecond(): Promise<void> {
  const before = Date.now()
  while (Date.now() <= before) await new Promise((resolve) => setTimeout(resolve, 1))
}

export function idsOf(items: readonly Json[]): string[] {
  return items.map(({ id }) => id)
}

export function pathsOf(items: readonly Json[]): string[] {
  return items.map(({ path }) => path)
}
