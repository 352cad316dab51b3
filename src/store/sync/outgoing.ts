// What a push has to send: the commits that one head has and the other lacks, and the objects that
// came with them (FORMAT §2). Reads git alone, in proportion to what is new. Trusts the commits:
// they were verified.

import { assert } from '../../errors.ts'
import { parseCommit } from '../../format/commit.ts'
import type { Oid, TreeEntry } from '../../git/object.ts'
import { readCommitBytes } from '../decoded-commit.ts'
import { getTree } from '../git-reads.ts'
import type { ObjectSource } from '../git-reads.ts'
import { compareTrees } from '../tree-diff.ts'

export interface OutgoingCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly height: number
}

interface Met {
  readonly commit: OutgoingCommit
  /** Whether it is in the past of one that the other side has. */
  isKnown: boolean
}

/** Oldest first: the commits in the past of `head` that are not in that of any of `known`. */
export function findOutgoing(
  objects: ObjectSource,
  head: Oid,
  known: readonly Oid[],
): readonly OutgoingCommit[] {
  const walk = new Walk(objects)
  walk.meet(head, false)
  for (const oid of known) walk.meet(oid, true)
  const outgoing: OutgoingCommit[] = []
  for (let next = walk.next(); next !== undefined; next = walk.next()) {
    if (!next.isKnown) outgoing.push(next.commit)
    for (const parent of next.commit.parents) walk.meet(parent, next.isKnown)
  }
  return outgoing.toReversed()
}

/** Goes back in descending height, so that a commit comes after all that it is a parent of. */
class Walk {
  readonly #objects: ObjectSource
  readonly #byHeight: Map<number, Map<Oid, Met>> = new Map()
  #height = -1
  /** Commits that are waiting and not known to the other side. */
  #unknown = 0

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  meet(oid: Oid, isKnown: boolean): void {
    const { tree, parents, height } = parseCommit(readCommitBytes(this.#objects, oid))
    const level = this.#byHeight.get(height) ?? new Map<Oid, Met>()
    this.#byHeight.set(height, level)
    this.#height = Math.max(this.#height, height)
    const before = level.get(oid)
    if (before === undefined) {
      level.set(oid, { commit: { oid, tree, parents, height }, isKnown })
      if (!isKnown) this.#unknown += 1
    } else if (isKnown && !before.isKnown) {
      before.isKnown = true
      this.#unknown -= 1
    }
  }

  /** Undefined once all that is left is known. */
  next(): Met | undefined {
    if (this.#unknown === 0) return undefined
    for (; this.#height >= 0; this.#height -= 1) {
      const level = this.#byHeight.get(this.#height)
      const [first] = level?.values() ?? []
      if (level === undefined || first === undefined) continue
      level.delete(first.commit.oid)
      if (!first.isKnown) this.#unknown -= 1
      return first
    }
    return undefined
  }
}

/** The objects of a commit that none of its parents has, itself last. */
export function objectsOf(objects: ObjectSource, commit: OutgoingCommit): readonly Oid[] {
  const parents = commit.parents.map((oid) => parseCommit(readCommitBytes(objects, oid)).tree)
  const [first, ...others] = parents
  const found = newerObjects(objects, first, commit.tree)
  // What a merge took over from its other parent came with that one.
  for (const other of others) {
    const newer = new Set(newerObjects(objects, other, commit.tree))
    for (const oid of found) if (!newer.has(oid)) found.delete(oid)
  }
  return [...found, commit.oid]
}

function newerObjects(objects: ObjectSource, older: Oid | undefined, newer: Oid): Set<Oid> {
  const found = new Set<Oid>()
  if (older === newer) return found
  const before = older === undefined ? [] : getTree(objects, older)
  const after = getTree(objects, newer)
  for (const { name, mode, oid } of after) {
    if (mode === '40000' || before.some((entry) => entry.oid === oid)) continue
    assert(name !== 'm', 'memories are in a directory')
    found.add(oid)
  }
  compareTrees(objects, memoriesOf(before), memoriesOf(after), {
    tree: (_, oid) => found.add(oid),
    blob: (_, oid) => oid !== undefined && found.add(oid),
  })
  found.add(newer)
  return found
}

function memoriesOf(root: readonly TreeEntry[]): Oid | undefined {
  return root.find(({ name }) => name === 'm')?.oid
}
