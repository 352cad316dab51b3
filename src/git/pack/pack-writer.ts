// Writes objects to a pack in the given order, as small as git makes them: a tree as a delta of its
// base, commits deflated, blobs stored, since ciphertext does not compress. Must not choose objects
// or bases: callers that know the history do.

import { fromHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { assert, StoreError } from '../../errors.ts'
import { crc32 } from '../../platform/zlib.ts'
import { atOnce } from '../../time-slice.ts'
import type { PackStatus } from '../object-store.ts'
import type { ObjectType, Oid } from '../objects/object.ts'
import { makeDelta } from './delta.ts'
import {
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  encodeRefDeltaHeader,
} from './pack-entry.ts'
import { discardTemporaryPack, PackFile, publishPacks, type TemporaryPack } from './pack-file.ts'
import { PackIndexBuilder } from './pack-index.ts'

/** The limit of `git gc`: a reader applies at most this many deltas for one object. */
const depthMax = 50

export interface PackObject {
  readonly oid: Oid
  readonly type: ObjectType
  readonly body: Uint8Array
}

export interface PackInput extends PackObject {
  /** An earlier, similar object of the same type in this pack; only a hint. */
  readonly base?: Oid | undefined
  /** A similar object of the same type at the receiver; only a hint: the pack may hold it too. */
  readonly thinBase?: PackObject | undefined
}

/**
 * Writes a pack and its index into `directory`; both are durable when it resolves. Duplicates are
 * written once. Throws `object_corrupt` if a body does not match its oid.
 */
export async function writePack(
  disk: Disk,
  directory: string,
  objects: readonly PackInput[],
): Promise<PackStatus> {
  const pack = await writeTemporaryPack(disk, directory, objects)
  try {
    await publishPacks(disk, directory, [pack])
  } catch (error) {
    discardTemporaryPack(disk, directory, pack.token)
    throw error
  }
  return { name: pack.name, objects: pack.objects, bytes: pack.bytes }
}

/** Like `writePack`, but the pack remains invisible until `publishPacks`. */
export function writeTemporaryPack(
  disk: Disk,
  directory: string,
  objects: readonly PackInput[],
): Promise<TemporaryPack> {
  const unique = withoutRepetitions(objects)
  return PackFile.write(disk, directory, unique.length, (file) => {
    const output = new PackOutput(file, unique.length)
    atOnce(writeObjects(output, unique))
    return output.finish()
  })
}

/** Writes entries to a pack and to its index. */
export class PackOutput implements EntrySink {
  readonly #file: PackFile
  readonly #index: PackIndexBuilder

  /** Exactly `count` entries must follow. */
  constructor(file: PackFile, count: number) {
    this.#file = file
    this.#index = new PackIndexBuilder(count)
  }

  get offset(): number {
    return this.#file.offset
  }

  add(oid: Uint8Array, header: Uint8Array, deflated: Uint8Array): void {
    this.#index.add(oid, this.offset, crc32(deflated, crc32(header)))
    this.#file.append(header)
    this.#file.append(deflated)
  }

  finish(): Promise<TemporaryPack> {
    return this.#file.finish((checksum) => this.#index.encode(checksum))
  }
}

function withoutRepetitions(objects: readonly PackInput[]): readonly PackInput[] {
  assert(objects.length > 0, 'a pack without objects')
  return [...new Map(objects.map((object) => [object.oid, object])).values()]
}

/** Receives the entries. */
export interface EntrySink {
  /** The offset of the next entry in the pack. */
  readonly offset: number
  /** `oid` has 20 bytes. */
  add(oid: Uint8Array, header: Uint8Array, deflated: Uint8Array): void
}

/** Appends objects, each once and after its base. */
export function* writeObjects(
  output: EntrySink,
  objects: readonly PackInput[],
): Generator<undefined, void> {
  const written = new Map<Oid, WrittenObject>()
  const names = new Set(objects.map(({ oid }) => oid))
  for (const object of objects) {
    written.set(object.oid, writeObject(output, withOwnBasesOnly(object, names), written))
    yield
  }
}

/**
 * Drops a thin base that the pack itself holds: that base may be a delta on the object, which would
 * be a cycle, and git refuses a base that it finds twice.
 */
function withOwnBasesOnly(object: PackInput, names: ReadonlySet<Oid>): PackInput {
  const { thinBase } = object
  return thinBase !== undefined && names.has(thinBase.oid)
    ? { ...object, thinBase: undefined }
    : object
}

interface WrittenObject {
  readonly type: ObjectType
  readonly body: Uint8Array
  readonly offset: number
  /** The number of deltas between this object and a whole one. */
  readonly depth: number
}

function writeObject(
  output: EntrySink,
  object: PackInput,
  written: ReadonlyMap<Oid, WrittenObject>,
): WrittenObject {
  const { oid, type, body } = object
  // The last chance to find a damaged object while its source still exists.
  if (gitHash(type, body) !== oid) {
    throw new StoreError('object_corrupt', `The object ${oid} does not match its name`)
  }
  const { offset } = output
  const { header, deflated, depth } = encodeEntry(object, written, offset)
  output.add(fromHex(oid), header, deflated)
  return { type, body, offset, depth }
}

/** A delta has some thirty bytes, mostly an oid: compression saves one byte, and takes longer. */
function encodeEntry(object: PackInput, written: ReadonlyMap<Oid, WrittenObject>, offset: number) {
  const { type, body, thinBase } = object
  const base = object.base === undefined ? undefined : written.get(object.base)
  const delta = base && deltaWorthWhile(base, object)
  if (base !== undefined && delta !== undefined) {
    const header = encodeOffsetDeltaHeader(delta.length, offset - base.offset)
    return { header, deflated: deflate(delta, 0), depth: base.depth + 1 }
  }
  const thinDelta = thinBase && deltaWorthWhile({ ...thinBase, depth: 0 }, object)
  if (thinBase !== undefined && thinDelta !== undefined) {
    const header = encodeRefDeltaHeader(thinDelta.length, thinBase.oid)
    return { header, deflated: deflate(thinDelta, 0), depth: 1 }
  }
  const header = encodeEntryHeader(type, body.length)
  return { header, deflated: deflate(body, type === 'blob' ? 0 : 1), depth: 0 }
}

/** A delta that saves less than half is not worth its cost for readers, as in git. */
function deltaWorthWhile(
  base: Omit<WrittenObject, 'offset'>,
  object: PackInput,
): Uint8Array | undefined {
  if (base.type !== object.type || base.depth >= depthMax) return undefined
  const delta = makeDelta(base.body, object.body)
  return delta.length * 2 < object.body.length ? delta : undefined
}
