// The snapshot of a verified head as a sealed cache, so that a warm open reads one file and not the
// history (docs/ARCHITECTURE.md, opening). Keyed by head: what came after it is verified as
// usual. Its trees are compared with the head's before the first write (commit.ts).

import { fromHex, toHex } from '../bytes.ts'
import type { Operation } from '../format/record.ts'
import type { CommitCount } from './commit-count.ts'
import { findCache, writeCache } from './sealed-cache.ts'
import type { CacheOwner, CachePlace } from './sealed-cache.ts'
import { Snapshot } from './snapshot.ts'
import type { CurrentVersion, DeviceState, KeyringState, SettingsState } from './snapshot.ts'

type LiveRow = [
  path: string,
  size: number,
  sha256: string,
  updated: number,
  blob: string,
  kid: string,
]
type MemoryRow = [memoryId: string, versionId: string, Operation, created: number, LiveRow | null]

type DeviceRow = [id: string, sequence: number, record: string, time: number, forked: boolean]

interface StateFile {
  readonly version: 2
  readonly head: { commit: string; record: string; height: number; tree: string }
  readonly keyring: { record: string; oid: string }
  readonly settings: { oid: string; record: string; height: number }
  readonly devices: readonly DeviceRow[]
  readonly redacted: readonly string[]
  readonly memories: readonly MemoryRow[]
  /** How many commits were in the past of one: the head, or one of before. */
  readonly counted?: CommitCount | undefined
}

export interface CachedState {
  readonly snapshot: Snapshot
  readonly counted: CommitCount | undefined
}

/** Reads keyring and settings of a cached head back from git, where they are authenticated. */
export interface StateReader {
  readKeyring(oid: string, record: Uint8Array): KeyringState
  readSettings(oid: string, record: Uint8Array, height: number): SettingsState
}

/** The cached snapshot, or undefined if there is none. */
export function findState(
  owner: CacheOwner,
  path: string,
  reader: StateReader,
): CachedState | undefined {
  const file = findCache<StateFile>(owner, placeOf(path), 2)
  if (file === undefined) return undefined
  const keyring = reader.readKeyring(file.keyring.oid, fromHex(file.keyring.record))
  const head = { ...file.head, record: fromHex(file.head.record) }
  const { oid, record, height } = file.settings
  const settings = reader.readSettings(oid, fromHex(record), height)
  const snapshot = new Snapshot(head, keyring, settings)
  const memories = new Map(file.memories.map((row) => [row[0], fromRow(row)]))
  const devices = new Map(file.devices.map((row) => [row[0], fromDeviceRow(row)]))
  snapshot.apply({ head, memories, devices, keyring: undefined, settings: undefined })
  for (const versionId of file.redacted) snapshot.redacted.add(versionId)
  return { snapshot, counted: file.counted }
}

export async function writeState(
  owner: CacheOwner,
  path: string,
  { snapshot, counted }: CachedState,
): Promise<void> {
  const { head, keyring, settings } = snapshot
  const file: StateFile = {
    version: 2,
    head: { ...head, record: toHex(head.record) },
    keyring: { record: toHex(keyring.record), oid: keyring.oid },
    settings: { oid: settings.oid, record: toHex(settings.record), height: settings.height },
    devices: [...snapshot.devices].map(([id, state]) => [
      id,
      state.sequence,
      toHex(state.record),
      state.time,
      state.forked,
    ]),
    redacted: [...snapshot.redacted],
    memories: [...snapshot.current].map(toRow),
    counted,
  }
  await writeCache(owner, placeOf(path), file)
}

function placeOf(path: string): CachePlace {
  return { path, role: 'state', generation: 0 }
}

function fromDeviceRow([, sequence, record, time, forked]: DeviceRow): DeviceState {
  return { sequence, record: fromHex(record), time, forked }
}

function toRow([memoryId, current]: [string, CurrentVersion]): MemoryRow {
  const { versionId, operation, created, live } = current
  const row: LiveRow | null =
    live === undefined
      ? null
      : [live.path, live.size, live.sha256, live.updated, live.blob, live.kid]
  return [memoryId, versionId, operation, created, row]
}

function fromRow([memoryId, versionId, operation, created, row]: MemoryRow): CurrentVersion {
  if (row === null) return { versionId, operation, created, live: undefined }
  const [path, size, sha256, updated, blob, kid] = row
  // In one literal: with a spread, thousands of them take several times as long.
  const live = { memoryId, versionId, path, size, sha256, created, updated, blob, kid }
  return { versionId, operation, created, live }
}
