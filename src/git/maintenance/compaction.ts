// All packs of a store into one, as small as its reader can use it: commits as deltas against an
// older one, since they share their frame; trees as deltas against their successor at the same
// path; ciphertext as it is. Drops nothing, also what no commit leads to. Streams: memory is
// columns of numbers. Must not remove a pack before the new one is durable.

import type { WorkWatch } from '../../async.ts'
import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { atOnce } from '../../time-slice.ts'
import type { PackStatus } from '../object-store.ts'
import type { Oid } from '../objects/object.ts'
import { CompactionSource, type RawEntry } from '../pack/compaction-source.ts'
import { makeDelta } from '../pack/delta.ts'
import {
  corruptPack,
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  type EntryHeader,
} from '../pack/pack-entry.ts'
import { PackOutput, writeWithOutput } from '../pack/pack-output.ts'
import { removePacks } from '../pack/pack-removal.ts'
import { Pack } from '../pack/pack.ts'
import { packLooseObjects } from './compaction-loose.ts'
import { type ReadObject, walkCommits, walkTrees } from './compaction-walk.ts'

/** As `git gc --aggressive`: a reader applies at most this many deltas for one object. */
const depthMax = 50
/** Commits that share a base, one of the oldest of them: what a purge erases are newer ones. */
const segmentCommits = 1024
/** What a delta may take of its object, both deflated: one that saves less is not worth reading. */
const shareMax = 7 / 8
/** Between two looks at whoever waits. */
const tickObjects = 1024

export interface CompactionJob {
  /** `objects/pack`, absolute. */
  readonly directory: string
  /** The packs to make one of. */
  readonly names: readonly string[]
  /** Commits to walk from. */
  readonly heads: readonly Oid[]
}

/**
 * Makes one pack of several and of all loose objects, then removes them; packs that git was told to
 * keep are left alone. Undefined if there is nothing. Throws `pack_corrupt` or `object_corrupt`,
 * with all objects where they were, if something is damaged.
 */
export async function compactPacks(
  disk: Disk,
  { directory, names, heads }: CompactionJob,
  watch: WorkWatch,
): Promise<PackStatus | undefined> {
  const packs: Pack[] = []
  let compacted: PackStatus
  try {
    refuseIfCancelled(watch)
    const loose = await packLooseObjects(disk, directory)
    openPacks(disk, directory, [...names, ...loose], packs)
    if (packs.length === 0) return undefined
    const source = atOnce(CompactionSource.of(packs))
    compacted = await writeWithOutput(new PackOutput(disk, directory, source.count), (output) => {
      new Compaction(source, output, watch).run(heads.map(fromHex))
    })
  } finally {
    for (const pack of packs) pack.close()
  }
  const replaced = packs.map(({ name }) => name).filter((name) => name !== compacted.name)
  await removePacks(disk, directory, replaced)
  return compacted
}

/** Fills `packs`, so that the caller closes what was opened before a failure. */
function openPacks(disk: Disk, directory: string, names: readonly string[], packs: Pack[]): void {
  const files = new Set(disk.list(directory))
  for (const name of names) {
    if (files.has(`${name}.keep`) || files.has(`${name}.mtimes`)) continue
    const pack = Pack.open(disk, directory, name)
    if (pack !== undefined) packs.push(pack)
  }
}

interface Delta {
  /** Of the delta, inflated. */
  readonly size: number
  readonly deflated: Uint8Array
}

class Compaction {
  readonly #source: CompactionSource
  readonly #output: PackOutput
  readonly #watch: WorkWatch
  /** By number: the offset in the new pack, NaN for what is not there yet. */
  readonly #placed: Float64Array
  /** By number: deltas between the object and one that is whole. */
  readonly #depths: Uint8Array
  #ticks = 0
  #done = 0

  constructor(source: CompactionSource, output: PackOutput, watch: WorkWatch) {
    this.#source = source
    this.#output = output
    this.#watch = watch
    this.#placed = new Float64Array(source.end).fill(NaN)
    this.#depths = new Uint8Array(source.end)
  }

