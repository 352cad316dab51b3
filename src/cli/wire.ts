// The JSON of memories, versions and listings: names and shapes of Anthropic's Memory Stores API,
// and names of the same style for facts beyond it. Pure.

import type { Actor } from '../format/change-record.ts'
import type { Version } from '../store/history/versions.ts'
import type { DirectoryListing } from '../store/snapshot/listing.ts'
import type { Memory } from '../store/snapshot/memory-info.ts'

export function memoryJson(memory: Memory): Readonly<Record<string, unknown>> {
  return {
    type: 'memory',
    id: memory.memoryId,
    memory_version_id: memory.versionId,
    path: memory.path,
    content: memory.content,
    content_sha256: memory.sha256,
    content_size_bytes: memory.sizeBytes,
    created_at: timestamp(memory.createdAt),
    updated_at: timestamp(memory.updatedAt),
  }
}

export function versionJson(version: Version): Readonly<Record<string, unknown>> {
  return {
    type: 'memory_version',
    id: version.versionId,
    memory_id: version.memoryId,
    operation: version.operation,
    path: version.path ?? null,
    content_sha256: version.sha256 ?? null,
    content_size_bytes: version.sizeBytes ?? null,
    created_at: timestamp(version.createdAt),
    placed_at: version.placedAt === undefined ? null : timestamp(version.placedAt),
    created_by: actorJson(version.createdBy),
    session_id: version.session ?? null,
    reason: version.reason ?? null,
    device_id: version.deviceId,
    base_version_id: version.baseVersionId ?? null,
    merged_from: version.mergedFrom,
    commit: version.commit,
    redacted_at: version.redactedAt === undefined ? null : timestamp(version.redactedAt),
    redacted_by: actorJson(version.redactedBy),
  }
}

/** A directory and everything below it, flat, in the order of a listing. */
export function listingJson(
  listing: DirectoryListing,
): readonly Readonly<Record<string, unknown>>[] {
  const { type, path, sizeBytes, children } = listing
  return [{ type, path, content_size_bytes: sizeBytes }, ...children.flatMap(listingJson)]
}

/** RFC 3339, in UTC. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

const actorIdNames: Readonly<Record<Actor['type'], string>> = {
  api: 'api_key_id',
  user: 'user_id',
  service_account: 'service_account_id',
  session: 'session_id',
}

export function actorJson(actor: Actor | undefined): Readonly<Record<string, string>> | null {
  if (actor === undefined) return null
  return { type: `${actor.type}_actor`, [actorIdNames[actor.type]]: actor.id }
}
