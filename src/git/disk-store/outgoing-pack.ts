// A pack of chosen objects, generated while it is sent; nothing is written to disk. A few objects
// are packed in RAM with suitable deltas. Many are copied entry by entry, twice: to learn the size,
// which hosts want first, and to send. Must send exactly the chosen objects, and no delta without
// its base earlier in the pack or in a named commit of the receiver.

import { asciiText, fromHex } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import { assert, StoreError } from '../../errors.ts'
import { KIBIBYTE, MEBIBYTE } from '../../limits.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { OutgoingPack } from '../exchange.ts'
import type { ObjectStore } from '../object-store.ts'
import { decodeTree, type GitObject, type Oid } from '../objects/object.ts'
import { MultiPack } from '../pack/multi-pack.ts'
import { copyEntries } from '../pack/pack-copy.ts'
import {
  deflate,
  encodeEntryHeader,
  encodePackHeader,
  packHeaderBytes,
  packTrailerBytes,
} from '../pack/pack-entry.ts'
import { orderForPack } from '../pack/pack-order.ts'
import {
  type EntrySink,
  type PackInput,
  type PackObject,
  writeObjects,
} from '../pack/pack-writer.ts'
import { Pack } from '../pack/pack.ts'
import type { StoreParts } from './store-parts.ts'

/** The most that is packed in RAM, by objects and by bytes. */
const fewObjectsMax = 10_000
const fewBytesMax = 8 * MEBIBYTE
const chunkBytes = 64 * KIBIBYTE

type Find = (oid: Oid) => GitObject | undefined

/**
 * Where an oid is undefined, other work may run. Throws `object_missing`, and what reading a
 * damaged object throws.
 */
export async function makeOutgoingPack(
  parts: StoreParts,
  store: Pick<ObjectStore, 'read' | 'checkpoint'>,
  oids: Iterable<Oid | undefined>,
  atReceiver?: Oid,
): Promise<OutgoingPack> {
  const rest = oids[Symbol.iterator]()
  const first = await takeFirst(rest)
  assert(first.size > 0, 'a pack without objects')
  const find: Find = (oid) => store.read(oid)
  const few = first.size > fewObjectsMax ? undefined : await readFew(find, first)
  if (few !== undefined) return packInRam(few, find, atReceiver)
  await store.checkpoint()
  const stored = parts.objects.packs
  stored.rescan()
  const packs = openPacks(
    parts,
    stored.packs().map(({ name }) => name),
  )
  try {
    const copy = new PackCopy(find, packs, await inSlices(MultiPack.of(packs)))
    await copy.choose(first)
    await copy.choose({ [Symbol.iterator]: () => rest })
    await copy.measure()
    return copy
  } catch (error) {
    for (const pack of packs) pack.close()
    throw error
  }
}

/** All objects, or one more than are packed in RAM. */
async function takeFirst(oids: Iterator<Oid | undefined>): Promise<ReadonlySet<Oid>> {
  const first = new Set<Oid>()
  const slice = new TimeSlice()
  while (first.size <= fewObjectsMax) {
    const next = oids.next()
    if (next.done === true) break
    if (next.value !== undefined) first.add(next.value)
    if (slice.isOver()) await slice.next()
  }
  return first
}

async function readFew(find: Find, oids: Iterable<Oid>): Promise<PackObject[] | undefined> {
  const objects: PackObject[] = []
  const slice = new TimeSlice()
  let bytes = 0
  for (const oid of oids) {
    const object = find(oid)
    if (object === undefined) throw missing(oid)
    bytes += object.body.length
    if (bytes > fewBytesMax) return undefined
    objects.push({ oid, ...object })
    if (slice.isOver()) await slice.next()
  }
  return objects
}

/** Those of the packs that are still there. */
function openPacks({ files, objects }: StoreParts, names: readonly string[]): Pack[] {
  return names.flatMap((name) => {
    const pack = Pack.openBounded(files.disk, objects.packDirectory, name)
    return pack === undefined ? [] : [pack]
  })
}

/** A pack of objects in RAM; a thin one if a commit of the receiver is given. */
export async function packInRam(
  objects: readonly PackObject[],
  find: Find,
  atReceiver: Oid | undefined,
): Promise<OutgoingPack> {
  const ordered = await inSlices(orderForPack(objects))
  const newest = objects.findLast(({ type }) => type === 'commit')
  if (newest === undefined || atReceiver === undefined) return PackInRam.of(ordered)
  const bases = await inSlices(findThinBases(find, newest.oid, atReceiver))
  return PackInRam.of(
    ordered.map(({ oid, type, body, base }) => {
      return { oid, type, body, base, thinBase: bases.get(oid) }
    }),
  )
}

class PackInRam implements OutgoingPack, EntrySink {
  readonly objects: number
  readonly #parts: Uint8Array[]
  #bytes: number

  private constructor(count: number) {
    this.objects = count
    this.#parts = [encodePackHeader(count)]
    this.#bytes = packHeaderBytes
  }

