// Receives a pack into a directory of its own: written to a temporary file, bounded and hashed,
// then checked and indexed entry by entry. No lock is held while a remote sends, so the directory's
// name contains the owner's token: a checkpoint removes those of dead processes, and a purge
// empties all, which may hold erased objects. Must leave nothing after a failure.

import type { WorkWatch } from '../../async.ts'
import { concatBytes, equalBytes, toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { isHeldByLive, type LockIdentity } from '../../disk/process-lock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { packBytesMax, packObjectsMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import type { ReceiveLimits, ReceiveOptions } from '../exchange.ts'
import { findAllLinks, type GitObject, type Oid } from '../objects/object.ts'
import { corruptPack, decodePackHeader, packHeaderBytes, packTrailerBytes } from './pack-entry.ts'
import {
  discardTemporaryPack,
  type IndexedPack,
  packNameOf,
  temporaryPath,
  writeTemporaryIndex,
} from './pack-file.ts'
import { checkPack } from './pack-resolve.ts'

/** The name of a directory of incoming packs, with the token of the receiving handle. */
const incomingPattern = /^([0-9a-f]{32})_[0-9a-f]{16}$/

/** The directory of incoming packs, in the store's own directory. */
export const incomingName: string = 'incoming'

export const receiveLimits: ReceiveLimits = { bytes: packBytesMax, objects: packObjectsMax }

/** Checks the header and the trailer of a pack while it is received. */
export class PackStream {
  readonly #limits: ReceiveLimits
  readonly #sha1: Sha1 = new Sha1()
  #head: Uint8Array = new Uint8Array(0)
  /** Not hashed yet: it may be the trailer. */
  #tail: Uint8Array = new Uint8Array(0)
  #bytes = 0

  constructor(limits: ReceiveLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Throws `pack_corrupt` as soon as the bytes cannot be a pack within the limits. */
  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#limits.bytes) throw corruptPack('it is larger than allowed')
    if (this.#head.length < packHeaderBytes) {
      this.#head = concatBytes(this.#head, chunk).slice(0, packHeaderBytes)
      if (this.#head.length === packHeaderBytes) this.#checkCount()
    }
    // A copy of every chunk would be garbage outside of the heap, which is collected at once.
    const isLong = chunk.length >= packTrailerBytes
    const rest = isLong ? chunk : concatBytes(this.#tail, chunk)
    if (isLong) this.#sha1.update(this.#tail)
    const hashed = Math.max(0, rest.length - packTrailerBytes)
    this.#sha1.update(rest.subarray(0, hashed))
    // `slice` of a Buffer would be a view of it.
    this.#tail = new Uint8Array(rest.subarray(hashed))
  }

  /** Checks the trailer; returns the declared number of objects. */
  finish(): number {
    if (this.#bytes < packHeaderBytes + packTrailerBytes) throw corruptPack('it ends too early')
    if (!equalBytes(this.#sha1.digest(), this.#tail)) throw corruptPack('its checksum is wrong')
    return decodePackHeader(this.#head)
  }

  #checkCount(): void {
    if (decodePackHeader(this.#head) > this.#limits.objects) {
      throw corruptPack('it has more objects than allowed')
    }
  }
}

export class IncomingPack {
  // Not secret: the name must only differ from that of any other pack.
  readonly token: string = toHex(systemRandom(8))
  readonly #disk: Disk
  readonly #directory: string
  readonly #stream: PackStream
  readonly #fd: number
  #open = true

  /** `directory` is one of `incomingDirectory`. */
  constructor(disk: Disk, directory: string, limits: ReceiveLimits) {
    this.#disk = disk
    this.#directory = directory
    this.#stream = new PackStream(limits)
    this.#fd = disk.open(temporaryPath(directory, 'pack', this.token), 'wx')
  }

  get bytes(): number {
    return this.#stream.bytes
  }

  append(chunk: Uint8Array): void {
    const at = this.#stream.bytes
    this.#stream.add(chunk)
    this.#disk.write(this.#fd, chunk, at)
  }

  /** Makes the bytes durable; resolves to the declared number of objects. */
  async finish(): Promise<number> {
    const count = this.#stream.finish()
    await this.#disk.sync(this.#fd)
    this.#close()
    return count
  }

  /** Removes the files. */
  abandon(): void {
    this.#close()
    discardTemporaryPack(this.#disk, this.#directory, this.token)
  }

  #close(): void {
    if (this.#open) this.#disk.close(this.#fd)
    this.#open = false
  }
}

/** A new name. Before it is made, the file of `owner` must be written: it shows who is alive. */
export function incomingDirectory(ownDirectory: string, owner: LockIdentity): string {
  return `${ownDirectory}/${incomingName}/${owner.token}_${toHex(systemRandom(8))}`
}

/** Removes the incoming packs of dead processes. Must be called under the writer lock. */
export async function sweepIncoming(disk: Disk, ownDirectory: string): Promise<void> {
  for (const path of await deadIncoming(disk, ownDirectory)) disk.removeTree(path)
}

/** The directories of incoming packs whose owners are dead. */
export async function deadIncoming(disk: Disk, ownDirectory: string): Promise<readonly string[]> {
  const parent = `${ownDirectory}/${incomingName}`
  const dead: string[] = []
  for (const name of disk.list(parent)) {
    const token = incomingPattern.exec(name)?.[1]
    if (token === undefined) continue
    if (await isHeldByLive(disk, `${ownDirectory}/owner.${token}`)) continue
    dead.push(`${parent}/${name}`)
  }
  return dead
}

/**
 * Checks a received pack and writes its index. Throws `pack_corrupt` or `cancelled`.
 */
export async function indexIncoming(
  disk: Disk,
  { directory, token }: IndexJob,
  watch: WorkWatch,
): Promise<IndexedPack> {
  const fd = disk.openExisting(temporaryPath(directory, 'pack', token), 'r')
  if (fd === undefined) throw purgedMeanwhile()
  const size = disk.size(fd)
  const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
  try {
    const { objects, encodeIndex, hashed } = await inSlices(checkPack({ size, read }, { watch }))
    const checksum = new Uint8Array(packTrailerBytes)
    disk.read(fd, checksum, size - packTrailerBytes)
    await writeTemporaryIndex(disk, directory, token, encodeIndex(checksum))
    return { name: packNameOf(checksum), objects, bytes: size, token, hashed }
  } finally {
    disk.close(fd)
  }
}

export interface IndexJob {
  /** One of `incomingDirectory`. */
  readonly directory: string
  readonly token: string
}

export function purgedMeanwhile(): StoreError {
  return new StoreError(
    'ref_conflict',
    'A redaction removed the pack while it was being received: fetch again',
  )
}

/** Translates the error of a damaged pack for the caller of a fetch. */
export function refusal(error: unknown): unknown {
  if (!hasCode(error, 'pack_corrupt', 'object_corrupt')) return error
  const problem = error.message.replace(/^A pack is damaged: /, '')
  return new StoreError('pack_refused', `What the remote sent was refused: ${problem}`, {
    cause: error,
  })
}

/**
 * Walks the commits from the tip, and from those that left the boundary. Throws `pack_corrupt`
 * unless each line of history ends at the boundary, at genesis or at a commit that was there with
 * all of its own, and the boundary consists of commits. Any other stored commit may have come in a
 * pack without its parents.
 */
export function* checkBoundary(
  read: (oid: Oid) => GitObject | undefined,
  { tip, boundary }: Pick<ReceiveOptions, 'tip' | 'boundary'>,
): Generator<undefined, void> {
  if (boundary === undefined) return
  const { before, haves, shallow, unshallow } = boundary
  const left = new Set(unshallow)
  const ends = new Set([...before, ...haves, ...shallow].filter((oid) => !left.has(oid)))
  for (const oid of shallow) {
    if (read(oid)?.type !== 'commit') throw corruptPack('its history ends at no commit')
    yield
  }
  const seen = new Set(tip === undefined ? unshallow : [tip, ...unshallow])
  // The set grows while it is iterated.
  for (const oid of seen) {
    yield
    if (ends.has(oid)) continue
    const links = linksOf(read(oid))
    if (links === undefined) throw corruptPack('a part of the history is missing in it')
    for (const parent of links.parents) seen.add(parent)
  }
}

function linksOf(object: GitObject | undefined): ReturnType<typeof findAllLinks> {
  return object?.type === 'commit' ? findAllLinks(object.body) : undefined
}
