// The interface for writing, merging and searching packs, in a worker thread or, in tests, the
// calling thread.

import type { CompactOptions, ObjectAmount } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import type { OidList } from '../objects/oid-list.ts'
import type { IndexedPack, TemporaryPack } from './pack-file.ts'
import type { PackObject } from './pack-writer.ts'

/** Where a walk through reachable objects begins and ends, as in git. */
export interface ReachableFrom {
  /** The commits of the refs and the journal. */
  readonly heads: readonly Oid[]
  /** Commits whose parents do not count: see `PackExchange.shallow`. */
  readonly boundary: readonly Oid[]
}

/** Writes and merges packs in the store's pack directory; results are durable. */
export interface Packer {
  /** The objects are oldest first, with those of a commit before it. */
  write(objects: readonly PackObject[]): Promise<void>
  /** Like `write`, but the pack remains invisible until it is published. */
  stage(objects: readonly PackObject[]): Promise<TemporaryPack>
  merge(names: readonly string[]): Promise<void>
  /** Makes one pack of these, the largest first, and of all loose objects. */
  compact(names: readonly string[], options: CompactOptions): Promise<void>
  /** Measures the objects in these packs, and loose ones, that are not reachable. */
  measureUnreachable(
    names: readonly string[],
    from: ReachableFrom,
    options: CompactOptions,
  ): Promise<ObjectAmount>
  /**
   * Checks a pack that was received in another directory, under temporary names; indexes it.
   */
  index(directory: string, token: string, options: CompactOptions): Promise<IndexedPack>
  /**
   * Erases objects from every pack. Throws `journal_corrupt`, with nothing erased, if one of them
   * is reachable from `heads`.
   */
  filter(dead: OidList, heads: readonly Oid[]): Promise<void>
}
