// The state at a verified head, decrypted, in RAM: the current version of every memory, the
// directory tree, the radix tree, and what the next record must continue (FORMAT §6.4). `apply`
// moves it by one commit and returns an undo, because a batch that fails to reach the disk must
// leave no trace.

import type { ChangeRecord, GrantTerms } from '../../format/change-record.ts'
import type { LastRecord } from '../../format/directory-succession.ts'
import type { Directory } from '../../format/directory.ts'
import type { Settings } from '../../format/settings.ts'
import type { Oid } from '../../git/objects/object.ts'
import { atOnce } from '../../time-slice.ts'
import { CurrentVersions } from './current-versions.ts'
import type { ObjectSource } from './git-reads.ts'
import type { CurrentVersion } from './live-memory.ts'
import { MemoryTree } from './memory-tree.ts'
import { PathTree } from './path-tree.ts'

/** The newest record of one device in the past of the head. */
export interface DeviceState {
  readonly sequence: number
  readonly record: Uint8Array
  readonly time: number
  /** Whether two machines wrote as this device, which is then inactive (FORMAT §8.2). */
  readonly forked: boolean
}

/** A grant that was begun in the past of the head (FORMAT §12). */
export interface GrantState extends GrantTerms {
  readonly key: Uint8Array
  /** The device that gave it. */
  readonly granter: string
  readonly ended: boolean
}

/** The keyring in force. */
export interface KeyringState {
  /** The hash of the record that brought it. */
  readonly record: Uint8Array
  readonly oid: Oid
  readonly kid: string
  /** The earlier epochs, oldest first. */
  readonly archived: readonly string[]
  readonly directory: Directory
}

/** The record that brought the settings in force: the last one by (height, record hash). */
export interface SettingsRecord {
  /** Its hash. */
  readonly record: Uint8Array
  readonly height: number
  /** Its time, and that of genesis: ms since 1970. */
  readonly updated: number
  readonly created: number
}

export interface SettingsState extends SettingsRecord {
  readonly oid: Oid
  readonly value: Settings
}

export interface Head {
  readonly commit: Oid
  readonly record: Uint8Array
  readonly height: number
  readonly tree: Oid
}

/** The head before genesis, while genesis is made or verified. */
export const beforeGenesis: Head = {
  commit: '',
  record: new Uint8Array(32),
  height: -1,
  tree: '',
}

/** What a verified or new commit changes in the snapshot of its parent. */
export interface Effect {
  readonly head: Head
  readonly memories: ReadonlyMap<string, CurrentVersion>
  /** By device id. Several in a merge; empty if a recovery identity is the author. */
  readonly devices: ReadonlyMap<string, DeviceState>
  /** By grant id. */
  readonly grants: ReadonlyMap<string, GrantState>
  readonly keyring: KeyringState | undefined
  readonly settings: SettingsState | undefined
}

/** The last records that a removal names (FORMAT §7.1): none of a device that is forked. */
export function lastRecords(
  devices: ReadonlyMap<string, DeviceState>,
): (deviceId: string) => LastRecord | undefined {
  return (deviceId) => {
    const state = devices.get(deviceId)
    return state === undefined || state.forked ? undefined : state
  }
}

/** The state of a record's author after it; empty for recovery identities (FORMAT §7). */
export function authorState(
  { deviceId, sequence, time }: ChangeRecord,
  record: Uint8Array,
): ReadonlyMap<string, DeviceState> {
  if (sequence === 0) return noDevices
  return new Map([[deviceId, { sequence, record, time, forked: false }]])
}

const noDevices: ReadonlyMap<string, DeviceState> = new Map()

export type Undo = () => void

/** What the cached snapshot of a device has of this one. */
export interface Kept {
  /** Its head, when all memories were written. */
  readonly base: Oid
  /** How many redacted versions it has. */
  readonly redacted: number
  /** The memories that may have changed since. */
  readonly changed: Set<string>
}

export class Snapshot {
  head: Head
  keyring: KeyringState
  settings: SettingsState
  readonly current: CurrentVersions
  readonly devices: Map<string, DeviceState>
  readonly grants: Map<string, GrantState>
  /** Every version that a redact record names (R of FORMAT §8.1). */
  readonly redacted: Set<string>
  readonly paths: PathTree
  /** Undefined if it is not cached. */
  kept: Kept | undefined
  #tree: MemoryTree | undefined
  /** The root tree that was verified with these contents, until they change. */
  #verified: { readonly objects: ObjectSource; readonly tree: Oid } | undefined

