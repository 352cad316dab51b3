// What a push has to send: the commits that one head has and the other lacks, and the objects that
// came with them (FORMAT §2). Reads git alone, in proportion to what is new. Trusts the commits:
// they were verified.

import { assert } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { treeOf } from '../../format/commit-sections.ts'
import type { GitObject, Oid, TreeEntry } from '../../git/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readCommitBytes } from '../decoded-commit.ts'
import { Frontier } from '../frontier.ts'
import { getTree } from '../git-reads.ts'
import type { ObjectSource } from '../git-reads.ts'
import { compareTrees } from '../tree-diff.ts'

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
 * The objects of these commits that none of their parents has, each commit after its own. An object
 * may come twice. Found as they are asked for: of a long history they are many.
 */
export function* objectsOf(
  objects: ObjectSource,
  commits: readonly OutgoingCommit[],
): Generator<Oid> {
  const latest = new LatestObjects(objects)
  const trees = new Map(commits.map(({ oid, tree }) => [oid, tree]))
  const treeOfCommit = (oid: Oid): Oid => trees.get(oid) ?? treeOf(readCommitBytes(objects, oid))
  for (const { oid, tree, parents } of commits) {
    yield* newInAll(latest, parents.map(treeOfCommit), tree)
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

/** What a tree has and none of the others. */
function newInAll(
  objects: ObjectSource,
  [older, ...others]: readonly Oid[],
  newer: Oid,
): ReadonlySet<Oid> {
  const found = newerObjects(objects, older, newer)
  // What a merge took over from its other parent came with that one.
  for (const other of others) {
    const news = newerObjects(objects, other, newer)
    for (const oid of found) if (!news.has(oid)) found.delete(oid)
  }
  return found
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
