// The objects of the Memory Stores API (§3), for everything that gives or prints them: exactly the
// keys that it names, all of them always present. Pure.

import type { Actor } from '../format/change-record.ts'
import type { HostedStore } from '../hosting/catalogue.ts'
import type { Version } from '../store/history/versions.ts'
import type { ListedMemory, MemoryPrefix } from '../store/memories.ts'
import type { SearchHit } from '../store/search/search-query.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'

export type Wire = Readonly<Record<string, unknown>>

export function storeObject(store: HostedStore): Wire {
  const { storeId, name, description, metadata, createdAt, updatedAt, archivedAt } = store
  return {
    id: storeId,
    type: 'memory_store',
    name,
    description,
    metadata,
    created_at: timestamp(createdAt),
    updated_at: timestamp(updatedAt),
    archived_at: timeOrNull(archivedAt),
  }
}

/** Without a content unless one is given. */
export function memoryObject(storeId: string, memory: MemoryInfo, content?: string): Wire {
  return {
    id: memory.memoryId,
    type: 'memory',
    memory_store_id: storeId,
    memory_version_id: memory.versionId,
    path: memory.path,
    content: content ?? null,
    content_sha256: memory.sha256,
    content_size_bytes: memory.sizeBytes,
    created_at: timestamp(memory.createdAt),
    updated_at: timestamp(memory.updatedAt),
  }
}

/** Beyond the API: a memory that a search has found, without its content, and where. */
export function hitObject(storeId: string, { memory, score, line, snippet }: SearchHit): Wire {
  return {
    type: 'memory_search_hit',
    memory: memoryObject(storeId, memory),
    score,
    line: line ?? null,
    snippet,
  }
}

export function listedObject(storeId: string, item: ListedMemory | MemoryPrefix): Wire {
  if (item.type === 'memory_prefix') return { type: item.type, path: item.path }
  return memoryObject(storeId, item, item.content)
}

export function versionObject(storeId: string, version: Version, content?: string): Wire {
  return {
    id: version.versionId,
    type: 'memory_version',
    memory_id: version.memoryId,
    memory_store_id: storeId,
    operation: version.operation,
    path: version.path ?? null,
    content: content ?? null,
    content_sha256: version.sha256 ?? null,
    content_size_bytes: version.sizeBytes ?? null,
    created_at: timestamp(version.createdAt),
    created_by: actorJson(version.createdBy),
    redacted_at: timeOrNull(version.redactedAt),
    redacted_by: actorJson(version.redactedBy),
  }
}

/** A page of a list. A list that is complete has no cursor to go on from. */
export function pageJson(data: readonly unknown[], nextPage?: string): Wire {
  return { data, next_page: nextPage ?? null }
}

/** RFC 3339, in UTC. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

function timeOrNull(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : timestamp(milliseconds)
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
