// Compares two trees `m` (FORMAT §2.1) in git, without reading directories that are equal on both
// sides. Trusts the trees: they must belong to verified commits.

import type { Oid, TreeEntry } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { getTree, type ObjectSource } from './git-reads.ts'

export interface TreeVisitor {
  /** A directory of the newer tree that the older one lacks; `prefix` has its digits. */
  tree(prefix: string, oid: Oid): void
  /** A memory whose blob differs; undefined if the newer tree does not have it. */
  blob(memoryId: string, oid: Oid | undefined): void
}

/** Yields after each directory. Undefined means a tree without memories. */
export function comparison(
  objects: ObjectSource,
  older: Oid | undefined,
  newer: Oid | undefined,
  visitor: TreeVisitor,
): Generator<undefined, void> {
  return new Comparison(objects, visitor).compare('', older, newer)
}

/** `comparison` in time slices, for trees that may differ much. */
export async function compareDistantTrees(
  objects: ObjectSource,
  older: Oid | undefined,
  newer: Oid | undefined,
  visitor: TreeVisitor,
): Promise<void> {
  await inSlices(comparison(objects, older, newer, visitor))
}

class Comparison {
  readonly #objects: ObjectSource
  readonly #visitor: TreeVisitor

  constructor(objects: ObjectSource, visitor: TreeVisitor) {
    this.#objects = objects
    this.#visitor = visitor
  }

  *compare(
    prefix: string,
    older: Oid | undefined,
    newer: Oid | undefined,
  ): Generator<undefined, void> {
    if (older === newer) return
    yield
    const before = this.#entries(older)
    const after = this.#entries(newer)
    if (newer !== undefined) this.#visitor.tree(prefix, newer)
    if (isSplit(before) && isSplit(after)) yield* this.#compareSplit(prefix, before, after)
    else this.#compareMixed(prefix, before, after)
  }

  #compareMixed(prefix: string, before: readonly TreeEntry[], after: readonly TreeEntry[]): void {
    const blobsBefore = new Map<string, Oid>()
    const blobsAfter = new Map<string, Oid>()
    this.#collect(prefix, before, blobsBefore, false)
    this.#collect(prefix, after, blobsAfter, true)
    this.#compareBlobs(blobsBefore, blobsAfter)
  }

  *#compareSplit(
    prefix: string,
    before: readonly TreeEntry[],
    after: readonly TreeEntry[],
  ): Generator<undefined, void> {
    const old = new Map(before.map((entry) => [entry.name, entry.oid]))
    for (const { name, oid } of after) {
      yield* this.compare(prefix + name, old.get(name), oid)
      old.delete(name)
    }
    for (const [name, oid] of old) yield* this.compare(prefix + name, oid, undefined)
  }

  #compareBlobs(before: ReadonlyMap<string, Oid>, after: ReadonlyMap<string, Oid>): void {
    for (const [memoryId, oid] of after) {
      if (before.get(memoryId) !== oid) this.#visitor.blob(memoryId, oid)
    }
    for (const memoryId of before.keys()) {
      if (!after.has(memoryId)) this.#visitor.blob(memoryId, undefined)
    }
  }

  #collect(
    prefix: string,
    entries: readonly TreeEntry[],
    into: Map<string, Oid>,
    isNewer: boolean,
  ): void {
    for (const { mode, name, oid } of entries) {
      if (mode === '100644') into.set(prefix + name, oid)
      else {
        if (isNewer) this.#visitor.tree(prefix + name, oid)
        this.#collect(prefix + name, this.#entries(oid), into, isNewer)
      }
    }
  }

  #entries(oid: Oid | undefined): readonly TreeEntry[] {
    return oid === undefined ? [] : getTree(this.#objects, oid)
  }
}

/** An empty directory fits both shapes. */
function isSplit(entries: readonly TreeEntry[]): boolean {
  return entries.every((entry) => entry.mode === '40000')
}
