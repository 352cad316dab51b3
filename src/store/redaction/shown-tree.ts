// Makes the tree `m` of commits without hidden blobs (FORMAT §2.1, §10). Versions never share a
// blob, so the rest of a directory depends on its id alone, on whichever branch it is found. Marks
// the blobs and replaced directories as dead. Must only read directories that may hold such a blob.

import { assert } from '../../errors.ts'
import {
  encodeTree,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../git/objects/object.ts'
import type { OidCollector } from '../../git/objects/oid-list.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { FLAT_MAX } from '../snapshot/memory-tree.ts'

/** A directory without its hidden blobs. */
interface ShownDirectory {
  /** Undefined if it is empty. */
  readonly oid: Oid | undefined
  /** The number of memories that it lists flat; `FLAT_MAX + 1` for a directory of directories. */
  readonly size: number
}

/** At most this many directories have their size cached. */
const SIZES_MAX = 4096
/** The least number of directories whose remainder is cached, and for each prefix in use. */
const RECENT_MIN = 1024
const RECENT_PER_PREFIX = 2

export class ShownTree {
  readonly #objects: ObjectSource
  readonly #dead: OidCollector
  readonly #hidden: Set<Oid> = new Set()
  /** The number of hidden memories by each prefix of their ids. */
  readonly #prefixes: Map<string, number> = new Map()
  #active = 0
  /** By directory id. An entry that is not used while the cache fills again is dropped. */
  #recent: Map<Oid, ShownDirectory> = new Map()
  #older: Map<Oid, ShownDirectory> = new Map()
  /** The sizes of directories without hidden blobs. */
  readonly #sizes: Map<Oid, number> = new Map()

  /** Adds to `dead` the objects that must not be reachable any more. */
  constructor(objects: ObjectSource, dead: OidCollector) {
    this.#objects = objects
    this.#dead = dead
  }

  /** Whether the next trees hide nothing. */
  get isWhole(): boolean {
    return this.#active === 0
  }

  /** Hides a blob; called before `follow` with the first tree that has it. */
  hide(memoryId: string, blob: Oid): void {
    this.#hidden.add(blob)
    this.#dead.add(blob)
    this.#count(memoryId, 1)
  }

  /** Ends hiding a blob; called when no later tree has it. */
  unhide(memoryId: string, blob: Oid): void {
    this.#hidden.delete(blob)
    this.#count(memoryId, -1)
  }

  /** The id of `old` without hidden blobs; adds new trees to `into`. */
  follow(old: Oid | undefined, into: NewObject[]): Oid | undefined {
    return old === undefined ? undefined : this.#show('', old, into).oid
  }

  #show(prefix: string, old: Oid, into: NewObject[]): ShownDirectory {
    const known = this.#recent.get(old) ?? this.#older.get(old)
    const shown = known ?? this.#make(prefix, old, into)
    this.#recent.set(old, shown)
    const most = Math.max(RECENT_MIN, RECENT_PER_PREFIX * this.#prefixes.size)
    if (this.#recent.size > most) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    return shown
  }

  #make(prefix: string, old: Oid, into: NewObject[]): ShownDirectory {
    const entries = getTree(this.#objects, old)
    const isSplit = entries[0]?.mode === '40000'
    const rest = isSplit ? this.#restOfSplit(prefix, entries, into) : this.#restOfFlat(entries)
    const [first] = rest
    const size = first?.mode === '40000' ? FLAT_MAX + 1 : rest.length
    if (rest === entries) return { oid: old, size }
    this.#dead.add(old)
    if (first === undefined) return { oid: undefined, size }
    const tree = newObject('tree', encodeTree(rest))
    into.push(tree)
    return { oid: tree.oid, size }
  }

  /** The entries themselves if nothing is hidden. */
  #restOfFlat(entries: readonly TreeEntry[]): readonly TreeEntry[] {
    const rest = entries.filter(({ oid }) => !this.#hidden.has(oid))
    return rest.length === entries.length ? entries : rest
  }

  /** A directory of directories becomes flat once it has at most `FLAT_MAX` memories. */
  #restOfSplit(
    prefix: string,
    entries: readonly TreeEntry[],
    into: NewObject[],
  ): readonly TreeEntry[] {
    const children = entries.map((entry) => {
      const at = prefix + entry.name
      return { entry, shown: this.#prefixes.has(at) ? this.#show(at, entry.oid, into) : undefined }
    })
    const isSame = children.every(({ entry, shown }) => {
      return shown === undefined || shown.oid === entry.oid
    })
    if (isSame) return entries
    let size = 0
    for (const { entry, shown } of children) {
      size += shown?.size ?? this.#sizeOf(entry.oid)
      if (size > FLAT_MAX) break
    }
    if (size <= FLAT_MAX) return this.#flatten(entries)
    return children.flatMap(({ entry, shown }) => {
      if (shown === undefined) return [entry]
      return shown.oid === undefined ? [] : [{ ...entry, oid: shown.oid }]
    })
  }

  #flatten(entries: readonly TreeEntry[]): readonly TreeEntry[] {
    return entries.flatMap((entry) => {
      if (entry.mode === '100644') return this.#hidden.has(entry.oid) ? [] : [entry]
      const below = this.#flatten(getTree(this.#objects, entry.oid))
      return below.map(({ mode, name, oid }) => ({ mode, name: entry.name + name, oid }))
    })
  }

  #sizeOf(oid: Oid): number {
    const known = this.#sizes.get(oid)
    if (known !== undefined) return known
    const entries = getTree(this.#objects, oid)
    const size = entries[0]?.mode === '40000' ? FLAT_MAX + 1 : entries.length
    if (this.#sizes.size >= SIZES_MAX) this.#sizes.clear()
    this.#sizes.set(oid, size)
    return size
  }

  #count(memoryId: string, change: number): void {
    this.#active += change
    for (let end = 0; end < memoryId.length; end += 1) {
      add(this.#prefixes, memoryId.slice(0, end), change)
    }
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  assert(count >= 0, 'nothing is shown again more often than it was hidden')
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
