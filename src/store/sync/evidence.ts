// Whether a refused head can be kept by a ref: git takes a repository for broken if a ref leads to
// what is not there. Follows links alone, as git does, and believes nothing else: nobody has
// verified the head.

import { toHex } from '../../bytes.ts'
import { treeOf } from '../../format/commit-sections.ts'
import { findLinks } from '../../git/object.ts'
import type { Oid } from '../../git/object.ts'
import { readCommitBytes } from '../decoded-commit.ts'
import { hasObject } from '../git-reads.ts'
import type { ObjectSource } from '../git-reads.ts'
import type { History } from '../history.ts'

/** As far as this is looked for; a head that leads to more counts as not whole. */
const OBJECTS_MAX = 20_000

const directoryMode = '40000'
/** A commit of another repository, which need not be here. */
const moduleMode = '160000'
const oidBytes = 20

/** Of what our own history leads to, all is here. */
export function isWhole(objects: ObjectSource, history: History, head: Oid): boolean {
  const newest = history.commits.at(-1)?.oid
  const known = newest && treeOf(readCommitBytes(objects, newest))
  const ours = new Set(history.commits.map(({ oid }) => oid))
  const trees = new TreeWalk(objects)
  const reached = new Set([head])
  for (const oid of reached) {
    if (ours.has(oid)) continue
    const object = objects.read(oid)
    const links = object?.type === 'commit' ? findLinks(object.body) : undefined
    if (links === undefined || reached.size > OBJECTS_MAX) return false
    if (!trees.isWhole(links.tree, known)) return false
    for (const parent of links.parents) reached.add(parent)
  }
  return true
}

interface Link {
  readonly mode: string
  readonly oid: Oid
}

class TreeWalk {
  readonly #objects: ObjectSource
  readonly #reached: Set<Oid> = new Set()

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  /** `known` is a tree of ours at the same place: what is the same there is not looked at. */
  isWhole(root: Oid, known: Oid | undefined): boolean {
    // Not by calls: whoever made the trees says how deep they are.
    const waiting = [{ oid: root, known }]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next.oid === next.known || this.#reached.has(next.oid)) continue
      this.#reached.add(next.oid)
      const links = this.#read(next.oid)
      if (links === undefined || this.#reached.size > OBJECTS_MAX) return false
      const ours = next.known === undefined ? undefined : this.#read(next.known)
      for (const [name, { mode, oid }] of links) {
        const same = ours?.get(name)?.oid
        if (mode === directoryMode) waiting.push({ oid, known: same })
        else if (mode !== moduleMode && oid !== same && !hasObject(this.#objects, oid)) return false
      }
    }
    return true
  }

  /** By name; undefined for what is no tree. */
  #read(oid: Oid): ReadonlyMap<string, Link> | undefined {
    const object = this.#objects.read(oid)
    return object?.type === 'tree' ? readLinks(object.body) : undefined
  }
}

/** Of any repository, whatever its names and modes are; undefined if it ends too early. */
function readLinks(tree: Uint8Array): ReadonlyMap<string, Link> | undefined {
  const links = new Map<string, Link>()
  const bytes = Buffer.from(tree.buffer, tree.byteOffset, tree.length)
  for (let at = 0; at < bytes.length;) {
    const nameAt = bytes.indexOf(' ', at) + 1
    const end = bytes.indexOf(0, at)
    const next = end + 1 + oidBytes
    if (nameAt === 0 || end < nameAt || next > bytes.length) return undefined
    const mode = bytes.toString('latin1', at, nameAt - 1)
    const oid = toHex(bytes.subarray(end + 1, next))
    links.set(bytes.toString('latin1', nameAt, end), { mode, oid })
    at = next
  }
  return links
}
