// Decides whether a refused head is kept for investigation: it must be whole and small, and nothing
// that is redacted here may stay on the disk with it. The head is not verified: must only follow
// its links, as git does, and trust nothing else. Whoever made it needs no key, so the work is
// bounded, and gives way after each object.

import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { mayHaveDetail, treeOf } from '../../format/commit-sections.ts'
import { memoryBlobBytesMax } from '../../format/memory-blob.ts'
import {
  findAllLinks,
  type GitObject,
  type Oid,
  type SizeLimit,
  treeLimit,
} from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { decodeCommit, openDetail, readCommitBytes } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from '../history/history.ts'
import { ResidueSearch } from '../redaction/residue.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

/** At most this much that was refused is kept for each remote. */
export const KEPT_BYTES_MAX: number = 64 * MEBIBYTE
/** At most this many objects are followed; a head that leads to more counts as incomplete. */
const OBJECTS_MAX = 20_000
/** At most this many objects are opened; a head that needs more is not kept. */
const OPENED_MAX = 20_000
/** At most this much is read to follow them. */
const BYTES_MAX = 64 * MEBIBYTE

/** The largest blob of a store is a memory. */
const blobLimit: SizeLimit = {
  bytes: memoryBlobBytesMax,
  refusal: () => new StoreError('object_corrupt', 'An object is larger than any of a store'),
}

/** The bits of a mode that give an entry's kind; git treats all but these two kinds as files. */
const kindBits = 0o170000
const directoryKind = 0o040000
/** A submodule: a commit of another repository, which need not be here. */
const moduleKind = 0o160000
const oidBytes = 20

/** The ids of the versions of our own history that are redacted. */
export type Redacted = ReadonlySet<string>

export interface RefusedSource extends HistorySource {
  /** The objects that would be kept, whether or not the head leads to them. */
  readonly sent: Iterable<Oid>
}

/**
 * Whether all that a head leads to is here, and certainly nothing of that, or of what was sent with
 * it, is redacted here.
 */
export function* canBeKept(
  source: RefusedSource,
  history: History,
  head: Oid,
  redacted: Redacted,
): Generator<undefined, boolean> {
  const foreign = yield* findForeign(new BoundedReads(source.objects), history, head)
  if (foreign === undefined) return false
  return redacted.size === 0 || !(yield* leadsToErased(source, history, foreign, redacted))
}

/** Whether what is kept of a head that was refused before may hold what is redacted here. */
export function mayHoldErased(
  source: RefusedSource,
  history: History,
  redacted: Redacted,
): Generator<undefined, boolean> {
  const none = { oids: new Set<Oid>(), reads: new BoundedReads(source.objects) }
  return leadsToErased(source, history, none, redacted)
}

/** Objects until more was read than is allowed: then the others count as missing. */
class BoundedReads implements ObjectSource {
  readonly #objects: ObjectSource
  #bytesLeft = BYTES_MAX

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    const object = this.#bytesLeft > 0 ? this.#objects.read(oid, limit) : undefined
    this.#bytesLeft -= object?.body.length ?? 0
    return object
  }
}

interface ForeignObjects {
  /** The commits and blobs that a head leads to, and our history and its newest tree do not. */
  readonly oids: ReadonlySet<Oid>
  /** With what is left of the bound after they were read. */
  readonly reads: BoundedReads
}

/** Undefined if some of them are missing. All that our own history leads to is here. */
function* findForeign(
  objects: BoundedReads,
  history: History,
  head: Oid,
): Generator<undefined, ForeignObjects | undefined> {
  const newest = history.head?.oid
  const known = newest && treeOf(readCommitBytes(objects, newest))
  const ours = history.oids()
  const trees = new TreeWalk(objects)
  const commits: Oid[] = []
  const reached = new Set([head])
  for (const oid of reached) {
    if (ours.has(oid)) continue
    yield
    const object = objects.read(oid)
    const links = object?.type === 'commit' ? findAllLinks(object.body) : undefined
    if (links === undefined || reached.size > OBJECTS_MAX) return undefined
    if (!(yield* trees.isWhole(links.tree, known))) return undefined
    commits.push(oid)
    for (const parent of links.parents) reached.add(parent)
  }
  return { oids: new Set([...commits, ...trees.blobs]), reads: objects }
}

/** Searches foreign objects, and all that was sent, for residue; our own history has none. */
function* leadsToErased(
  source: RefusedSource,
  history: History,
  { oids, reads }: ForeignObjects,
  redacted: Redacted,
): Generator<undefined, boolean> {
  const search = new ResidueSearch(source, history, redacted)
  let opened = 0
  try {
    for (const oid of withSent(oids, source.sent)) {
      yield
      // What the head leads to has counted when it was followed.
      const object = (oids.has(oid) ? source.objects : reads).read(oid)
      // Beyond the bound, or of a kind that cannot be searched.
      if (object === undefined) return true
      const { type, body } = object
      opened += type === 'blob' ? 1 + search.cost : 1
      if (opened > OPENED_MAX) return true
      if (type === 'commit' && hasUnreadableDetail(source, oid, body)) return true
      if (search.look(oid, object).length > 0) return true
    }
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    // A damaged object cannot be searched.
    return true
  }
}

function* withSent(reached: ReadonlySet<Oid>, sent: Iterable<Oid>): Generator<Oid> {
  yield* reached
  for (const oid of sent) if (!reached.has(oid)) yield oid
}

/** Whether a commit has a sealed detail that does not open, which may be of an erased row. */
function hasUnreadableDetail(
  { storeId, epochs }: HistorySource,
  oid: Oid,
  bytes: Uint8Array,
): boolean {
  if (!mayHaveDetail(bytes)) return false
  try {
    openDetail(decodeCommit(storeId, epochs, oid, bytes))
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

  /** The blobs of all trees so far, which exist and were not opened. */
  get blobs(): ReadonlySet<Oid> {
    return this.#blobs
  }

  /** `known` is our tree at the same path: entries that are the same there are skipped. */
  *isWhole(root: Oid, known: Oid | undefined): Generator<undefined, boolean> {
    // Not recursive: the author of the trees decides how deep they are.
    const waiting = [{ oid: root, known }]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next.oid === next.known || this.#reached.has(next.oid)) continue
      this.#reached.add(next.oid)
      const links = this.#read(next.oid)
      if (links === undefined || this.#reached.size > OBJECTS_MAX) return false
      const before = next.known === undefined ? [] : (this.#read(next.known) ?? [])
      const ours = new Map(before.map(({ name, oid }) => [name, oid]))
      for (const { kind, name, oid } of links) {
        yield
        const same = ours.get(name)
        if (kind === directoryKind) waiting.push({ oid, known: same })
        else if (kind !== moduleKind && oid !== same && !this.#hasBlob(oid)) return false
      }
    }
    return true
  }

  #hasBlob(oid: Oid): boolean {
    if (this.#blobs.has(oid)) return true
    // git reports a tree in place of a blob as a fault of the repository.
    if (this.#objects.read(oid, blobLimit)?.type !== 'blob') return false
    this.#blobs.add(oid)
    return true
  }

  /** Undefined for an object that is not a tree. */
  #read(oid: Oid): readonly Link[] | undefined {
    const object = this.#objects.read(oid, treeLimit)
    if (object?.type !== 'tree') return undefined
    if (object.body.length > treeLimit.bytes) throw treeLimit.refusal()
    return readLinks(object.body)
  }
}

/** Accepts any names, even duplicates, as git does; undefined for a tree that git cannot read. */
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
