// The JSON of memories, versions and listings: names and shapes of Anthropic's Memory Stores API,
// and names of the same style for facts beyond it. Pure.

import { actorJson, timestamp, type Wire } from '../../operations/wire.ts'
import type { Version } from '../../store/history/versions.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import type { Memory } from '../../store/snapshot/live-memory.ts'
import type { DeviceNames } from './device-text.ts'

/** Fields that Anthropic's API names in another way than ours does. */
const wireNames: Readonly<Record<string, string>> = {
  storeId: 'memory_store_id',
  versionId: 'memory_version_id',
  versionIds: 'memory_version_ids',
  sha256: 'content_sha256',
  sizeBytes: 'content_size_bytes',
  session: 'session_id',
}

/**
 * An object with the names of its fields in snake_case: a time, `…At`, is in RFC 3339, and
 * undefined becomes null. The values are left as they are: their keys may be a user's.
 */
export function wire(fields: Readonly<Record<string, unknown>>): Wire {
  const entries = Object.entries(fields).map(([name, value]) => {
    const key = wireNames[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const isTime = name.endsWith('At') && typeof value === 'number'
    return [key, isTime ? timestamp(value) : (value ?? null)]
  })
  return Object.fromEntries(entries)
}

export function memoryJson(memory: Memory): Wire {
  const { memoryId, versionId, path, content, sha256, sizeBytes, createdAt, updatedAt } = memory
  const contents = { path, content, sha256, sizeBytes }
  return wire({ type: 'memory', id: memoryId, versionId, ...contents, createdAt, updatedAt })
}

export function versionJson(version: Version): Wire {
  const { versionId, memoryId, operation, path, movedFrom, sha256, sizeBytes } = version
  const { createdAt, placedAt } = version
  const { session, reason, deviceId, baseVersionId, mergedFrom, commit, redactedAt } = version
  return wire({
    type: 'memory_version',
    id: versionId,
    memoryId,
    operation,
    path,
    movedFrom,
    sha256,
    sizeBytes,
    createdAt,
    placedAt,
    createdBy: actorJson(version.createdBy),
    session,
    reason,
    deviceId,
    baseVersionId,
    mergedFrom,
    commit,
    redactedAt,
    redactedBy: actorJson(version.redactedBy),
  })
}

/** The same, with the name of the device. */
export function namedVersionJson(version: Version, names: DeviceNames): Wire {
  return { ...versionJson(version), device_name: names.get(version.deviceId) ?? null }
}

/**
 * The answer of a command: a page, or an object with its `type`, which is the name of the
 * command unless it is a thing with a name of its own.
 */
export function answerJson(command: string, json: unknown): unknown {
  if (typeof json !== 'object' || json === null || 'type' in json || 'data' in json) return json
  return { type: command.replaceAll(/[ -]/g, '_'), ...json }
}

/** A directory and everything below it, flat, in the order of a listing. */
export function listingJson(listing: DirectoryListing): readonly Wire[] {
  const { type, path, sizeBytes, updatedAt, children } = listing
  const isDirectory = type === 'directory'
  const item = {
    type: isDirectory ? 'memory_prefix' : 'memory',
    path: isDirectory && path !== '/' ? `${path}/` : path,
    sizeBytes,
    ...(updatedAt === undefined ? {} : { updatedAt }),
  }
  return [wire(item), ...children.flatMap(listingJson)]
}