  /** A snapshot without contents, or with those of another one. */
  constructor(head: Head, keyring: KeyringState, settings: SettingsState, contents?: Snapshot) {
    this.head = head
    this.keyring = keyring
    this.settings = settings
    this.current = contents?.current.copy() ?? new CurrentVersions()
    this.devices = new Map(contents?.devices)
    this.grants = new Map(contents?.grants)
    this.redacted = new Set(contents?.redacted)
    this.paths = contents?.paths.copy() ?? new PathTree()
    const kept = contents?.kept
    this.kept = kept && { ...kept, changed: new Set(kept.changed) }
  }

  /** An independent copy. */
  copy(): Snapshot {
    const copy = new Snapshot(this.head, this.keyring, this.settings, this)
    copy.#tree = this.#tree?.copy()
    copy.#verified = this.#verified
    return copy
  }

  /** Call where `head` is verified: of its trees, only those that change are encoded. */
  trustTrees(objects: ObjectSource): void {
    this.#verified = { objects, tree: this.head.tree }
  }

  /** The number of live memories. */
  get count(): number {
    return this.paths.root.count
  }

  /** Whether the radix tree was built; a snapshot from a cache starts without one. */
  get hasTree(): boolean {
    return this.#tree !== undefined
  }

  /** The radix tree, built in steps when it is first needed: reading does not need it. */
  *tree(): Generator<undefined, MemoryTree> {
    if (this.#tree !== undefined) return this.#tree
    const tree = new MemoryTree()
    for (const { live } of this.current.live()) {
      tree.set(live.memoryId, live.blob)
      yield
    }
    if (this.#verified !== undefined) tree.trust(this.#verified.objects, this.#verified.tree)
    this.#tree = tree
    return tree
  }

  /** Adds versions of memories that it does not have, from the cache of a verified head. */
  fill(versions: Iterable<readonly [memoryId: string, CurrentVersion]>): void {
    for (const [memoryId, version] of versions) {
      if (version.live !== undefined) this.paths.add(version.live)
      this.current.set(memoryId, version)
    }
  }

  apply(effect: Effect): Undo {
    return atOnce(this.applying(effect))
  }

  /** `apply` in steps, one for each memory. The snapshot must not be read before the last step. */
  *applying(effect: Effect): Generator<undefined, Undo> {
    const { head, keyring, settings } = this
    // Without a tree by now, the one that is built later is of another head.
    this.#verified = undefined
    const before = yield* this.#replacing(effect.memories)
    const devices = replaceIn(this.devices, effect.devices)
    const grants = replaceIn(this.grants, effect.grants)
    this.head = effect.head
    this.keyring = effect.keyring ?? keyring
    this.settings = effect.settings ?? settings
    return () => {
      atOnce(this.#replacing(before))
      replaceIn(this.devices, devices)
      replaceIn(this.grants, grants)
      this.head = head
      this.keyring = keyring
      this.settings = settings
    }
  }

  /** Sets the current versions and returns the previous ones; undefined removes a memory. */
  *#replacing(
    versions: ReadonlyMap<string, CurrentVersion | undefined>,
  ): Generator<undefined, Map<string, CurrentVersion | undefined>> {
    const before = new Map<string, CurrentVersion | undefined>()
    for (const memoryId of versions.keys()) {
      this.#tree?.reveal(memoryId)
      this.kept?.changed.add(memoryId)
    }
    for (const memoryId of versions.keys()) {
      const old = this.current.get(memoryId)
      before.set(memoryId, old)
      if (old?.live !== undefined) this.paths.remove(old.live)
      yield
    }
    try {
      for (const [memoryId, version] of versions) {
        if (version?.live !== undefined) this.paths.add(version.live)
        restore(this.current, memoryId, version)
        this.#tree?.set(memoryId, version?.live?.blob)
        yield
      }
    } catch (error) {
      this.#putBack(before)
      throw error
    }
    return before
  }

  /** Restores every memory of a change that was refused half-way. */
  #putBack(before: ReadonlyMap<string, CurrentVersion | undefined>): void {
    for (const [memoryId, old] of before) {
      const now = this.current.get(memoryId)
      if (now !== old && now?.live !== undefined) this.paths.remove(now.live)
    }
    for (const [memoryId, old] of before) {
      if (old?.live !== undefined) this.paths.add(old.live)
      restore(this.current, memoryId, old)
      this.#tree?.set(memoryId, old?.live?.blob)
    }
  }
}

/** Sets values and returns the previous ones; undefined removes a key. */
function replaceIn<K, V>(
  map: Map<K, V>,
  values: ReadonlyMap<K, V | undefined>,
): ReadonlyMap<K, V | undefined> {
  const before = new Map<K, V | undefined>()
  for (const [key, value] of values) {
    before.set(key, map.get(key))
    restore(map, key, value)
  }
  return before
}

function restore<K, V>(
  map: { set(key: K, value: V): unknown; delete(key: K): unknown },
  key: K,
  value: V | undefined,
): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
