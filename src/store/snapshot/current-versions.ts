// The current version of every memory that ever existed, by memory id (cur of FORMAT §6.4).
// Immutable. In an old store most of them are deletions, which are kept as compact texts.

import { operations } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { ObjectSource } from './git-reads.ts'
import type { CurrentVersion } from './live-memory.ts'
import { type LiveVersion, MemoryTree } from './memory-tree.ts'
import { SharedMap } from './shared-map.ts'

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

  static of(entries: Iterable<CurrentEntry> = []): CurrentVersions {
    const live: LiveVersion[] = []
    const others: [string, string][] = []
    for (const [memoryId, version] of entries) {
      if (isLive(version)) live.push(version)
      else others.push([packId(memoryId), pack(version)])
    }
    return new CurrentVersions(MemoryTree.of(live), SharedMap.of(others))
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
  return Buffer.from(id, 'hex').toString('latin1')
}

function unpackId(packed: string): string {
  return Buffer.from(packed, 'latin1').toString('hex')
}

/** The 16 bytes of the version id, one for the operation, 7 for the time. */
function pack({ versionId, created, operation }: CurrentVersion): string {
  const bytes = Buffer.alloc(PACKED_BYTES)
  bytes.write(versionId, 'hex')
  bytes.writeBigUInt64BE(BigInt(created), TIME_AT)
  bytes[TIME_AT] = operations.indexOf(operation)
  return bytes.toString('latin1')
}

function unpack(packed: string): CurrentVersion {
  const bytes = Buffer.from(packed, 'latin1')
  const operation = operations[bytes[TIME_AT] ?? 0] ?? 'deleted'
  bytes[TIME_AT] = 0
  const created = Number(bytes.readBigUInt64BE(TIME_AT))
  return { versionId: bytes.toString('hex', 0, TIME_AT), operation, created, live: undefined }
}
