// The state at a verified head, decrypted, in RAM: the current version of every memory, the
// directory tree, and what the next record must continue (FORMAT §6.4). Immutable: `apply` gives
// the state after one more commit, which shares all unchanged parts; a caller that keeps the
// earlier state can go back to it.

import type { ChangeRecord, GrantTerms } from '../../format/change-record.ts'
import type { LastRecord } from '../../format/directory-succession.ts'
import { type Directory, mayGive } from '../../format/directory.ts'
import { operations } from '../../format/record.ts'
import type { Settings } from '../../format/settings.ts'
import type { Oid } from '../../git/objects/object.ts'
import { Bytes } from '../../platform/bytes.ts'
import { atOnce } from '../../time-slice.ts'
import type { ObjectSource } from './git-reads.ts'
import type { CurrentVersion } from './live-memory.ts'
import { type LiveVersion, MemoryTree } from './memory-tree.ts'
import { PathTree } from './path-tree.ts'
import { SharedMap } from './shared-map.ts'

/** The newest record of one device in the past of the head. */
export interface DeviceState {
  readonly sequence: number
  readonly record: Uint8Array
  readonly time: number
  /** Whether two machines wrote as this device, which is then inactive (FORMAT §8.2). */
  readonly forked: boolean
}

/** A grant that is active at the head (FORMAT §12). */
export interface GrantState extends GrantTerms {
  readonly key: Uint8Array
  /** The device that gave it. */
  readonly granter: string
  /** The time of the record that began it, ms since 1970. */
  readonly began: number
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
export interface CommitEffect {
  readonly head: Head
  readonly memories: ReadonlyMap<string, CurrentVersion>
  /** By device id. Several in a merge; empty if a recovery identity is the author. */
  readonly devices: ReadonlyMap<string, DeviceState>
  /** By grant id; undefined for one that ends. */
  readonly grants: ReadonlyMap<string, GrantState | undefined>
  readonly keyring: KeyringState | undefined
  readonly settings: SettingsState | undefined
}

/** The last records that a removal names (FORMAT §7.1): none of a device that is forked. */
export function lastRecords(
  devices: SharedMap<DeviceState>,
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

/** What a snapshot consists of. */
interface SnapshotParts {
  readonly head: Head
  readonly keyring: KeyringState
  readonly settings: SettingsState
  readonly current: CurrentVersions
  readonly devices: SharedMap<DeviceState>
  readonly grants: SharedMap<GrantState>
  /** Every version that a redact record names (R of FORMAT §8.1). */
  readonly redacted: ReadonlySet<string>
  readonly paths: PathTree
  /** Whether it was read from a cache, and its tree not compared with the head's yet. */
  readonly isCached: boolean
}

interface Contents extends Partial<Pick<SnapshotParts, 'devices' | 'grants' | 'redacted'>> {
  readonly memories?: Iterable<readonly [memoryId: string, CurrentVersion]>
}

export class Snapshot implements SnapshotParts {
  readonly head: Head
  readonly keyring: KeyringState
  readonly settings: SettingsState
  readonly current: CurrentVersions
  readonly devices: SharedMap<DeviceState>
  readonly grants: SharedMap<GrantState>
  readonly redacted: ReadonlySet<string>
  readonly paths: PathTree
  readonly isCached: boolean

  readonly #parts: SnapshotParts

  private constructor(parts: SnapshotParts) {
    this.#parts = parts
    this.head = parts.head
    this.keyring = parts.keyring
    this.settings = parts.settings
    this.current = parts.current
    this.devices = parts.devices
    this.grants = parts.grants
    this.redacted = parts.redacted
    this.paths = parts.paths
    this.isCached = parts.isCached
  }

  /**
   * Without contents by default. Fast if the memories are in the order of the directory tree.
   * Throws if the paths of two overlap.
   */
  static of(
    state: Pick<SnapshotParts, 'head' | 'keyring' | 'settings'>,
    contents: Contents = {},
  ): Snapshot {
    return atOnce(Snapshot.making(state, contents))
  }

  /** `of` in steps. */
  static *making(
    state: Pick<SnapshotParts, 'head' | 'keyring' | 'settings'>,
    { memories = [], ...others }: Contents,
  ): Generator<undefined, Snapshot> {
    const all = [...memories]
    const current = yield* CurrentVersions.making(all)
    const paths = yield* PathTree.making(all.flatMap(([, { live }]) => live ?? []))
    const nothing = { devices: noStates, grants: noStates, redacted: noVersions, isCached: false }
    return new Snapshot({ ...nothing, ...others, ...state, current, paths })
  }

  /** The number of live memories. */
  get count(): number {
    return this.paths.root.count
  }

  /** For a verified head: of its trees, only those that change are encoded. */
  trusting(objects: ObjectSource): Snapshot {
    return this.with({ current: this.current.trusting(objects, this.head.tree) })
  }

  /** The snapshot with other parts, which must fit the rest. */
  with(parts: Partial<SnapshotParts>): Snapshot {
    return new Snapshot({ ...this.#parts, ...parts })
  }

  apply(effect: CommitEffect): Snapshot {
    return atOnce(this.applying(effect))
  }

  /** `apply` in steps, two for each memory. */
  *applying(effect: CommitEffect): Generator<undefined, Snapshot> {
    let { current, paths } = this
    for (const [memoryId, { live }] of effect.memories) {
      current.tree.reveal(memoryId)
      const old = current.get(memoryId)?.live
      if (old !== undefined && old.path !== live?.path) paths = paths.without(old)
      yield
    }
    for (const [memoryId, version] of effect.memories) {
      const { live } = version
      const old = current.get(memoryId)?.live
      if (live !== undefined) paths = paths.with(live, old?.path === live.path ? old : undefined)
      current = current.with(memoryId, version)
      yield
    }
    return new Snapshot({
      head: effect.head,
      keyring: effect.keyring ?? this.keyring,
      settings: effect.settings ?? this.settings,
      current,
      devices: withAll(this.devices, effect.devices),
      grants: this.#grantsAfter(effect),
      redacted: this.redacted,
      paths,
      isCached: false,
    })
  }

  /** A keyring ends the grants of devices that may not give any (FORMAT §12). */
  #grantsAfter({ grants, keyring }: CommitEffect): SharedMap<GrantState> {
    let all = this.grants
    for (const [id, state] of grants) {
      all = state === undefined ? all.without(id) : all.with(id, state)
    }
    if (keyring === undefined) return all
    for (const [id, { granter }] of all) {
      if (!mayGive(keyring.directory, granter)) all = all.without(id)
    }
    return all
  }
}

const noStates: SharedMap<never> = SharedMap.of()
const noVersions: ReadonlySet<string> = new Set()

function withAll<V>(map: SharedMap<V>, added: ReadonlyMap<string, V>): SharedMap<V> {
  let all = map
  for (const [key, value] of added) all = all.with(key, value)
  return all
}

export type CurrentEntry = readonly [memoryId: string, version: CurrentVersion]

const TIME_AT = 16
const PACKED_BYTES = 24

export class CurrentVersions implements Iterable<CurrentEntry> {
  readonly tree: MemoryTree
  /** The others, packed, by packed memory id. */
  readonly #others: SharedMap<string>

  private constructor(tree: MemoryTree, others: SharedMap<string>) {
    this.tree = tree
    this.#others = others
  }

  static of(entries: readonly CurrentEntry[] = []): CurrentVersions {
    return atOnce(CurrentVersions.making(entries))
  }

  /** `of` in steps. */
  static *making(entries: readonly CurrentEntry[]): Generator<undefined, CurrentVersions> {
    const live: LiveVersion[] = []
    const others: [string, string][] = []
    for (const [memoryId, version] of entries) {
      yield
      if (isLive(version)) live.push(version)
      else others.push([packId(memoryId), pack(version)])
    }
    return new CurrentVersions(yield* MemoryTree.making(live), SharedMap.of(others))
  }

  get size(): number {
    return this.tree.count + this.#others.size
  }

  get(memoryId: string): CurrentVersion | undefined {
    const live = this.tree.find(memoryId)
    if (live !== undefined || this.#others.size === 0) return live
    const packed = this.#others.get(packId(memoryId))
    return packed === undefined ? undefined : unpack(packed)
  }

  with(memoryId: string, version: CurrentVersion): CurrentVersions {
    if (isLive(version)) {
      return new CurrentVersions(this.tree.with(version), this.#others.without(packId(memoryId)))
    }
    const others = this.#others.with(packId(memoryId), pack(version))
    return new CurrentVersions(this.tree.without(memoryId), others)
  }

  /** The same versions, with the ids of a verified tree in git: see `MemoryTree`. */
  trusting(objects: ObjectSource, root: Oid): CurrentVersions {
    return new CurrentVersions(this.tree.trusting(objects, root), this.#others)
  }

  /** The versions of the live memories. */
  live(): Iterable<LiveVersion> {
    return this.tree
  }

  /** The versions that an earlier state, with which this one shares parts, does not have. */
  *changesSince(earlier: CurrentVersions): Generator<CurrentEntry, undefined> {
    for (const version of this.tree.changesSince(earlier.tree)) {
      yield [version.live.memoryId, version]
    }
    for (const [id, packed] of this.#others.changesSince(earlier.#others)) {
      yield [unpackId(id), unpack(packed)]
    }
    return undefined
  }

  /** The live versions first. */
  *[Symbol.iterator](): Generator<CurrentEntry, undefined> {
    for (const version of this.tree) yield [version.live.memoryId, version]
    for (const [id, packed] of this.#others) yield [unpackId(id), unpack(packed)]
    return undefined
  }
}

function isLive(version: CurrentVersion): version is LiveVersion {
  return version.live !== undefined
}

/** A character for each byte. */
function packId(id: string): string {
  return Bytes.from(id, 'hex').toString('latin1')
}

function unpackId(packed: string): string {
  return Bytes.from(packed, 'latin1').toString('hex')
}

/** The 16 bytes of the version id, one for the operation, 7 for the time. */
function pack({ versionId, created, operation }: CurrentVersion): string {
  const bytes = Bytes.alloc(PACKED_BYTES)
  bytes.write(versionId, 'hex')
  bytes.writeBigUInt64BE(BigInt(created), TIME_AT)
  bytes[TIME_AT] = operations.indexOf(operation)
  return bytes.toString('latin1')
}

function unpack(packed: string): CurrentVersion {
  const bytes = Bytes.from(packed, 'latin1')
  const operation = operations[bytes[TIME_AT] ?? 0] ?? 'deleted'
  bytes[TIME_AT] = 0
  const created = Number(bytes.readBigUInt64BE(TIME_AT))
  return { versionId: bytes.toString('hex', 0, TIME_AT), operation, created, live: undefined }
}
