// rewrite(history, R) of FORMAT §10: makes every commit from the first affected one again, without
// what R erases. Records stay byte for byte. Reads git, writes nothing: new objects go to `emit`,
// and what nothing may hold any more is named in `dead`. Trusts the commits: they are verified.

import type { Sealed } from '../bytes.ts'
import { assert, StoreError } from '../errors.ts'
import { parsePlace, remakeCommit } from '../format/commit.ts'
import { encodeDetail } from '../format/detail.ts'
import { detailContext, sealEnvelope } from '../format/envelope.ts'
import { zeroHash } from '../format/record.ts'
import type { Operation } from '../format/record.ts'
import { encodeTree, newObject } from '../git/object.ts'
import type { NewObject, Oid, TreeEntry } from '../git/object.ts'
import { decodeCommit, openDetail, readCommitBytes } from './decoded-commit.ts'
import type { Epochs } from './decoded-commit.ts'
import { getTree } from './git-reads.ts'
import type { ObjectSource } from './git-reads.ts'
import { ShownTree } from './shown-tree.ts'
import { pause } from './verify.ts'
import type { Progress } from './verify.ts'

/** A version to erase, and the heights at which it was the current one of its memory. */
export interface ErasedVersion {
  readonly versionId: string
  readonly memoryId: string
  readonly from: number
  /** The last height; that of the head or more while nothing followed. */
  readonly until: number
  readonly operation: Operation
}

export interface RewriteRequest {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
  /** By height, up to the head. */
  readonly commits: readonly Oid[]
  readonly erased: readonly ErasedVersion[]
  /** Takes what was made, in batches. */
  readonly emit: (objects: readonly NewObject[]) => Promise<void>
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Rewritten {
  /** The height of the first commit that was made again. */
  readonly from: number
  /** From that height on. */
  readonly commits: readonly Oid[]
  /** The tree of the last one. */
  readonly tree: Oid
  readonly dead: ReadonlySet<Oid>
}

/** How often long work reports, hands over what it made and lets other work run. */
const BATCH = 256

export async function rewrite(request: RewriteRequest): Promise<Rewritten> {
  const { commits, progress, signal } = request
  const rewriter = new Rewriter(request)
  let from = commits.length
  for (const version of request.erased) from = Math.min(from, version.from)
  for (let height = from; height < commits.length; height += 1) {
    rewriter.step(height)
    if ((height - from) % BATCH !== BATCH - 1) continue
    await request.emit(rewriter.take())
    progress?.(height - from + 1, commits.length - from)
    await pause(signal)
  }
  await request.emit(rewriter.take())
  progress?.(commits.length - from, commits.length - from)
  const { made, tree, dead } = rewriter
  return { from, commits: made, tree, dead }
}

class Rewriter {
  readonly made: Oid[] = []
  readonly dead: Set<Oid> = new Set()
  tree: Oid = ''
  readonly #request: RewriteRequest
  readonly #shown: ShownTree
  readonly #starting: ReadonlyMap<number, readonly ErasedVersion[]>
  readonly #ending: ReadonlyMap<number, readonly ErasedVersion[]>
  #objects: NewObject[] = []

  constructor(request: RewriteRequest) {
    this.#request = request
    this.#shown = new ShownTree(request.objects, this.dead)
    this.#starting = byHeight(request.erased, ({ from }) => from)
    this.#ending = byHeight(request.erased, ({ until }) => until)
  }

  step(height: number): void {
    const { objects, commits, epochs } = this.#request
    const oid = getOid(commits, height)
    const bytes = readCommitBytes(objects, oid)
    const place = parsePlace(bytes)
    const epoch = epochs.get(place.kid)
    if (epoch === undefined) throw unknownEpoch(oid)
    const starting = this.#starting.get(height) ?? []
    for (const one of starting) if (isInTrees(one)) this.#shown.hide(one.memoryId)
    const tree = this.#shown.isWhole ? place.tree : this.#remakeRoot(place.tree)
    for (const one of this.#ending.get(height) ?? []) {
      if (isInTrees(one)) this.#shown.unhide(one.memoryId)
    }
    const before = this.made.at(-1)
    const parents = before === undefined ? place.parents : [before]
    const detail = starting.length === 0 ? undefined : this.#remakeDetail(oid, bytes, starting)
    const remade = newObject('commit', remakeCommit(bytes, { tree, parents, detail }, epoch.group))
    this.#objects.push(remade)
    this.made.push(remade.oid)
    this.dead.add(oid)
    this.tree = tree
  }

  take(): readonly NewObject[] {
    const objects = this.#objects
    this.#objects = []
    return objects
  }

  /** The root tree without the memories whose current version is erased. */
  #remakeRoot(root: Oid): Oid {
    const entries = getTree(this.#request.objects, root)
    const memories = entries.find((entry) => entry.name === 'm')?.oid
    const shown = this.#shown.follow(memories, this.#objects)
    if (shown === memories) return root
    this.dead.add(root)
    const kept = entries.flatMap((entry): readonly TreeEntry[] => {
      if (entry.name !== 'm') return [entry]
      return shown === undefined ? [] : [{ ...entry, oid: shown }]
    })
    const tree = newObject('tree', encodeTree(kept))
    this.#objects.push(tree)
    return tree.oid
  }

  #remakeDetail(oid: Oid, bytes: Uint8Array, erased: readonly ErasedVersion[]): Sealed {
    const { storeId, epochs } = this.#request
    const commit = decodeCommit(storeId, epochs, oid, bytes)
    const gone = new Set(erased.map((version) => version.versionId))
    const kept = [...openDetail(storeId, commit).values()].filter(({ row }) => {
      return !gone.has(commit.record.rows[row]?.versionId ?? '')
    })
    const context = detailContext(storeId, commit.hash)
    return sealEnvelope('detail', commit.epoch.detail, context, zeroHash, encodeDetail(kept))
  }
}

function isInTrees({ operation }: ErasedVersion): boolean {
  return operation !== 'deleted'
}

function byHeight(
  erased: readonly ErasedVersion[],
  heightOf: (version: ErasedVersion) => number,
): ReadonlyMap<number, readonly ErasedVersion[]> {
  const groups = new Map<number, ErasedVersion[]>()
  for (const version of erased) {
    const group = groups.get(heightOf(version))
    if (group === undefined) groups.set(heightOf(version), [version])
    else group.push(version)
  }
  return groups
}

function unknownEpoch(oid: Oid): StoreError {
  return new StoreError('envelope_epoch', `The commit ${oid} is sealed under an unknown epoch`)
}

function getOid(commits: readonly Oid[], height: number): Oid {
  const oid = commits[height]
  assert(oid !== undefined, 'a height beyond the head')
  return oid
}