  run(heads: readonly Uint8Array[]): void {
    const { commits, roots } = walkCommits(this.#source, heads, () => this.#tick())
    this.#placeCommits(commits)
    for (const blob of this.#placeTrees(roots)) this.#copy(blob)
    for (let number = 0; number < this.#source.end; number += 1) {
      if (!this.#source.isRepeated(number)) this.#copy(number)
    }
    refuseIfCancelled(this.#watch)
    this.#watch.progress(this.#done, this.#source.count)
  }

  /** Segments are counted from the oldest commit, so that the next compaction finds them again. */
  #placeCommits(commits: Uint32Array): void {
    for (let end = commits.length % segmentCommits; end <= commits.length; end += segmentCommits) {
      const segment = commits.subarray(Math.max(0, end - segmentCommits), end)
      const shared = segment[baseIndex(segment.length)]
      if (shared === undefined) continue
      const base = { number: shared, body: this.#source.read(shared).body }
      this.#place(base, undefined)
      for (const number of segment) {
        if (number !== shared) this.#place({ number, body: this.#source.read(number).body }, base)
      }
    }
  }

  /** Returns blobs in the order of their first use. */
  #placeTrees(roots: Uint32Array): Uint32Array {
    const blobs = new Uint32Array(this.#source.count)
    const seen = new Uint8Array(this.#source.end)
    let count = 0
    walkTrees(this.#source, roots, {
      isKnown: (number) => this.#isPlaced(number),
      tree: (tree, successor) => this.#place(tree, successor),
      blob(number) {
        if (seen[number] === 1) return
        seen[number] = 1
        blobs[count] = number
        count += 1
      },
    })
    return blobs.subarray(0, count)
  }

  /** An object that was looked at, as a delta against `base` if that is worth while. */
  #place(object: ReadObject, base: ReadObject | undefined): void {
    const { number } = object
    const entry = this.#source.entry(number)
    const delta = base && this.#delta(object, entry, base)
    if (base !== undefined && delta !== undefined) this.#addDelta(number, delta, base.number)
    else if (!isDelta(entry.header)) this.#add(number, entry.headerBytes, entry.deflated)
    else this.#addWhole(number)
  }

  #delta({ number, body }: ReadObject, entry: RawEntry, base: ReadObject): Delta | undefined {
    if (!this.#canBeBase(base.number)) return undefined
    const { header, deflated } = entry
    // An earlier compaction, or a checkpoint, has made this very delta.
    if (this.#source.baseOf(number, header) === base.number) return { size: header.size, deflated }
    const bytes = makeDelta(base.body, body)
    const delta = { size: bytes.length, deflated: deflate(bytes, 1) }
    const whole = isDelta(header) ? deflate(body, 1) : deflated
    return delta.deflated.length < whole.length * shareMax ? delta : undefined
  }

  /** An object that nobody looked at, as its pack has it: a delta if its base is there already. */
  #copy(number: number): void {
    if (this.#isPlaced(number)) return
    const { header, headerBytes, deflated } = this.#source.entry(number)
    if (!isDelta(header)) {
      this.#add(number, headerBytes, deflated)
      return
    }
    const base = this.#source.baseOf(number, header)
    if (base === undefined) throw corruptPack('the base of a delta is in another pack')
    if (!this.#canBeBase(base)) this.#addWhole(number)
    else this.#addDelta(number, { size: header.size, deflated }, base)
  }

  #addWhole(number: number): void {
    const { type, body } = this.#source.read(number)
    const level = type === 'blob' ? 0 : 1
    this.#add(number, encodeEntryHeader(type, body.length), deflate(body, level))
  }

  #addDelta(number: number, { size, deflated }: Delta, base: number): void {
    const distance = this.#output.offset - (this.#placed[base] ?? NaN)
    this.#depths[number] = (this.#depths[base] ?? 0) + 1
    this.#add(number, encodeOffsetDeltaHeader(size, distance), deflated)
  }

  #add(number: number, header: Uint8Array, deflated: Uint8Array): void {
    this.#placed[number] = this.#output.offset
    this.#output.add(this.#source.oidOf(number), header, deflated)
    this.#done += 1
    this.#tick()
  }

  #isPlaced(number: number): boolean {
    return !Number.isNaN(this.#placed[number] ?? NaN)
  }

  #canBeBase(number: number): boolean {
    return this.#isPlaced(number) && (this.#depths[number] ?? 0) < depthMax
  }

  #tick(): void {
    this.#ticks += 1
    if (this.#ticks % tickObjects !== 0) return
    refuseIfCancelled(this.#watch)
    this.#watch.progress(this.#done, this.#source.count)
  }
}

function refuseIfCancelled(watch: WorkWatch): void {
  if (!watch.isCancelled()) return
  throw new StoreError('cancelled', 'The compaction was cancelled: all packs are as they were')
}

/** Among commits, newest first. Not the oldest: a store begins with commits of other kinds. */
function baseIndex(commits: number): number {
  return Math.floor((commits * 7) / 8)
}

function isDelta({ type }: EntryHeader): boolean {
  return type === 'offsetDelta' || type === 'refDelta'
}
