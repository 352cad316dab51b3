// Finds every object that a head leads to, as far as it can be read, and the missing ones. Follows
// ids only and trusts nothing: whether they make a history is verified elsewhere.

import { pause } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import { treeOf } from '../../format/commit-sections.ts'
import { parseLinks } from '../../format/commit.ts'
import { decodeTree, type Oid, type TreeEntry } from '../../git/objects/object.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

export interface MissingObject {
  readonly oid: Oid
  readonly type: 'commit' | 'tree' | 'blob'
  /** The oldest commit that leads to it; for a commit, a child of it. */
  readonly commit: Oid
}

export interface Reach {
  /** The readable objects: a commit after its parents, and before the trees and blobs it names. */
  readonly oids: ReadonlySet<Oid>
  readonly missing: readonly MissingObject[]
}

/** Commits that are visited before other work runs. */
const BATCH = 64

export async function reachOf(
  objects: ObjectSource,
  head: Oid,
  signal: AbortSignal | undefined,
): Promise<Reach> {
  const missing = new Map<Oid, MissingObject>()
  const oids = new Set<Oid>()
  const walk = new TreeWalk(objects, oids, missing)
  for (const [index, { oid, tree, lost }] of commitsOf(objects, head).entries()) {
    oids.add(oid)
    for (const parent of lost) missing.set(parent, { oid: parent, type: 'commit', commit: oid })
    walk.tree(tree, oid)
    if (index % BATCH === BATCH - 1) await pause(signal)
  }
  return { oids, missing: [...missing.values()] }
}

interface ReachedCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly height: number
  readonly lost: readonly Oid[]
}

/** The readable commits, ascending by height. */
function commitsOf(objects: ObjectSource, head: Oid): readonly ReachedCommit[] {
  const found: ReachedCommit[] = []
  const reached = new Set([head])
  for (const oid of reached) {
    const commit = findCommit(objects, oid)
    if (commit === undefined) continue
    const lost = commit.parents.filter((parent) => findCommit(objects, parent) === undefined)
    for (const parent of commit.parents) if (!lost.includes(parent)) reached.add(parent)
    found.push({ oid, tree: commit.tree, height: commit.height, lost })
  }
  return found.toSorted((a, b) => a.height - b.height)
}

export interface FoundCommit {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly height: number
}

/** Undefined for an object that cannot be read, or is not a commit of a store. */
export function findCommit(objects: ObjectSource, oid: Oid): FoundCommit | undefined {
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

  tree(oid: Oid, commit: Oid): void {
    if (this.#oids.has(oid) || this.#missing.has(oid)) return
    const object = this.#objects.read(oid)
    const entries = object?.type === 'tree' ? entriesOf(object.body) : undefined
    if (entries === undefined) {
      this.#missing.set(oid, { oid, type: 'tree', commit })
      return
    }
    this.#oids.add(oid)
    for (const entry of entries) {
      if (entry.mode === '40000') this.tree(entry.oid, commit)
      else this.#blob(entry.oid, commit)
    }
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

function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}
