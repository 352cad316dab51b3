// Finds the objects of a push: the commits that one head has and the other lacks, and the objects
// that they introduce (FORMAT §2). Reads only git objects, in proportion to the new part. Trusts
// the commits, which were verified before.

import { assert } from '../../errors.ts'
import { treeOf, parseLinks } from '../../format/commit.ts'
import type { GitObject, Oid, TreeEntry } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { comparison } from '../snapshot/tree-diff.ts'
import { readCommitBytes } from './decoded-commit.ts'
import { Frontier } from './frontier.ts'

/** At most this many trees of the receiver are cached, some kilobytes each. */
const cachedTreesMax = 1000

export interface OutgoingCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly height: number
}

/** The commits reachable from `head` and from none of `known`, oldest first. */
export async function findOutgoing(
  objects: ObjectSource,
  head: Oid,
  known: readonly Oid[],
): Promise<readonly OutgoingCommit[]> {
  const slice = new TimeSlice()
  const read = new Map<Oid, OutgoingCommit>()
  const commitOf = (oid: Oid): OutgoingCommit => {
    const commit = read.get(oid) ?? readCommit(objects, oid)
    read.set(oid, commit)
    return commit
  }
  const frontier = new Frontier((oid: Oid) => commitOf(oid).height)
  frontier.add(head, 'ours')
  for (const oid of known) frontier.add(oid, 'theirs')
  const outgoing: OutgoingCommit[] = []
  for (let next = frontier.take(); next !== undefined; next = frontier.take()) {
    const commit = commitOf(next.commit)
    read.delete(next.commit)
    if (next.reach === 'ours') outgoing.push(commit)
    for (const parent of commit.parents) frontier.add(parent, next.reach)
    if (slice.isOver()) await slice.next()
  }
  return outgoing.toReversed()
}

function readCommit(objects: ObjectSource, oid: Oid): OutgoingCommit {
  const bytes = readCommitBytes(objects, oid)
  const { parents, height } = parseLinks(bytes)
  return { oid, tree: treeOf(bytes), parents, height }
}

/**
 * Yields the objects of these commits that none of their parents has, each commit after its
 * objects. Trees that a commit of `there` has at the same path are skipped: a deletion can restore
 * a tree that the receiver has. An object may be yielded twice; undefined where other work may run.
 */
export function* objectsOf(
  objects: ObjectSource,
  commits: readonly OutgoingCommit[],
  there: readonly Oid[] = [],
): Generator<Oid | undefined> {
  const latest = new LatestObjects(objects)
  const treesThere = there.map(
    (oid) => new PlacedTrees(objects, treeOf(readCommitBytes(objects, oid))),
  )
  const trees = new Map(commits.map(({ oid, tree }) => [oid, tree]))
  const treeOfCommit = (oid: Oid): Oid => trees.get(oid) ?? treeOf(readCommitBytes(objects, oid))
  for (const { oid, tree, parents } of commits) {
    const introduced = yield* newInAll(latest, parents.map(treeOfCommit), tree)
    for (const [found, prefix] of introduced) {
      if (!treesThere.some((placed) => placed.has(prefix, found))) yield found
    }
    yield oid
    latest.forgetOlder()
  }
}

/** Reads each tree once, though a commit is compared with its parents and with its children. */
class LatestObjects implements ObjectSource {
  readonly #objects: ObjectSource
  #latest: Map<Oid, GitObject | undefined> = new Map()
  #older: ReadonlyMap<Oid, GitObject | undefined> = new Map()

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  read(oid: Oid): GitObject | undefined {
    const object = this.#latest.get(oid) ?? this.#older.get(oid) ?? this.#objects.read(oid)
    this.#latest.set(oid, object)
    return object
  }

  forgetOlder(): void {
    this.#older = this.#latest
    this.#latest = new Map()
  }
}

/** The trees below `m` of one commit, looked up by their prefix of hex digits. */
class PlacedTrees {
  readonly #objects: ObjectSource
  readonly #memories: Oid | undefined
  /** By tree, its subtrees by hex digit. */
  readonly #subtrees: Map<Oid, ReadonlyMap<string, Oid>> = new Map()

  constructor(objects: ObjectSource, root: Oid) {
    this.#objects = objects
    this.#memories = memoriesOf(getTree(objects, root))
  }

  /** False for an object without a prefix, which is no tree below `m`. */
  has(prefix: string | undefined, oid: Oid): boolean {
    if (prefix === undefined) return false
    let tree = this.#memories
    for (const digit of prefix) {
      if (tree === undefined) return false
      tree = this.#subtreesOf(tree).get(digit)
    }
    return tree === oid
  }

  #subtreesOf(tree: Oid): ReadonlyMap<string, Oid> {
    const known = this.#subtrees.get(tree)
    if (known !== undefined) return known
    const trees = getTree(this.#objects, tree).filter(({ mode }) => mode === '40000')
    const subtrees = new Map(trees.map(({ name, oid }) => [name, oid]))
    if (this.#subtrees.size >= cachedTreesMax) this.#subtrees.clear()
    this.#subtrees.set(tree, subtrees)
    return subtrees
  }
}

/** The objects that only one of some trees has; those below `m` that are trees have a prefix. */
type NewObjects = Iterable<readonly [Oid, prefix: string | undefined]>

/** Yields after each object, where it has to know all: a merge may have ten thousand. */
function* newInAll(
  objects: ObjectSource,
  [older, ...others]: readonly Oid[],
  newer: Oid,
): Generator<undefined, NewObjects> {
  if (others.length === 0) return newerObjects(objects, older, newer)
  const found = yield* gather(newerObjects(objects, older, newer))
  // What a merge has from its other parent was sent with that parent.
  for (const other of others) {
    const newToOther = yield* gather(newerObjects(objects, other, newer))
    for (const oid of found.keys()) if (!newToOther.has(oid)) found.delete(oid)
  }
  return found
}

function* gather(found: NewObjects): Generator<undefined, Map<Oid, string | undefined>> {
  const all = new Map<Oid, string | undefined>()
  for (const [oid, prefix] of found) {
    all.set(oid, prefix)
    yield
  }
  return all
}

/** Yields directory by directory: one change may have added ten thousand objects. */
function* newerObjects(objects: ObjectSource, older: Oid | undefined, newer: Oid): NewObjects {
  if (older === newer) return
  const before = older === undefined ? [] : getTree(objects, older)
  const after = getTree(objects, newer)
  for (const { name, mode, oid } of after) {
    if (mode === '40000' || before.some((entry) => entry.oid === oid)) continue
    assert(name !== 'm', 'memories are in a directory')
    yield [oid, undefined]
  }
  const found: [Oid, string | undefined][] = []
  const work = comparison(objects, memoriesOf(before), memoriesOf(after), {
    tree: (prefix, oid) => found.push([oid, prefix]),
    blob: (_, oid) => oid !== undefined && found.push([oid, undefined]),
  })
  while (work.next().done !== true) yield* found.splice(0)
  yield* found
  yield [newer, undefined]
}

function memoriesOf(root: readonly TreeEntry[]): Oid | undefined {
  return root.find(({ name }) => name === 'm')?.oid
}
