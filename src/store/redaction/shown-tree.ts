// The tree `m` of commits without the blobs that are hidden (FORMAT §2.1, §10). Versions never
// share a blob, so what is left of a directory follows from its name alone, whichever branch it is
// met on. Only directories in which a hidden blob may be are read. They and the blobs must vanish.

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

/** What is left of a directory. */
interface Shown {
  /** Undefined if that is nothing. */
  readonly oid: Oid | undefined
  /** How many memories it lists flat; one more than can be for a directory of directories. */
  readonly size: number
}

/** Directories whose size is remembered. */
const SIZES_MAX = 4096
/** Directories whose rest is remembered: at least, and for each that may hide something. */
const RECENT_MIN = 1024
const RECENT_PER_PREFIX = 2

export class ShownTree {
  readonly #objects: ObjectSource
  readonly #dead: OidCollector
  readonly #hidden: Set<Oid> = new Set()
  /** Beginnings of the ids of memories that are hidden somewhere, with how many begin so. */
  readonly #prefixes: Map<string, number> = new Map()
  #active = 0
  /** By the directory's name. What is not asked for while as much again was added is dropped. */
  #recent: Map<Oid, Shown> = new Map()
  #older: Map<Oid, Shown> = new Map()
  /** Of directories that hide nothing. */
  readonly #sizes: Map<Oid, number> = new Map()

  /** Adds to `dead` what may not be reachable any more. */
  constructor(objects: ObjectSource, dead: OidCollector) {
    this.#objects = objects
    this.#dead = dead
  }

  /** Whether no tree that follows hides anything. */
  get isWhole(): boolean {
    return this.#active === 0
  }

  /** Before `follow` of the first tree that has the blob. */
  hide(memoryId: string, blob: Oid): void {
    this.#hidden.add(blob)
    this.#dead.add(blob)
    this.#count(memoryId, 1)
  }

  /** When no tree that follows has the blob. */
  unhide(memoryId: string, blob: Oid): void {
    this.#hidden.delete(blob)
    this.#count(memoryId, -1)
  }

  /** What `old` is without the hidden blobs; trees that git may not have go to `into`. */
  follow(old: Oid | undefined, into: NewObject[]): Oid | undefined {
    return old === undefined ? undefined : this.#show('', old, into).oid
  }

  #show(prefix: string, old: Oid, into: NewObject[]): Shown {
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

  #make(prefix: string, old: Oid, into: NewObject[]): Shown {
    const entries = getTree(this.#objects, old)
    const isSplit = entries[0]?.mode === '40000'
    const left = isSplit ? this.#leftOfSplit(prefix, entries, into) : this.#leftOfFlat(entries)
    const [first] = left
    const size = first?.mode === '40000' ? FLAT_MAX + 1 : left.length
    if (left === entries) return { oid: old, size }
    this.#dead.add(old)
    if (first === undefined) return { oid: undefined, size }
    const tree = newObject('tree', encodeTree(left))
    into.push(tree)
    return { oid: tree.oid, size }
  }

  /** The entries themselves if nothing is hidden. */
  #leftOfFlat(entries: readonly TreeEntry[]): readonly TreeEntry[] {
    const left = entries.filter(({ oid }) => !this.#hidden.has(oid))
    return left.length === entries.length ? entries : left
  }

  /** A directory of directories lists its memories flat once so few are left. */
  #leftOfSplit(
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
