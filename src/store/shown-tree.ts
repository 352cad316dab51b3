// The tree `m` of one commit after another, without memories that are hidden (FORMAT §2.1, §10).
// Only directories in which a hidden memory is are read and made again, and those only when they
// changed. They, and the hidden blobs, are what must vanish.

import { assert } from '../errors.ts'
import { encodeTree, newObject } from '../git/object.ts'
import type { NewObject, Oid, TreeEntry } from '../git/object.ts'
import { getTree } from './git-reads.ts'
import type { ObjectSource } from './git-reads.ts'
import { FLAT_MAX } from './memory-tree.ts'

/** A directory without its hidden memories; undefined if nothing is left of it. */
interface Shown {
  readonly oid: Oid
  /** Its memories if it lists them flat: names are the digits that are left. */
  readonly files: readonly TreeEntry[] | undefined
}

/** Directories whose size is remembered. */
const SIZES_MAX = 4096

export class ShownTree {
  readonly #objects: ObjectSource
  readonly #dead: Set<Oid>
  readonly #hidden: Map<string, number> = new Map()
  /** All beginnings of the hidden ids, with how many begin so. */
  readonly #prefixes: Map<string, number> = new Map()
  /** What was last made of the directory at a prefix, while nothing below changes its hiding. */
  readonly #last: Map<string, { readonly old: Oid; readonly shown: Shown | undefined }> = new Map()
  /** Memories in directories that hide none, up to one more than are listed flat. */
  readonly #sizes: Map<Oid, number> = new Map()

  /** Adds to `dead` what may not be reachable any more. */
  constructor(objects: ObjectSource, dead: Set<Oid>) {
    this.#objects = objects
    this.#dead = dead
  }

  get isWhole(): boolean {
    return this.#hidden.size === 0
  }

  /** Before `follow` of the first tree that has the erased version. */
  hide(memoryId: string): void {
    this.#count(memoryId, 1)
  }

  /** After `follow` of the last one: the next tree has another version, or none. */
  unhide(memoryId: string): void {
    this.#count(memoryId, -1)
  }

  /** What `old` is without the hidden memories; trees that git may not have go to `into`. */
  follow(old: Oid | undefined, into: NewObject[]): Oid | undefined {
    return old === undefined ? undefined : this.#show('', old, into)?.oid
  }

  #show(prefix: string, old: Oid, into: NewObject[]): Shown | undefined {
    const last = this.#last.get(prefix)
    if (last?.old === old) return last.shown
    this.#dead.add(old)
    const entries = getTree(this.#objects, old)
    const isSplit = entries[0]?.mode === '40000'
    const files = isSplit ? undefined : this.#withoutHidden(prefix, entries)
    const shown =
      files === undefined ? this.#showSplit(prefix, entries, into) : make(files, true, into)
    this.#last.set(prefix, { old, shown })
    return shown
  }

  #withoutHidden(prefix: string, entries: readonly TreeEntry[]): readonly TreeEntry[] {
    return entries.filter(({ name, oid }) => {
      if (!this.#hidden.has(prefix + name)) return true
      this.#dead.add(oid)
      return false
    })
  }

  /** Of a directory of directories: it lists its memories flat once so few are left. */
  #showSplit(prefix: string, entries: readonly TreeEntry[], into: NewObject[]): Shown | undefined {
    const children: { readonly entry: TreeEntry; readonly shown: Shown | undefined }[] = []
    for (const entry of entries) {
      const { name, oid } = entry
      if (!this.#prefixes.has(prefix + name)) children.push({ entry, shown: undefined })
      else {
        const shown = this.#show(prefix + name, oid, into)
        if (shown !== undefined) children.push({ entry: { ...entry, oid: shown.oid }, shown })
      }
    }
    if (!this.#fitsFlat(children)) {
      return make(
        children.map(({ entry }) => entry),
        false,
        into,
      )
    }
    const files = children.flatMap(({ entry, shown }) => {
      const below = shown?.files ?? getTree(this.#objects, entry.oid)
      return below.map(({ mode, name, oid }) => ({ mode, name: entry.name + name, oid }))
    })
    return make(files, true, into)
  }

  #fitsFlat(children: readonly { entry: TreeEntry; shown: Shown | undefined }[]): boolean {
    if (children.some(({ shown }) => shown !== undefined && shown.files === undefined)) return false
    let size = 0
    for (const { entry, shown } of children) {
      size += shown?.files?.length ?? this.#sizeOf(entry.oid)
      if (size > FLAT_MAX) return false
    }
    return true
  }

  /** A directory of directories holds more than would be listed flat. */
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
    add(this.#hidden, memoryId, change)
    for (let end = 0; end < memoryId.length; end += 1) {
      const prefix = memoryId.slice(0, end)
      add(this.#prefixes, prefix, change)
      this.#last.delete(prefix)
    }
  }
}

function make(
  entries: readonly TreeEntry[],
  isFlat: boolean,
  into: NewObject[],
): Shown | undefined {
  if (entries.length === 0) return undefined
  const tree = newObject('tree', encodeTree(entries))
  into.push(tree)
  return { oid: tree.oid, files: isFlat ? entries : undefined }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  assert(count >= 0, 'nothing is shown again more often than it was hidden')
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
