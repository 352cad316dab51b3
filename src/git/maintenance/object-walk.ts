// Walks all objects that some heads reach: commits by first parent, then their trees, each
// compared with its successor at the same path, so that common parts are read once. Malformed or
// missing objects are not followed. Must not write.

import { fromHex } from '../../bytes.ts'
import { findLinks } from '../objects/object.ts'
import { TreeCursor } from '../objects/tree-cursor.ts'
import type { PackedObject } from '../pack/pack.ts'

/** The trees of a store have five levels; a deeper one was not written by a store. */
const depthMax = 64
/** The root of a commit whose tree is missing. */
const noTree = 0xffff_ffff

/** Objects identified by numbers. */
export interface WalkSource {
  /** One more than the highest number. */
  readonly end: number
  /** The number of different objects. */
  readonly count: number
  /** The number of the object with this 20-byte oid. */
  find(oid: Uint8Array): number | undefined
  read(number: number): PackedObject
}

/** Commits by number, newest first, and the root tree of each; 2^32 − 1 if it is missing. */
export interface CommitWalk {
  readonly commits: Uint32Array
  readonly roots: Uint32Array
}

/**
 * All commits reachable from `heads`: each line of first parents, then the commits merged into it.
 */
export function walkCommits(
  source: WalkSource,
  heads: readonly Uint8Array[],
  tick: () => void,
): CommitWalk {
  const seen = new Uint8Array(source.end)
  const commits = new Uint32Array(source.count)
  const roots = new Uint32Array(source.count)
  const waiting = heads.toReversed()
  let count = 0
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    const number = source.find(oid)
    if (number === undefined || seen[number] === 1) continue
    seen[number] = 1
    const { type, body } = source.read(number)
    if (type !== 'commit') continue
    const links = findLinks(body)
    const parents = links?.parents.map(fromHex) ?? []
    commits[count] = number
    roots[count] = (links && source.find(fromHex(links.tree))) ?? noTree
    count += 1
    // The first parent is next; the others follow when that line has ended.
    waiting.unshift(...parents.slice(1).toReversed())
    waiting.push(...parents.slice(0, 1))
    tick()
  }
  return { commits: commits.slice(0, count), roots: roots.slice(0, count) }
}

/** Receives the objects that a walk through trees finds. */
export interface TreeVisitor {
  isKnown(number: number): boolean
  /** Called once for each tree that was not known. */
  tree(number: number): void
  /** May be called repeatedly for a blob. */
  blob(number: number): void
}

/** Visits the trees of all commits, newest first. */
export function walkTrees(source: WalkSource, roots: Uint32Array, visitor: TreeVisitor): void {
  const walk = new TreeWalk(source, visitor)
  let successor: number | undefined
  for (const root of roots) {
    if (root === noTree) continue
    walk.visit(root, successor, 0)
    successor = root
  }
}

class TreeWalk {
  readonly #source: WalkSource
  readonly #visitor: TreeVisitor

  constructor(source: WalkSource, visitor: TreeVisitor) {
    this.#source = source
    this.#visitor = visitor
  }

  visit(number: number, successor: number | undefined, depth: number): void {
    if (depth > depthMax || this.#visitor.isKnown(number)) return
    const tree = this.#read(number)
    if (tree === undefined) return
    const newer = successor === undefined ? undefined : this.#read(successor)
    this.#visitor.tree(number)
    this.#compare(tree, newer ?? new Uint8Array(0), depth)
  }

  /** Visits the entries that `newer` lacks: the others were visited with it. */
  #compare(older: Uint8Array, newer: Uint8Array, depth: number): void {
    const left = new TreeCursor(newer)
    for (const right = new TreeCursor(older); right.valid; right.next()) {
      while (left.valid && left.compareName(right) < 0) left.next()
      const same = left.valid && left.compareName(right) === 0
      if (same && left.hasOidOf(right)) continue
      const number = this.#source.find(right.oid)
      if (number === undefined) continue
      if (!right.isDirectory) this.#visitor.blob(number)
      else this.visit(number, same ? this.#source.find(left.oid) : undefined, depth + 1)
    }
  }

  #read(number: number): Uint8Array | undefined {
    const { type, body } = this.#source.read(number)
    return type === 'tree' ? body : undefined
  }
}
