// Who writes, merges and searches packs: a thread of its own, or in tests the one that asks.

import type { CompactOptions, ObjectAmount } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import type { OidList } from '../objects/oid-list.ts'
import type { TemporaryPack } from './pack-file.ts'
import type { PackObject } from './pack-writer.ts'

/** Writes and merges packs in the store's pack directory; what it wrote is durable. */
export interface Packer {
  /** The objects are given oldest first, those of a commit before it. */
  write(objects: readonly PackObject[]): Promise<void>
  /** As `write`, but nobody sees the pack before it is published. */
  stage(objects: readonly PackObject[]): Promise<TemporaryPack>
  merge(names: readonly string[]): Promise<void>
  /** Makes one pack of these, the largest first, and of all loose objects. */
  compact(names: readonly string[], options: CompactOptions): Promise<void>
  /** What none of `heads` leads to, in these packs and all loose objects. */
  measureUnreachable(
    names: readonly string[],
    heads: readonly Oid[],
    options: CompactOptions,
  ): Promise<ObjectAmount>
  /** Checks a pack that came in under temporary names, and writes its index. */
  index(token: string, options: CompactOptions): Promise<TemporaryPack>
  /** Erases objects from every pack. */
  filter(dead: OidList): Promise<void>
  /** Ends what runs beside this thread. */
  close(): Promise<void>
}
