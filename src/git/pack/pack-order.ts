// Chooses the order of the journal's objects in a pack, and the delta bases of trees. The newest
// trees stay whole, and older ones are deltas against their successor at the same path, as in git's
// packs: the head is read most, and a tree that only grew needs no insert. Must not touch files.
// not touch files.

import { hasCode } from '../../errors.ts'
import { decodeTree, findLinks, type Oid } from '../objects/object.ts'
import type { PackInput, PackObject } from './pack-writer.ts'

/**
 * The objects without duplicates, newest first, each tree with its base if it has one. The input is
 * oldest first, with the objects of a commit before it.
 */
export function* orderForPack(objects: readonly PackObject[]): Generator<undefined, PackInput[]> {
  const order = new PackOrder(objects)
  const newestFirst = objects.toReversed()
  for (const object of newestFirst) {
    if (object.type !== 'commit') continue
    order.addCommit(object)
    yield
  }
  for (const object of newestFirst) order.take(object.oid)
  return order.inputs()
}

/** Subtrees by name. */
type Subtrees = ReadonlyMap<string, Oid>

class PackOrder {
  readonly #objects: ReadonlyMap<Oid, PackObject>
  readonly #ordered: Map<Oid, PackObject> = new Map()
  readonly #bases: Map<Oid, Oid> = new Map()
  /** The subtrees of trees in the last two commits: those of a parent are compared twice. */
  #latest: Map<Oid, Subtrees> = new Map()
  #older: ReadonlyMap<Oid, Subtrees> = new Map()

  constructor(objects: readonly PackObject[]) {
    this.#objects = new Map(objects.map((object) => [object.oid, object]))
  }

  /** Commits first and blobs last, so that a walk of history or trees stays in one region. */
  inputs(): PackInput[] {
    const ordered = [...this.#ordered.values()]
    return ['commit', 'tree', 'blob'].flatMap((wanted) => {
      return ordered
        .filter(({ type }) => type === wanted)
        .map(({ oid, type, body }) => ({ oid, type, body, base: this.#bases.get(oid) }))
    })
  }

  /** Called with the newest commit first. */
  addCommit(commit: PackObject): void {
    this.take(commit.oid)
    const links = findLinks(commit.body)
    const parent = this.#objects.get(links?.parents[0] ?? '')
    if (links !== undefined) this.#compare(links.tree, parent && findLinks(parent.body)?.tree)
    this.#older = this.#latest
    this.#latest = new Map()
  }

  /** Places `newer` before `older` and makes it its base, and likewise for their subtrees. */
  #compare(newer: Oid, older: Oid | undefined): void {
    if (newer === older) return
    const newerEntries = this.#subtrees(newer)
    if (newerEntries === undefined) return
    this.take(newer)
    const olderEntries = older === undefined ? undefined : this.#subtrees(older)
    if (older !== undefined && olderEntries !== undefined) this.#setBase(older, newer)
    for (const [name, oid] of newerEntries) this.#compare(oid, olderEntries?.get(name))
  }

  /** A base must precede its delta, so a tree that is already placed gets none. */
  #setBase(tree: Oid, base: Oid): void {
    if (this.#ordered.has(tree)) return
    this.#bases.set(tree, base)
    this.take(tree)
  }

  take(oid: Oid): void {
    const object = this.#objects.get(oid)
    if (object !== undefined) this.#ordered.set(oid, this.#ordered.get(oid) ?? object)
  }

  #subtrees(oid: Oid): Subtrees | undefined {
    const object = this.#objects.get(oid)
    if (object?.type !== 'tree') return undefined
    const subtrees = this.#latest.get(oid) ?? this.#older.get(oid) ?? subtreesOf(object)
    this.#latest.set(oid, subtrees)
    return subtrees
  }
}

function subtreesOf(tree: PackObject): Subtrees {
  const subtrees = new Map<string, Oid>()
  for (const { mode, name, oid } of readTree(tree)) if (mode === '40000') subtrees.set(name, oid)
  return subtrees
}

/** Objects are parsed only to find good deltas: a malformed one gets none. */
function readTree(tree: PackObject): ReturnType<typeof decodeTree> {
  try {
    return decodeTree(tree.body)
  } catch (error) {
    if (hasCode(error, 'object_corrupt')) return []
    throw error
  }
}
