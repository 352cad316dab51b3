// Chooses the order of the journal's objects in a pack, and the delta bases of trees. The newest
// trees stay whole, and older ones are deltas against their successor at the same path, as in git's
// packs: the head is read most, and a tree that only grew needs no insert. Must not touch files.

import { asciiText, toHex } from '../../bytes.ts'
import { findLinks, findTreeEntry, type Oid } from '../objects/object.ts'
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

const noTree = new Uint8Array(0)
/** The mode of a directory and a space: `40000 `. That of a file begins with another digit. */
const directoryModeBytes = 6
const directoryModeStart = 0x34
const oidBytes = 20

class PackOrder {
  readonly #objects: ReadonlyMap<Oid, PackObject>
  readonly #ordered: Map<Oid, PackObject> = new Map()
  readonly #bases: Map<Oid, Oid> = new Map()

  constructor(objects: readonly PackObject[]) {
    this.#objects = new Map(objects.map((object) => [object.oid, object]))
  }

  /** Commits first and blobs last, so that a walk of history or trees remains in one region. */
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
  }

  /** Places `newer` before `older` and makes it its base, and likewise for their subtrees. */
  #compare(newer: Oid, older: Oid | undefined): void {
    if (newer === older) return
    const tree = this.#findTree(newer)
    if (tree === undefined) return
    this.take(newer)
    const before = older === undefined ? undefined : this.#findTree(older)
    if (older !== undefined && before !== undefined) this.#setBase(older, newer)
    for (const [one, other] of changedSubtrees(tree, before ?? noTree)) this.#compare(one, other)
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

  #findTree(oid: Oid): Uint8Array | undefined {
    const object = this.#objects.get(oid)
    return object?.type === 'tree' ? object.body : undefined
  }
}

/**
 * The subtrees of the newer tree that the older one does not have, each with the older one of the
 * same name, if any. Compares bytes: of sixteen subtrees one has changed. Trees are parsed only to
 * find good deltas: a malformed one ends where it does not look like a tree.
 */
function* changedSubtrees(
  newer: Uint8Array,
  older: Uint8Array,
): Generator<readonly [newer: Oid, older: Oid | undefined], void> {
  const { length } = newer
  for (let at = 0; at < length;) {
    // Whether the older tree has the same name in the same place, as it mostly does.
    let isNamesake = true
    let end = at
    for (; end < length && newer[end] !== 0; end += 1) isNamesake &&= newer[end] === older[end]
    const next = end + 1 + oidBytes
    if (next > length) return
    isNamesake &&= older[end] === 0
    let same = end
    if (isNamesake) while (same < next && newer[same] === older[same]) same += 1
    if (newer[at] === directoryModeStart && same < next) {
      const name = asciiText(newer.subarray(at + directoryModeBytes, end))
      const before = isNamesake
        ? toHex(older.subarray(end + 1, next))
        : findTreeEntry(older, '40000', name)
      yield [toHex(newer.subarray(end + 1, next)), before]
    }
    at = next
  }
}
