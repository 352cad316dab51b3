// Finds unreachable objects: reads every commit and tree from the heads on, and counts what was not
// reached, or checks that what is to be erased was not. A sync that was cut off, a push that lost a
// race, or git itself may leave unreachable objects. Counts objects as stored; must not remove
// anything.

import { unwatched, type WorkWatch } from '../../async.ts'
import { asciiText, fromHex, toHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { atOnce } from '../../time-slice.ts'
import type { ObjectAmount } from '../object-store.ts'
import { looseObjectIds, looseObjectPath, readAnyLooseObject } from '../objects/loose-object.ts'
import type { Oid } from '../objects/object.ts'
import { oidBytes, type OidList } from '../objects/oid-list.ts'
import { MultiPack } from '../pack/multi-pack.ts'
import { packNames } from '../pack/pack-inspection.ts'
import { Pack, type PackedObject } from '../pack/pack.ts'
import { hasReverseReference } from '../pack/reverse-references.ts'
import { reachedByHistory } from '../purge/purge-intent.ts'
import { walkCommits, type WalkSource, walkTrees } from './object-walk.ts'

/** Objects between two progress reports. */
const tickObjects = 1024

export interface UnreachableJob {
  /** `objects/pack`, absolute. */
  readonly directory: string
  /** All packs. */
  readonly names: readonly string[]
  /** The commits of the refs and the journal. */
  readonly heads: readonly Oid[]
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
  { directory, names, heads }: UnreachableJob,
  watch: WorkWatch,
): ObjectAmount {
  return withStored(disk, directory, names, (source) => measureUnreachable(source, heads, watch))
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
  // Only where the answer is not clear without, for what lies unreachable refers to it.
  if (!hasReverseReference(disk, directory, dead)) return
  withStored(disk, directory, packNames(disk, directory), (source) => {
    const reached = reachedFrom(source, heads, unwatched)
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
  work: (source: ReachableSource) => T,
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

/** Measures the objects not reachable from `heads`; each object once. */
export function measureUnreachable(
  source: ReachableSource,
  heads: readonly Oid[],
  watch: WorkWatch,
): ObjectAmount {
  const reached = reachedFrom(source, heads, watch)
  let [objects, bytes] = [0, 0]
  for (let number = 0; number < source.end; number += 1) {
    if (reached[number] === 1 || source.isRepeated(number)) continue
    objects += 1
    bytes += source.bytesOf(number)
  }
  return { objects, bytes }
}

/** For each number, 1 if the object is reachable. */
function reachedFrom(source: ReachableSource, heads: readonly Oid[], watch: WorkWatch): Uint8Array {
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

interface Tip {
  readonly oid: Uint8Array
  readonly number: number
  readonly type: PackedObject['type']
}

/** Marks a ref's tags and returns what they reach; undefined if it is missing. */
function behindTags(
  source: ReachableSource,
  head: Uint8Array,
  mark: (number: number) => void,
): Tip | undefined {
  for (let oid: Uint8Array | undefined = head; oid !== undefined;) {
    const number = source.find(oid)
    if (number === undefined) return undefined
    const { type, body } = source.read(number)
    if (type !== 'tag') return { oid, number, type }
    mark(number)
    const tagged = /^object ([0-9a-f]{40})\n/.exec(asciiText(body.subarray(0, 48)))?.[1]
    oid = tagged === undefined ? undefined : fromHex(tagged)
  }
  return undefined
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
    return this.#loose[number - this.#packed.end]
  }
}