  static async of(ordered: readonly PackInput[]): Promise<PackInRam> {
    const pack = new PackInRam(ordered.length)
    await inSlices(writeObjects(pack, ordered))
    const sha1 = new Sha1()
    for (const part of pack.#parts) sha1.update(part)
    pack.#append(sha1.digest())
    return pack
  }

  get bytes(): number {
    return this.#bytes
  }

  get offset(): number {
    return this.#bytes
  }

  add(_oid: Uint8Array, header: Uint8Array, deflated: Uint8Array): void {
    this.#append(header)
    this.#append(deflated)
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const chunks = new Chunks()
    for (const part of this.#parts) yield* chunks.add(part)
    yield* chunks.rest()
  }

  close(): void {}

  #append(part: Uint8Array): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }
}

class PackCopy implements OutgoingPack {
  readonly #packs: readonly Pack[]
  readonly #source: MultiPack
  readonly #find: Find
  /** For each number in the source, 1 if the object is chosen. */
  readonly #chosen: Uint8Array
  #packed = 0
  /** Chosen objects that are in no pack. */
  readonly #others: Set<Oid> = new Set()
  #bytes = 0

  constructor(find: Find, packs: readonly Pack[], source: MultiPack) {
    this.#packs = packs
    this.#source = source
    this.#find = find
    this.#chosen = new Uint8Array(source.end)
  }

  /** Keeps one byte per object of the source: the chosen oids are too many to hold. */
  async choose(oids: Iterable<Oid | undefined>): Promise<void> {
    const slice = new TimeSlice()
    for (const oid of oids) {
      if (oid !== undefined) this.#chooseOne(oid)
      if (slice.isOver()) await slice.next()
    }
  }

  #chooseOne(oid: Oid): void {
    const number = this.#source.find(fromHex(oid))
    if (number === undefined) this.#others.add(oid)
    else if (this.#chosen[number] === 0) {
      this.#chosen[number] = 1
      this.#packed += 1
    }
  }

  get objects(): number {
    return this.#packed + this.#others.size
  }

  get bytes(): number {
    return this.#bytes
  }

  async measure(): Promise<void> {
    let bytes = packTrailerBytes
    for await (const part of this.#parts()) bytes += part.length
    this.#bytes = bytes
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const chunks = new Chunks()
    const sha1 = new Sha1()
    for await (const part of this.#parts()) {
      sha1.update(part)
      yield* chunks.add(part)
    }
    yield* chunks.add(sha1.digest())
    yield* chunks.rest()
  }

  close(): void {
    for (const pack of this.#packs) pack.close()
  }

  /** Everything but the trailer. The next part overwrites the previous one. */
  async *#parts(): AsyncGenerator<Uint8Array> {
    yield encodePackHeader(this.objects)
    const slice = new TimeSlice()
    for (const { header, deflated } of copyEntries(this.#source, (n) => this.#chosen[n] === 1)) {
      yield header
      yield deflated
      if (slice.isOver()) await slice.next()
    }
    for (const oid of this.#others) {
      const object = this.#find(oid)
      if (object === undefined) throw missing(oid)
      yield encodeEntryHeader(object.type, object.body.length)
      yield deflate(object.body, 0)
      if (slice.isOver()) await slice.next()
    }
  }
}

/** Joins small parts into chunks that the receiver may keep. */
class Chunks {
  #buffer = new Uint8Array(chunkBytes)
  #filled = 0

  add(part: Uint8Array): Uint8Array[] {
    const full: Uint8Array[] = []
    for (let done = 0; done < part.length;) {
      const room = Math.min(part.length - done, chunkBytes - this.#filled)
      this.#buffer.set(part.subarray(done, done + room), this.#filled)
      this.#filled += room
      done += room
      if (this.#filled === chunkBytes) full.push(...this.rest())
    }
    return full
  }

  rest(): Uint8Array[] {
    if (this.#filled === 0) return []
    const chunk = this.#buffer.subarray(0, this.#filled)
    this.#buffer = new Uint8Array(chunkBytes)
    this.#filled = 0
    return [chunk]
  }
}

function missing(oid: Oid): StoreError {
  return new StoreError('object_missing', `The object ${oid} cannot be sent: it is not stored`)
}

/**
 * Maps each tree of `newer` to the tree of `older` at the same path, where they differ. Git calls a
 * pack with deltas on such trees thin (gitformat-pack, "Deltified representation").
 */
function* findThinBases(
  find: Find,
  newer: Oid,
  older: Oid,
): Generator<undefined, ReadonlyMap<Oid, PackObject>> {
  const bases = new Map<Oid, PackObject>()
  const [after, before] = [rootOf(find, newer), rootOf(find, older)]
  if (after !== undefined && before !== undefined) yield* compare(find, bases, after, before)
  return bases
}

function* compare(
  find: Find,
  bases: Map<Oid, PackObject>,
  newer: Oid,
  older: Oid,
): Generator<undefined, void> {
  if (newer === older) return
  yield
  const [after, before] = [find(newer), find(older)]
  if (after?.type !== 'tree' || before?.type !== 'tree') return
  bases.set(newer, { oid: older, ...before })
  const olderTrees = subtrees(before)
  for (const [name, oid] of subtrees(after)) {
    const counterpart = olderTrees.get(name)
    if (counterpart !== undefined) yield* compare(find, bases, oid, counterpart)
  }
}

function subtrees({ body }: GitObject): ReadonlyMap<string, Oid> {
  const trees = decodeTree(body).filter(({ mode }) => mode === '40000')
  return new Map(trees.map(({ name, oid }) => [name, oid]))
}

function rootOf(find: Find, commit: Oid): Oid | undefined {
  const body = find(commit)?.body.subarray(0, 45)
  return body && /^tree ([0-9a-f]{40})/.exec(asciiText(body))?.[1]
}
