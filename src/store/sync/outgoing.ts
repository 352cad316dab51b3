// What a push has to send: the commits that one head has and the other lacks, and the objects that
// came with them (FORMAT §2). Reads git alone, in proportion to what is new. Trusts the commits:
// they were verified.

import { assert } from '../../errors.ts'
import { treeOf } from '../../format/commit-sections.ts'
import { parseLinks } from '../../format/commit.ts'
import type { GitObject, Oid, TreeEntry } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { Frontier } from '../commits/frontier.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { comparison } from '../snapshot/tree-diff.ts'

/** Of a receiver's trees so many are kept at hand, some kilobytes each. */
const knownTreesMax = 1000

export interface OutgoingCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly height: number
}

/** Oldest first: the commits in the past of `head` that are not in that of any of `known`. */
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
 * The objects of these commits that none of their parents has, each commit after its own. Left out
 * are trees that a commit `there` has at the same place, as what is deleted again brings them back.
 * An object may come twice. Found as they are asked for: of a long history they are many.
 */
export function* objectsOf(
  objects: ObjectSource,
  commits: readonly OutgoingCommit[],
  there: readonly Oid[] = [],
): Generator<Oid> {
  const latest = new LatestObjects(objects)
  const treesThere = there.map(
    (oid) => new PlacedTrees(objects, treeOf(readCommitBytes(objects, oid))),
  )
  const trees = new Map(commits.map(({ oid, tree }) => [oid, tree]))
  const treeOfCommit = (oid: Oid): Oid => trees.get(oid) ?? treeOf(readCommitBytes(objects, oid))
  for (const { oid, tree, parents } of commits) {
    for (const [found, prefix] of newInAll(latest, parents.map(treeOfCommit), tree)) {
      if (!treesThere.some((placed) => placed.has(prefix, found))) yield found
    }
    yield oid
    latest.forgetOlder()
  }
}

/** A commit is compared with its parents and its children with it: its trees are read once. */
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

/** Trees of one commit, looked up by the digits before them. */
class PlacedTrees {
  readonly #objects: ObjectSource
  readonly #memories: Oid | undefined
  /** Of the trees on the way to those that were asked for. */
  readonly #subtrees: Map<Oid, ReadonlyMap<string, Oid>> = new Map()

  constructor(objects: ObjectSource, root: Oid) {
    this.#objects = objects
    this.#memories = memoriesOf(getTree(objects, root))
  }

  /** Never what is no tree below `m`, which has no digits. */
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
    if (this.#subtrees.size >= knownTreesMax) this.#subtrees.clear()
    this.#subtrees.set(tree, subtrees)
    return subtrees
  }
}

/** What a tree has and none of the others: trees below `m` with the digits before them. */
type NewObjects = Iterable<readonly [Oid, prefix: string | undefined]>

function newInAll(
  objects: ObjectSource,
  [older, ...others]: readonly Oid[],
  newer: Oid,
): NewObjects {
  if (others.length === 0) return newerObjects(objects, older, newer)
  const found = new Map(newerObjects(objects, older, newer))
  // What a merge took over from its other parent came with that one.
  for (const other of others) {
    const news = new Map(newerObjects(objects, other, newer))
    for (const oid of found.keys()) if (!news.has(oid)) found.delete(oid)
  }
  return found
}

/** Directory by directory, as they are asked for: one change may have made ten thousand. */
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
