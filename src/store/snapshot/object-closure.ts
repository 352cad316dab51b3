// Finds every object that a head reaches, as far as it can be read, and the missing ones. Follows
// ids only and trusts nothing: whether they make a history is verified elsewhere, and making the
// objects needs no key.

import { StoreError } from '../../errors.ts'
import { treeOf, parseLinks } from '../../format/commit.ts'
import { decodeTree, type Oid, type TreeEntry } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import type { ObjectSource } from './git-reads.ts'

export interface MissingObject {
  readonly oid: Oid
  readonly type: 'commit' | 'tree' | 'blob'
  /** The oldest commit that reaches it; for a commit, a child of it. */
  readonly commit: Oid
}

export interface ObjectClosure {
  /** The readable objects: a commit after its parents, and before the trees and blobs it names. */
  readonly oids: ReadonlySet<Oid>
  readonly missing: readonly MissingObject[]
}

/** The trees of a store have five levels; a deeper one was not written by a store. */
const depthMax = 64

/** Throws `cancelled`. */
export function closureOf(
  objects: ObjectSource,
  head: Oid,
  signal: AbortSignal | undefined,
): Promise<ObjectClosure> {
  return inSlices(walkFrom(objects, head), signal)
}

function* walkFrom(objects: ObjectSource, head: Oid): Generator<undefined, ObjectClosure> {
  const missing = new Map<Oid, MissingObject>()
  const oids = new Set<Oid>()
  const walk = new TreeWalk(objects, oids, missing)
  for (const { oid, tree, lost } of yield* commitsOf(objects, head)) {
    oids.add(oid)
    for (const parent of lost) missing.set(parent, { oid: parent, type: 'commit', commit: oid })
    yield* walk.visit(tree, oid)
  }
  return { oids, missing: [...missing.values()] }
}

/** The readable commits, ascending by height. Reads each once. */
function* commitsOf(objects: ObjectSource, head: Oid) {
  const found = new Map<Oid, ClosureCommit>()
  const reached = new Set([head])
  for (const oid of reached) {
    const commit = findCommit(objects, oid)
    if (commit !== undefined) found.set(oid, commit)
    for (const parent of commit?.parents ?? []) reached.add(parent)
    yield
  }
  const commits = [...found].map(([oid, { tree, parents, height }]) => {
    return { oid, tree, height, lost: parents.filter((parent) => !found.has(parent)) }
  })
  return commits.toSorted((a, b) => a.height - b.height)
}

export interface ClosureCommit {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly height: number
}

/** Undefined for an object that cannot be read, or is not a commit of a store. */
export function findCommit(objects: ObjectSource, oid: Oid): ClosureCommit | undefined {
  const object = objects.read(oid)
  if (object?.type !== 'commit') return undefined
  const { body } = object
  return orUndefined(() => {
    const { parents, height } = parseLinks(body)
    return { tree: treeOf(body), parents, height }
  })
}

class TreeWalk {
  readonly #objects: ObjectSource
  readonly #oids: Set<Oid>
  readonly #missing: Map<Oid, MissingObject>

  constructor(objects: ObjectSource, oids: Set<Oid>, missing: Map<Oid, MissingObject>) {
    this.#objects = objects
    this.#oids = oids
    this.#missing = missing
  }

  /** Visits a root tree and all below it, an object in each step. */
  *visit(root: Oid, commit: Oid): Generator<undefined, void> {
    const line = [this.#tree(root, commit).values()]
    for (let tree = line.at(-1); tree !== undefined; tree = line.at(-1)) {
      const { value: entry, done } = tree.next()
      if (done === true) line.pop()
      else if (entry.mode !== '40000') this.#blob(entry.oid, commit)
      else if (line.length <= depthMax) line.push(this.#tree(entry.oid, commit).values())
      yield
    }
  }

  /** The entries of a tree that was not visited before. */
  #tree(oid: Oid, commit: Oid): readonly TreeEntry[] {
    if (this.#oids.has(oid) || this.#missing.has(oid)) return []
    const object = this.#objects.read(oid)
    const entries = object?.type === 'tree' ? entriesOf(object.body) : undefined
    if (entries === undefined) this.#missing.set(oid, { oid, type: 'tree', commit })
    else this.#oids.add(oid)
    return entries ?? []
  }

  #blob(oid: Oid, commit: Oid): void {
    if (this.#oids.has(oid) || this.#missing.has(oid)) return
    if (this.#objects.read(oid) === undefined) this.#missing.set(oid, { oid, type: 'blob', commit })
    else this.#oids.add(oid)
  }
}

function entriesOf(body: Uint8Array): readonly TreeEntry[] | undefined {
  return orUndefined(() => decodeTree(body))
}

/** Undefined if the work fails as it does on damage. */
export function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}
