// Finds out whether packs hold exactly what one commit reaches: then a push may send them as they
// are. One pass in the order of the files, without a walk: objects name others by their hashes, so
// their links have no cycle, and if every object but the commit is named by another one, the commit
// reaches all of them. Whatever is doubtful is treated as no. Must not write.

import type { WorkWatch } from '../../async.ts'
import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { atOnce } from '../../time-slice.ts'
import { findAllLinks, type Oid } from '../objects/object.ts'
import { TreeCursor } from '../objects/tree-cursor.ts'
import { DeltaBaseCache } from '../pack/delta-base-cache.ts'
import { applyDelta } from '../pack/delta.ts'
import { MultiPack, type RawEntry } from '../pack/multi-pack.ts'
import { corruptPack, inflate } from '../pack/pack-entry.ts'
import { Pack } from '../pack/pack.ts'

const cacheBytes = 16 * MEBIBYTE
/** The runs of neighbours that each part reads: one may be the base of the next. */
const runsOfPart = 8
/** Objects between two looks at the watch. */
const tickObjects = 1024
const noEntries = new Uint8Array(0)

/** One part of the work, which threads may share: of `parts` it does the one with this number. */
export interface LinksJob {
  /** `objects/pack`, absolute. */
  readonly directory: string
  /** The packs, which are searched in this order. */
  readonly names: readonly string[]
  readonly head: Oid
  readonly part: number
  readonly parts: number
}

/** What the objects of one part name. Numbers are those of all packs together (`MultiPack`). */
export interface PackLinks {
  /** For each number, 1 if the object is named. */
  readonly named: Uint8Array
  /** The number of the head. */
  readonly top: number
  /** How many objects of this part are commits. */
  readonly commits: number
}

/**
 * Undefined if the packs do not hold all that their objects name. Of an object that they hold
 * twice, one copy is treated as not named. Throws `pack_corrupt`, `object_corrupt` or `cancelled`.
 */
export function readPackLinks(
  disk: Disk,
  { directory, names, head, part, parts }: LinksJob,
  watch: WorkWatch,
): PackLinks | undefined {
  const packs: Pack[] = []
  try {
    for (const name of names) {
      const pack = Pack.open(disk, directory, name)
      if (pack === undefined) return undefined
      packs.push(pack)
    }
    const source = atOnce(MultiPack.of(packs))
    const top = source.find(fromHex(head))
    if (top === undefined) return undefined
    const links = new LinkReader(source, watch).read(part, parts)
    return links && { ...links, top }
  } finally {
    for (const pack of packs) pack.close()
  }
}

/**
 * The number of commits that the head reaches, if the packs hold exactly what it reaches; else
 * undefined. `links` are those of all parts.
 */
export function countIfExact(links: readonly (PackLinks | undefined)[]): number | undefined {
  const [first, ...others] = links
  if (first === undefined) return undefined
  let { commits } = first
  for (const other of others) {
    if (other === undefined) return undefined
    commits += other.commits
    for (let at = 0; at < other.named.length; at += 1) {
      if (other.named[at] === 1) first.named[at] = 1
    }
  }
  // The head alone is named by nothing.
  const isExact = first.named.indexOf(0) === first.top && !first.named.includes(0, first.top + 1)
  return isExact ? commits : undefined
}

class LinkReader {
  readonly #source: MultiPack
  readonly #watch: WorkWatch
  readonly #named: Uint8Array
  /** Trees that may be bases, by number. */
  readonly #trees = new DeltaBaseCache(cacheBytes)
  #commits = 0

  constructor(source: MultiPack, watch: WorkWatch) {
    this.#source = source
    this.#watch = watch
    this.#named = new Uint8Array(source.end)
  }

  read(part: number, parts: number): Omit<PackLinks, 'top'> | undefined {
    const runObjects = Math.ceil(this.#source.end / (parts * runsOfPart))
    for (let number = 0; number < this.#source.end; number += 1) {
      if (number % tickObjects === 0 && this.#watch.isCancelled()) throw cancelled()
      if (Math.floor(number / runObjects) % parts !== part) continue
      if (!this.#readsAll(number)) return undefined
    }
    return { named: this.#named, commits: this.#commits }
  }

  /** False unless the packs hold all that an object names. */
  #readsAll(number: number): boolean {
    const entry = this.#source.entry(number)
    const { type } = entry.header
    if (type === 'blob') return true
    if (type === 'commit') return this.#namesOfCommit(inflated(entry))
    if (type === 'tree') return this.#namesOfTree(number, inflated(entry), noEntries)
    const base = type === 'tag' ? undefined : this.#source.baseOf(number, entry.header)
    const older = base === undefined ? undefined : this.#trees.view(base)?.body
    if (older !== undefined) {
      return this.#namesOfTree(number, applyDelta(older, inflated(entry)), older)
    }
    const object = this.#source.read(number)
    if (object.type === 'commit') return this.#namesOfCommit(object.body)
    if (object.type === 'tree') return this.#namesOfTree(number, object.body, noEntries)
    return true
  }

  #namesOfCommit(body: Uint8Array): boolean {
    const links = findAllLinks(body)
    if (links === undefined) return false
    this.#commits += 1
    return [links.tree, ...links.parents].every((oid) => this.#name(fromHex(oid)))
  }

  /** What `older`, a tree of the packs, has too is named there. */
  #namesOfTree(number: number, body: Uint8Array, older: Uint8Array): boolean {
    const known = new TreeCursor(older)
    for (const entry = new TreeCursor(body); entry.valid; entry.next()) {
      while (known.valid && known.compareName(entry) < 0) known.next()
      if (known.valid && known.compareName(entry) === 0 && known.hasOidOf(entry)) continue
      if (!this.#name(entry.oid)) return false
    }
    this.#trees.add(number, { type: 'tree', body })
    return true
  }

  #name(oid: Uint8Array): boolean {
    const number = this.#source.find(oid)
    if (number !== undefined) this.#named[number] = 1
    return number !== undefined
  }
}

function inflated({ header, deflated }: RawEntry): Uint8Array {
  const body = inflate(deflated, header.size)
  if (body === undefined) throw corruptPack('an entry ends too early')
  return body
}

function cancelled(): StoreError {
  return new StoreError('cancelled', 'The search was cancelled')
}
