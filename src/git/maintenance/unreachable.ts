// Finds unreachable objects: reads every commit and tree from the heads on, and counts the objects
// that were not reached, or checks that none of those to erase was. A sync that was cut off, a push
// that lost a race, or git itself may leave unreachable objects. Walks commits by first parent,
// then their trees, each compared with its successor at the same path, so that common parts are
// read once. Counts objects as stored; must not write.

import { unwatched, type WorkWatch } from '../../async.ts'
import { asciiText, fromHex, toHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { atOnce } from '../../time-slice.ts'
import type { ObjectAmount } from '../object-store.ts'
import { looseObjectIds, looseObjectPath, readAnyLooseObject } from '../objects/loose-object.ts'
import { findAllLinks, findLinks, type Oid, TreeCursor } from '../objects/object.ts'
import { oidBytes, type OidList, OidProbe } from '../objects/oid-list.ts'
import { MultiPack } from '../pack/multi-pack.ts'
import { packNames } from '../pack/pack-inspection.ts'
import { Pack, type PackedObject } from '../pack/pack.ts'
import type { ReachableFrom } from '../pack/packer.ts'
import { reachedByHistory } from '../purge/purge-intent.ts'

/** Objects between two progress reports. */
const tickObjects = 1024

export interface UnreachableJob extends ReachableFrom {
  /** `objects/pack`, absolute. */
  readonly directory: string
  readonly names: readonly string[]
}

/** Stored objects, some possibly repeated, with their sizes. */
export interface ReachableSource extends WalkSource {
  /** Whether the number is a repeated copy, which `find` never returns. */
  isRepeated(number: number): boolean
  bytesOf(number: number): number
}

/**
 * Measures objects, packed or loose, that are not reachable from `heads`; each object once. Throws
 * `pack_corrupt` or `object_corrupt` if a reachable object is damaged, and `cancelled`.
 */
export function measureUnreachableInPacks(
  disk: Disk,
  { directory, names, ...from }: UnreachableJob,
  watch: WorkWatch,
): ObjectAmount {
  return withStored(disk, directory, names, (source) => measureUnreachable(source, from, watch))
}

/**
 * Throws `journal_corrupt` if an object of `dead`, packed or loose, is reachable from `heads`, none
 * of which is in it.
 */
export function checkUnreached(
  disk: Disk,
  { directory, heads }: Pick<UnreachableJob, 'directory' | 'heads'>,
  dead: OidList,
): void {
  withStored(disk, directory, packNames(disk, directory), (source) => {
    // A walk takes twice as long, and only an unreachable object makes it necessary.
    if (!isNamed(source, dead)) return
    // Past a boundary, too: no more is erased than in a store with all of its history.
    const reached = reachedFrom(source, { heads, boundary: [] }, unwatched)
    for (let at = 0; at < dead.bytes.length; at += oidBytes) {
      const number = source.find(dead.bytes.subarray(at, at + oidBytes))
      if (number !== undefined && reached[number] === 1) throw reachedByHistory()
    }
  })
}

function withStored<T>(
  disk: Disk,
  directory: string,
  names: readonly string[],
  work: (source: StoredSource) => T,
): T {
  const packs: Pack[] = []
  try {
    for (const name of names) {
      const pack = Pack.open(disk, directory, name)
      if (pack !== undefined) packs.push(pack)
    }
    const objects = directory.slice(0, directory.lastIndexOf('/'))
    return work(new StoredSource(disk, objects, packs))
  } finally {
    for (const pack of packs) pack.close()
  }
}

/** Whether a stored object that is not in `dead` names one that is, or may, since it is damaged. */
export function hasReverseReference(disk: Disk, directory: string, dead: OidList): boolean {
  return withStored(disk, directory, packNames(disk, directory), (source) => isNamed(source, dead))
}

function isNamed(source: StoredSource, dead: OidList): boolean {
  const probe = new OidProbe(dead)
  try {
    for (let number = 0; number < source.end; number += 1) {
      // A blob names nothing.
      if (source.isRepeated(number) || source.isPackedBlob(number)) continue
      if (!probe.has(source.oidOf(number)) && namesAny(source.read(number), probe)) return true
    }
    return false
  } catch (error) {
    if (hasCode(error, 'pack_corrupt', 'object_corrupt')) return true
    throw error
  }
}

function namesAny({ type, body }: PackedObject, dead: OidProbe): boolean {
  if (type === 'tree') {
    for (const entry = new TreeCursor(body); entry.valid; entry.next()) {
      if (dead.has(entry.oid)) return true
    }
  }
  if (type === 'tag') {
    const oid = taggedBy(body)
    return oid !== undefined && dead.has(oid)
  }
  if (type !== 'commit') return false
  const links = findAllLinks(body)
  return links === undefined || [links.tree, ...links.parents].some((oid) => dead.has(fromHex(oid)))
}

/** Measures the objects that are not reachable; each object once. */
export function measureUnreachable(
  source: ReachableSource,
  from: ReachableFrom,
  watch: WorkWatch,
): ObjectAmount {
  const reached = reachedFrom(source, from, watch)
  let [objects, bytes] = [0, 0]
  for (let number = 0; number < source.end; number += 1) {
    if (reached[number] === 1 || source.isRepeated(number)) continue
    objects += 1
    bytes += source.bytesOf(number)
  }
  return { objects, bytes }
}

/** For each number, 1 if the object is reachable. */
function reachedFrom(
  source: ReachableSource,
  { heads, boundary }: ReachableFrom,
  watch: WorkWatch,
): Uint8Array {
  const reached = new Uint8Array(source.end)
  let done = 0
  report(watch, done, source.count)
  const tick = (): void => {
    done += 1
    if (done % tickObjects === 0) report(watch, done, source.count)
  }
  const mark = (number: number): void => {
    if (reached[number] === 1) return
    reached[number] = 1
    tick()
  }
  const tips = heads.flatMap((head) => behindTags(source, fromHex(head), mark) ?? [])
  const { commits, roots } = walkCommits(
    source,
    tips.map(({ oid }) => oid),
    new Set(boundary.flatMap((oid) => source.find(fromHex(oid)) ?? [])),
    tick,
  )
  for (const number of commits) reached[number] = 1
  const isKnown = (number: number): boolean => reached[number] === 1
  const visitor = { isKnown, tree: mark, blob: mark }
  walkTrees(source, roots, visitor)
  for (const { number, type } of tips) {
    if (type === 'tree') walkTrees(source, Uint32Array.of(number), visitor)
    else mark(number)
  }
  return reached
}

/** Marks a ref's tags and returns what they reach; undefined if it is missing. */
function behindTags(source: ReachableSource, head: Uint8Array, mark: (number: number) => void) {
  for (let oid: Uint8Array | undefined = head; oid !== undefined;) {
    const number = source.find(oid)
    if (number === undefined) return undefined
    const { type, body } = source.read(number)
    if (type !== 'tag') return { oid, number, type }
    mark(number)
    oid = taggedBy(body)
  }
  return undefined
}

/** The 20-byte oid of the object that a tag names. */
function taggedBy(tag: Uint8Array): Uint8Array | undefined {
  const oid = /^object ([0-9a-f]{40})\n/.exec(asciiText(tag.subarray(0, 48)))?.[1]
  return oid === undefined ? undefined : fromHex(oid)
}

function report(watch: WorkWatch, done: number, total: number): void {
  if (watch.isCancelled()) throw new StoreError('cancelled', 'The search was cancelled')
  watch.progress(done, total)
}

/** All packs, then the loose objects, which have the highest numbers. */
class StoredSource implements ReachableSource {
  readonly end: number
  readonly count: number
  readonly #disk: Disk
  readonly #directory: string
  readonly #packed: MultiPack
  readonly #loose: readonly Oid[]
  readonly #numbers: ReadonlyMap<Oid, number>

  /** `directory` is `objects`. */
  constructor(disk: Disk, directory: string, packs: readonly Pack[]) {
    this.#disk = disk
    this.#directory = directory
    this.#packed = atOnce(MultiPack.of(packs))
    this.#loose = looseObjectIds(disk, directory).filter((oid) => {
      return this.#packed.find(fromHex(oid)) === undefined
    })
    const { end, count } = this.#packed
    this.#numbers = new Map(this.#loose.map((oid, index) => [oid, end + index]))
    this.end = end + this.#loose.length
    this.count = count + this.#loose.length
  }

  find(oid: Uint8Array): number | undefined {
    return this.#packed.find(oid) ?? this.#numbers.get(toHex(oid))
  }

  isRepeated(number: number): boolean {
    return number < this.#packed.end && this.#packed.isRepeated(number)
  }

  isPackedBlob(number: number): boolean {
    return number < this.#packed.end && this.#packed.entry(number).header.type === 'blob'
  }

  oidOf(number: number): Uint8Array {
    const oid = this.#findLoose(number)
    return oid === undefined ? this.#packed.oidOf(number) : fromHex(oid)
  }

  read(number: number): PackedObject {
    const oid = this.#findLoose(number)
    if (oid === undefined) return this.#packed.read(number)
    const object = readAnyLooseObject(this.#disk, this.#directory, oid)
    if (object !== undefined) return object
    throw new StoreError('object_missing', `The object ${oid} no longer exists`)
  }

  bytesOf(number: number): number {
    const oid = this.#findLoose(number)
    if (oid === undefined) return this.#packed.bytesOf(number)
    return this.#disk.stat(looseObjectPath(this.#directory, oid))?.size ?? 0
  }

  #findLoose(number: number): Oid | undefined {
    return number < this.#packed.end ? undefined : this.#loose[number - this.#packed.end]
  }
}

/** The trees of a store have five levels; a deeper one was not written by a store. */
const depthMax = 64
/** The root of a commit whose tree is missing. */
const noTree = 0xffff_ffff

interface WalkSource {
  readonly end: number
  readonly count: number
  /** The number of the object with this 20-byte oid. */
  find(oid: Uint8Array): number | undefined
  read(number: number): PackedObject
}

/**
 * All commits reachable from `heads` by number: each line of first parents, then the commits merged
 * into it. With the root tree of each; 2^32 − 1 if it is missing. `ends` are commits whose parents
 * are not followed.
 */
function walkCommits(
  source: WalkSource,
  heads: readonly Uint8Array[],
  ends: ReadonlySet<number>,
  tick: () => void,
) {
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
    const parents = ends.has(number) ? [] : (links?.parents.map(fromHex) ?? [])
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
interface ObjectVisitor {
  isKnown(number: number): boolean
  /** Called once for each tree that was not known. */
  tree(number: number): void
  /** May be called repeatedly for a blob. */
  blob(number: number): void
}

function walkTrees(source: WalkSource, roots: Uint32Array, visitor: ObjectVisitor): void {
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
  readonly #visitor: ObjectVisitor

  constructor(source: WalkSource, visitor: ObjectVisitor) {
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
