// Whether a verified history contains some objects: those that a certificate lists as erased must
// not be among them (FORMAT §10.1). Follows every commit and tree, and reads no blob.

import { treeOf, parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { getTree, hasObject, type ObjectSource } from '../snapshot/git-reads.ts'

/** One of the named objects in the history of the head; undefined if it contains no such object. */
export async function findReached(
  objects: ObjectSource,
  head: Oid,
  oids: readonly Oid[],
): Promise<Oid | undefined> {
  // This is enough after an erasure: a history that verifies contains only stored objects.
  const named = new Set(oids.filter((oid) => hasObject(objects, oid)))
  if (named.size === 0) return undefined
  const slice = new TimeSlice()
  const trees = new Set<Oid>()
  const commits = new Set([head])
  // Grows while it is walked.
  for (const commit of commits) {
    if (named.has(commit)) return commit
    const bytes = readCommitBytes(objects, commit)
    for (const parent of parseLinks(bytes).parents) commits.add(parent)
    const found = findInTree(objects, treeOf(bytes), named, trees)
    if (found !== undefined) return found
    if (slice.isOver()) await slice.next()
  }
  return undefined
}

/** Adds to `seen` the trees without such objects. */
function findInTree(
  objects: ObjectSource,
  root: Oid,
  named: ReadonlySet<Oid>,
  seen: Set<Oid>,
): Oid | undefined {
  const waiting = [root]
  for (let tree = waiting.pop(); tree !== undefined; tree = waiting.pop()) {
    if (named.has(tree)) return tree
    if (seen.has(tree)) continue
    seen.add(tree)
    for (const { oid, mode } of getTree(objects, tree)) {
      if (mode === '40000') waiting.push(oid)
      else if (named.has(oid)) return oid
    }
  }
  return undefined
}
