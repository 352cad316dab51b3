// rewrite(history, R) of FORMAT §10: rewrites the affected commits and their descendants without
// what R erases. Records are kept byte for byte. Passes new objects to `emit` and lists in `dead`
// those that must be erased. Must not write. Trusts the commits, which were verified.

import type { Progress } from '../../async.ts'
import type { Sealed } from '../../bytes.ts'
import { assert, StoreError } from '../../errors.ts'
import { treeOf, parsePlace, remakeCommit } from '../../format/commit.ts'
import { encodeDetail } from '../../format/detail.ts'
import { detailContext, sealEnvelope } from '../../format/envelope.ts'
import { zeroHash } from '../../format/record.ts'
import {
  encodeTree,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../git/objects/object.ts'
import { OidCollector, OidSet } from '../../git/objects/oid-list.ts'
import { KIBIBYTE, MEBIBYTE } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import { decodeCommit, openDetail, readCommitBytes } from '../commits/decoded-commit.ts'
import type { History, HistorySource } from '../history/history.ts'
import { getTree } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import { type EndOf, erasedSpans, type ErasedVersion, type TailCommit } from './erased-spans.ts'
import { ShownTree } from './shown-tree.ts'

export interface RewriteOptions {
  /** Receives new objects, oldest first, in batches of about `batchBytes`, the last one smaller. */
  readonly emit: (objects: readonly NewObject[]) => Promise<void>
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
}

export interface RewriteRequest extends RewriteOptions {
  readonly source: HistorySource
  readonly history: History
  /** Commits on top of the history's newest one that the history does not include. */
  readonly tail?: readonly TailCommit[] | undefined
  /** At least one version. */
  readonly erased: readonly ErasedVersion[]
}

export interface Rewritten {
  /** The new ids of the rewritten commits, by position. */
  readonly commits: ReadonlyMap<number, Oid>
  /** The new id of the last commit, and of its tree. */
  readonly head: Oid
  readonly tree: Oid
  readonly dead: OidSet
}

/** Small enough that a batch, and its copy for the packing thread, need little RAM. */
const batchBytes = 2 * MEBIBYTE
/** Nearly every object is smaller. */
const objectBytes = 64 * KIBIBYTE
/** At most this many commits are rewritten before other work runs. */
const BATCH = 256

/**
 * Erases versions from the history of a head; undefined if it has no such version. Versions that
 * were erased before may be among them.
 */
export async function rewriteHead(
  request: Omit<RewriteRequest, 'erased'> & { readonly versionIds: ReadonlySet<string> },
): Promise<Rewritten | undefined> {
  const { versionIds, ...rest } = request
  const erased = [...versionIds].flatMap((versionId) => {
    const entry = request.history.find(versionId)
    return entry === undefined ? [] : erasedVersion(entry)
  })
  return erased.length === 0 ? undefined : rewrite({ ...rest, erased })
}

/** The lowest height of a rewritten commit: below it every commit has its old id. */
export function lowestOf(history: History, { commits }: Rewritten): number {
  let lowest = Number.POSITIVE_INFINITY
  for (const position of commits.keys()) lowest = Math.min(lowest, position)
  return history.commits.at(lowest)?.height ?? lowest
}

export function erasedVersion(
  entry: Omit<ErasedVersion, 'position'> & { readonly commit: { readonly position: number } },
): ErasedVersion {
  const { versionId, memoryId, operation, commit } = entry
  return { versionId, memoryId, operation, position: commit.position }
}

export async function rewrite(request: RewriteRequest): Promise<Rewritten> {
  const { history, tail = [], erased, progress, signal } = request
  const count = history.commits.length + tail.length
  const from = erased.reduce((least, { position }) => Math.min(least, position), count)
  assert(from < count, 'the erased entries are in the history')
  const rewriter = new Rewriter(request, from)
  const slice = new TimeSlice(signal, BATCH)
  for (let position = from; position < count; position += 1) {
    rewriter.rewriteCommit(position)
    if (rewriter.waitingBytes >= batchBytes) await request.emit(rewriter.take())
    if (!slice.isOver()) continue
    progress?.(position - from + 1, count - from)
    await slice.next()
  }
  const rest = rewriter.take()
  if (rest.length > 0) await request.emit(rest)
  progress?.(count - from, count - from)
  return rewriter.finish(count - 1)
}

/** A version whose blob is hidden from the trees of a span. */
interface Hidden {
  readonly memoryId: string
  readonly blob: Oid
}

class Rewriter {
  readonly #source: HistorySource
  readonly #history: History
  readonly #tail: readonly TailCommit[]
  readonly #endOf: EndOf
  readonly #starting: ReadonlyMap<number, readonly ErasedVersion[]>
  readonly #ending: Map<number, Hidden[]> = new Map()
  /** The tree of the commit that was rewritten last. */
  #tree: Oid | undefined
  readonly #dead = new OidCollector()
  readonly #shown: ShownTree
  readonly #made: Map<number, Oid> = new Map()
  #waiting: NewObject[] = []
  #waitingBytes = 0
  #room: Uint8Array = new Uint8Array(0)

  constructor({ source, history, tail = [], erased }: RewriteRequest, from: number) {
    this.#source = source
    this.#history = history
    this.#tail = tail
    this.#endOf = erasedSpans(history, tail, from)
    this.#starting = byPosition(erased)
    this.#shown = new ShownTree(source.objects, this.#dead)
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  take(): readonly NewObject[] {
    const objects = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    this.#room = new Uint8Array(0)
    return objects
  }

  /** The last commit descends from all others, so it was rewritten if any was. */
  finish(last: number): Rewritten {
    const oid = this.#oidAt(last)
    const head = this.#made.get(last) ?? oid
    const tree = this.#tree ?? treeOf(readCommitBytes(this.#source.objects, oid))
    return { commits: this.#made, head, tree, dead: new OidSet(this.#dead.finish()) }
  }

  rewriteCommit(position: number): void {
    this.#reveal(position)
    const starting = this.#starting.get(position) ?? []
    const parents = this.#newParents(position)
    if (starting.length === 0 && parents.size === 0) return
    const oid = this.#oidAt(position)
    const bytes = readCommitBytes(this.#source.objects, oid)
    const place = parsePlace(bytes)
    const epoch = this.#source.epochs.get(place.kid)
    if (epoch === undefined) throw unknownEpoch(oid)
    this.#hide(starting, place.tree)
    const change = {
      tree: this.#shown.isWhole ? place.tree : this.#remakeRoot(place.tree),
      parents: place.parents.map((parent) => parents.get(parent) ?? parent),
      detail: starting.length === 0 ? undefined : this.#remakeDetail(oid, bytes, starting),
    }
    const remade = newObject('commit', remakeCommit(bytes, change, epoch.group))
    // The versions were erased before.
    if (remade.oid === oid) return
    this.#add([remade])
    this.#made.set(position, remade.oid)
    this.#dead.add(oid)
    this.#tree = change.tree
  }

  /** The new ids of rewritten parents by their old ids. */
  #newParents(position: number): ReadonlyMap<Oid, Oid> {
    const entry = this.#history.commits.at(position)
    const parents =
      entry === undefined
        ? [position - 1]
        : this.#history.parentsOf(entry).map((one) => one.position)
    const names = new Map<Oid, Oid>()
    for (const parent of parents) {
      const made = this.#made.get(parent)
      if (made !== undefined) names.set(this.#oidAt(parent), made)
    }
    return names
  }

  #hide(starting: readonly ErasedVersion[], root: Oid): void {
    if (starting.length === 0) return
    const { objects } = this.#source
    const memories = getTree(objects, root).find((entry) => entry.name === 'm')?.oid
    for (const version of starting) {
      const { memoryId, operation } = version
      if (memories === undefined || operation === 'deleted') continue
      const blob = findBlob(objects, memories, memoryId)
      if (blob === undefined) continue
      this.#shown.hide(memoryId, blob)
      const end = this.#endOf(version)
      const ending = this.#ending.get(end) ?? []
      if (ending.push({ memoryId, blob }) === 1) this.#ending.set(end, ending)
    }
  }

  #reveal(position: number): void {
    for (const { memoryId, blob } of this.#ending.get(position) ?? []) {
      this.#shown.unhide(memoryId, blob)
    }
    this.#ending.delete(position)
  }

  /** Makes the root tree without the memories whose current version is erased. */
  #remakeRoot(root: Oid): Oid {
    const entries = getTree(this.#source.objects, root)
    const memories = entries.find((entry) => entry.name === 'm')?.oid
    const made: NewObject[] = []
    const shown = this.#shown.follow(memories, made)
    if (shown === memories) return root
    this.#dead.add(root)
    const kept = entries.flatMap((entry): readonly TreeEntry[] => {
      if (entry.name !== 'm') return [entry]
      return shown === undefined ? [] : [{ ...entry, oid: shown }]
    })
    const tree = newObject('tree', encodeTree(kept))
    this.#add([...made, tree])
    return tree.oid
  }

  #remakeDetail(oid: Oid, bytes: Uint8Array, erased: readonly ErasedVersion[]): Sealed {
    const { storeId, epochs } = this.#source
    const commit = decodeCommit(storeId, epochs, oid, bytes)
    const erasedIds = new Set(erased.map((version) => version.versionId))
    const kept = [...openDetail(commit).values()].filter(({ row }) => {
      return !erasedIds.has(commit.record.rows[row]?.versionId ?? '')
    })
    const context = detailContext(commit.epoch, commit.hash)
    return sealEnvelope('detail', commit.epoch.detail, context, zeroHash, encodeDetail(kept))
  }

  #add(objects: readonly NewObject[]): void {
    for (const object of objects) {
      const { oid, type, body } = object
      this.#waiting.push(type === 'blob' ? object : { oid, type, body: this.#copied(body) })
      this.#waitingBytes += body.length
    }
  }

  /** Copies into a shared buffer: many small waiting ones would survive minor collections. */
  #copied(body: Uint8Array): Uint8Array {
    if (body.length > objectBytes) return body
    if (body.length > this.#room.length) this.#room = new Uint8Array(batchBytes + objectBytes)
    this.#room.set(body)
    const copy = this.#room.subarray(0, body.length)
    this.#room = this.#room.subarray(body.length)
    return copy
  }

  #oidAt(position: number): Oid {
    const { commits } = this.#history
    const oid = commits.at(position)?.oid ?? this.#tail[position - commits.length]?.oid
    assert(oid !== undefined, 'a position beyond the newest commit')
    return oid
  }
}

function byPosition(erased: readonly ErasedVersion[]): ReadonlyMap<number, ErasedVersion[]> {
  const groups = new Map<number, ErasedVersion[]>()
  for (const version of erased) {
    const group = groups.get(version.position)
    if (group === undefined) groups.set(version.position, [version])
    else group.push(version)
  }
  return groups
}

function unknownEpoch(oid: Oid): StoreError {
  return new StoreError('envelope_epoch', `The commit ${oid} is sealed under an unknown epoch`)
}
