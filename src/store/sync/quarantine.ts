// Whether a refused head can be kept by a ref: git takes a repository for broken if a ref leads to
// what is not there, and what is redacted here must not become reachable again. Follows links
// alone, as git does, and believes nothing else: nobody has verified the head.

import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { mayHaveDetail, treeOf } from '../../format/commit-sections.ts'
import { findAllLinks, type Oid } from '../../git/objects/object.ts'
import { decodeCommit, openDetail, readCommitBytes } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from '../history/history.ts'
import { ResidueSearch } from '../redaction/residue.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

/** As far as this is looked for; a head that leads to more counts as not whole. */
const OBJECTS_MAX = 20_000
/** The same of what is opened; a head of which more would have to be counts as one that must go. */
const OPENED_MAX = 20_000

/** The bits of a mode that say what an entry is; git takes all but these two for a file. */
const kindBits = 0o170000
const directoryKind = 0o040000
/** A commit of another repository, which need not be here. */
const moduleKind = 0o160000
const oidBytes = 20

/** What is redacted of our own history. */
export type Redacted = ReadonlySet<string>

/** Whether all that a head leads to is here, and nothing of it is redacted here, or may be. */
export function canBeKept(
  source: HistorySource,
  history: History,
  head: Oid,
  redacted: Redacted,
): boolean {
  const news = findNews(source.objects, history, head)
  if (news === undefined) return false
  return redacted.size === 0 || !leadsToErased(source, history, news, redacted)
}

/** What a head leads to and our newest commit does not, nor is in our history. */
interface News {
  readonly commits: readonly Oid[]
  readonly blobs: ReadonlySet<Oid>
}

/** Undefined if some of it is not here. Of what our own history leads to, all is. */
function findNews(objects: ObjectSource, history: History, head: Oid): News | undefined {
  const newest = history.head?.oid
  const known = newest && treeOf(readCommitBytes(objects, newest))
  const ours = history.oids()
  const trees = new TreeWalk(objects)
  const commits: Oid[] = []
  const reached = new Set([head])
  for (const oid of reached) {
    if (ours.has(oid)) continue
    const object = objects.read(oid)
    const links = object?.type === 'commit' ? findAllLinks(object.body) : undefined
    if (links === undefined || reached.size > OBJECTS_MAX) return undefined
    if (!trees.isWhole(links.tree, known)) return undefined
    commits.push(oid)
    for (const parent of links.parents) reached.add(parent)
  }
  return { commits, blobs: trees.blobs }
}

/** Checks what it alone leads to, as the search for residues does: all that is ours is clean. */
function leadsToErased(
  source: HistorySource,
  history: History,
  { commits, blobs }: News,
  redacted: Redacted,
): boolean {
  const search = new ResidueSearch(source, history, redacted)
  if (commits.length + blobs.size * (1 + search.cost) > OPENED_MAX) return true
  try {
    return (
      commits.some((oid) => hasUnreadableDetail(source, oid)) ||
      [...commits, ...blobs].some((oid) => search.look(oid).length > 0)
    )
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    // What is damaged is not looked into.
    return true
  }
}

/** A commit of which nobody can tell whether its sealed detail is of an erased row. */
function hasUnreadableDetail({ objects, storeId, epochs }: HistorySource, oid: Oid): boolean {
  const bytes = objects.read(oid)?.body
  if (bytes === undefined || !mayHaveDetail(bytes)) return false
  try {
    openDetail(storeId, decodeCommit(storeId, epochs, oid, bytes))
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return true
  }
}

interface Link {
  readonly kind: number
  readonly name: string
  readonly oid: Oid
}

class TreeWalk {
  readonly #objects: ObjectSource
  readonly #reached: Set<Oid> = new Set()
  readonly #blobs: Set<Oid> = new Set()

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  /** Of all trees so far. They are there, and nobody has read them. */
  get blobs(): ReadonlySet<Oid> {
    return this.#blobs
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
      const before = next.known === undefined ? [] : (this.#read(next.known) ?? [])
      const ours = new Map(before.map(({ name, oid }) => [name, oid]))
      for (const { kind, name, oid } of links) {
        const same = ours.get(name)
        if (kind === directoryKind) waiting.push({ oid, known: same })
        else if (kind !== moduleKind && oid !== same && !this.#hasBlob(oid)) return false
      }
    }
    return true
  }

  #hasBlob(oid: Oid): boolean {
    if (this.#blobs.has(oid)) return true
    // git takes a tree in its place for a fault of the repository.
    if (this.#objects.read(oid)?.type !== 'blob') return false
    this.#blobs.add(oid)
    return true
  }

  /** Undefined for what is no tree. */
  #read(oid: Oid): readonly Link[] | undefined {
    const object = this.#objects.read(oid)
    return object?.type === 'tree' ? readLinks(object.body) : undefined
  }
}

/** Of any repository, whatever its names are, even twice the same; undefined if git reads none. */
function readLinks(tree: Uint8Array): readonly Link[] | undefined {
  const links: Link[] = []
  const bytes = Buffer.from(tree.buffer, tree.byteOffset, tree.length)
  for (let at = 0; at < bytes.length;) {
    const nameAt = bytes.indexOf(' ', at) + 1
    const end = bytes.indexOf(0, at)
    const next = end + 1 + oidBytes
    if (nameAt === 0 || end < nameAt || next > bytes.length) return undefined
    const mode = bytes.toString('latin1', at, nameAt - 1)
    if (!/^[0-7]{1,7}$/.test(mode)) return undefined
    const kind = Number.parseInt(mode, 8) & kindBits
    const name = bytes.toString('latin1', nameAt, end)
    links.push({ kind, name, oid: toHex(bytes.subarray(end + 1, next)) })
    at = next
  }
  return links
}
