// Files that only this device reads: the anchor, the index caches and what a server of many stores
// keeps, sealed under keys of the identity's local secret (FORMAT §3 type 6, §4). A file that is
// missing, damaged or from another device has no value; the caller decides whether that is wrong.
//
// A file is one envelope. One that is too large for one turn of the event loop is a sequence of
// parts, each u32 length ‖ envelope. The generation in an envelope's context (FORMAT §3.1) is the
// part's number, so parts cannot be reordered. A part's plaintext is 16 random bytes that identify
// the file, so that parts of two files cannot be mixed ‖ u32 length ‖ bytes; an empty last part
// marks the end.

import { concatBytes, equalBytes, type Sealed, utf8, utf8Text } from '../../bytes.ts'
import { deriveKey } from '../../crypto/digest.ts'
import type { Random } from '../../crypto/random.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import {
  cacheContext,
  type EnvelopeKeys,
  openEnvelope,
  sealEnvelope,
} from '../../format/envelope.ts'
import type { Identity } from '../../keys/identity.ts'
import { dirname } from '../../platform/paths.ts'
import { TimeSlice } from '../../time-slice.ts'

/** The role in the context of FORMAT §3.1: no kind of file can be replaced by another kind. */
export const cacheRole = {
  state: 1,
  versions: 2,
  anchor: 3,
  reads: 4,
  remotes: 5,
  leftOut: 6,
  // 7 is that of a search index.
  catalogue: 8,
  credentials: 9,
  freshness: 10,
  cursor: 11,
  entry: 12,
  part: 13,
  erased: 14,
  mirrors: 15,
  mirror: 16,
  grants: 17,
} as const
export type CacheRole = keyof typeof cacheRole

export interface CachePlace {
  readonly path: string
  readonly role: CacheRole
  /** Distinguishes the files of one role; 0 if there is one. */
  readonly generation: number
}

/** The place of a file in parts; the generation is the number of each part. */
export type PartedPlace = Omit<CachePlace, 'generation'>

/** What cache files are bound to. */
export interface SealOwner {
  readonly storeId: string
  readonly identity: Identity
  readonly random: Random
}

/** The same, and how the files are written. */
export interface CacheOwner extends SealOwner {
  readonly disk: Disk
}

/** What an envelope is bound to in addition to its owner. */
export type SealPlace = Pick<CachePlace, 'role' | 'generation'>

/** The folder of one device's caches. */
export interface CacheFiles {
  readonly owner: CacheOwner
  readonly directory: string
}

const KEYS_CONTEXT = 'GLK1keys'
const FILE_ID_BYTES = 16
const LENGTH_BYTES = 4
const NO_EPOCH = '0'.repeat(32)

/** The field that every JSON cache file has. */
export interface CacheFile {
  readonly version: number
}

/**
 * The value in a cache file; undefined if there is no file. Throws an envelope code, or
 * `upgrade_required` for the version of another release.
 */
export function readCache<T extends CacheFile>(
  owner: CacheOwner,
  place: CachePlace,
  version: T['version'],
): T | undefined {
  return readCacheBytes(owner, place, (padded) => parseCache<T>(padded, version))
}

/** The value in the padded plaintext of a JSON file. Throws `upgrade_required`. */
export function parseCache<T extends CacheFile>(padded: Uint8Array, version: T['version']): T {
  // Authenticated as this device's: with this version it has the shape that we write.
  const file: T = JSON.parse(utf8Text(untilPadding(padded)))
  if (file.version === version) return file
  throw otherRelease()
}

/**
 * The value in a binary file, which `decode` reads from the padded plaintext; undefined unless the
 * file is whole and of this device. `decode` throws `upgrade_required` for another release's file.
 */
export function findCacheBytes<T>(
  owner: CacheOwner,
  place: CachePlace,
  decode: (padded: Uint8Array) => T,
): T | undefined {
  return wholeOrNone(() => readCacheBytes(owner, place, decode))
}

/** Durable and atomic: a reader finds the old file or the new one. */
export async function writeCache(
  owner: CacheOwner,
  place: CachePlace,
  file: CacheFile,
): Promise<void> {
  await writeCacheBytes(owner, place, utf8(JSON.stringify(file)))
}

/** `writeCache` for a binary file. */
export async function writeCacheBytes(
  owner: CacheOwner,
  place: CachePlace,
  plaintext: Uint8Array,
): Promise<void> {
  await writeFile(owner, place, sealCache(owner, place, plaintext))
}

async function writeFile(
  { disk }: CacheOwner,
  { path }: PartedPlace,
  bytes: Uint8Array,
): Promise<void> {
  await makeDurableDirectory(disk, dirname(path))
  await atomicWrite(disk, path, bytes)
}

/** Keeps a damaged file under a name that nothing reads. */
export function moveCacheAside({ disk }: CacheOwner, { path }: Pick<CachePlace, 'path'>): void {
  let number = 1
  while (disk.stat(`${path}.damaged-${number}`) !== undefined) number += 1
  disk.rename(path, `${path}.damaged-${number}`)
}

export function sealCache(owner: SealOwner, place: SealPlace, plaintext: Uint8Array): Sealed {
  const keys = keysFor(owner, place)
  return sealEnvelope('cache', keys, contextOf(owner, place), owner.random(32), plaintext)
}

/** The padded plaintext. Throws an envelope code. */
export function openCache(owner: SealOwner, place: SealPlace, bytes: Uint8Array): Uint8Array {
  return openEnvelope('cache', keysFor(owner, place), contextOf(owner, place), bytes)
}

/** The text of a padded plaintext: the envelope is authenticated, so only zeros can follow it. */
export function untilPadding(padded: Uint8Array): Uint8Array {
  const end = padded.indexOf(0)
  return end === -1 ? padded : padded.subarray(0, end)
}

export function otherRelease(): StoreError {
  return new StoreError('upgrade_required', 'A local file was written by another release')
}

function readCacheBytes<T>(
  owner: CacheOwner,
  place: CachePlace,
  decode: (padded: Uint8Array) => T,
): T | undefined {
  const bytes = owner.disk.readFile(place.path)
  if (bytes === undefined) return undefined
  return decode(openCache(owner, place, bytes))
}

/** Returns undefined if `read` throws because a file is damaged or of another device or release. */
function wholeOrNone<T>(read: () => T | undefined): T | undefined {
  try {
    return read()
  } catch (error) {
    if (hasNoValue(error)) return undefined
    throw error
  }
}

/** Whether it was thrown because a file is damaged or of another device or release. */
export function hasNoValue(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false
  return error.code === 'upgrade_required' || error.code.startsWith('envelope_')
}

/**
 * Durable and atomic: a reader finds the old file or the new one. No part is empty.
 */
export async function writeParts(
  owner: CacheOwner,
  place: PartedPlace,
  parts: Iterable<Uint8Array>,
): Promise<void> {
  await writeFile(owner, place, await sealParts(owner, place, parts))
}

/** A file in parts. No part is empty. */
export async function sealParts(
  owner: SealOwner,
  { role }: Pick<PartedPlace, 'role'>,
  parts: Iterable<Uint8Array>,
): Promise<Uint8Array> {
  const id = owner.random(FILE_ID_BYTES)
  const sealed: Uint8Array[] = []
  const slice = new TimeSlice()
  const seal = (part: Uint8Array): void => {
    const generation = sealed.length / 2
    const plaintext = concatBytes(id, lengthOf(part), part)
    const envelope = sealCache(owner, { role, generation }, plaintext)
    sealed.push(lengthOf(envelope), envelope)
  }
  for (const part of parts) {
    seal(part)
    if (slice.isOver()) await slice.next()
  }
  seal(new Uint8Array())
  return concatBytes(...sealed)
}

/** The parts; undefined unless the file is whole and of this device. */
export async function findParts(
  owner: CacheOwner,
  place: PartedPlace,
): Promise<readonly Uint8Array[] | undefined> {
  const bytes = owner.disk.readFile(place.path)
  return bytes && openParts(owner, place, bytes)
}

/** The same of the bytes of a file. */
export async function openParts(
  owner: SealOwner,
  { role }: Pick<PartedPlace, 'role'>,
  bytes: Uint8Array,
): Promise<readonly Uint8Array[] | undefined> {
  const parts = new Parts(owner, role, bytes)
  const found: Uint8Array[] = []
  const slice = new TimeSlice()
  for (;;) {
    const part = wholeOrNone(() => parts.next())
    if (part === undefined) return undefined
    if (part.length === 0) return parts.isAtEnd ? found : undefined
    found.push(part)
    if (slice.isOver()) await slice.next()
  }
}

/** The first part only; the rest of the file is not checked. */
export function openFirstPart(
  owner: SealOwner,
  { role }: Pick<PartedPlace, 'role'>,
  bytes: Uint8Array,
): Uint8Array | undefined {
  const part = wholeOrNone(() => new Parts(owner, role, bytes).next())
  return part?.length === 0 ? undefined : part
}

class Parts {
  readonly #owner: SealOwner
  readonly #role: CacheRole
  readonly #bytes: Uint8Array
  #id: Uint8Array | undefined
  #number = 0
  #at = 0

  constructor(owner: SealOwner, role: CacheRole, bytes: Uint8Array) {
    this.#owner = owner
    this.#role = role
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** The next part; empty for the last one. Throws an envelope code. */
  next(): Uint8Array {
    const generation = this.#number
    const padded = openCache(this.#owner, { role: this.#role, generation }, this.#envelope())
    const id = padded.subarray(0, FILE_ID_BYTES)
    if (this.#id !== undefined && !equalBytes(this.#id, id)) throw damaged()
    this.#id = id
    this.#number += 1
    const start = FILE_ID_BYTES + LENGTH_BYTES
    const end = start + lengthAt(padded, FILE_ID_BYTES)
    // Another release had no length here.
    if (end > padded.length) throw otherRelease()
    return padded.subarray(start, end)
  }

  #envelope(): Uint8Array {
    const start = this.#at + LENGTH_BYTES
    if (start > this.#bytes.length) throw damaged()
    this.#at = start + lengthAt(this.#bytes, this.#at)
    if (this.#at > this.#bytes.length) throw damaged()
    return this.#bytes.subarray(start, this.#at)
  }
}

/** The length of bytes, as a reader that does not know the padding needs it. */
export function lengthOf({ length }: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(LENGTH_BYTES)
  new DataView(bytes.buffer).setUint32(0, length)
  return bytes
}

export function lengthAt(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at)
}

function damaged(): StoreError {
  return new StoreError('envelope_truncated', 'A local file is truncated or mixed from two files')
}

/** Authenticates what this device notes for itself in the directory of a store (FORMAT §4). */
export function journalSecretOf({ localSecret }: Identity): Uint8Array {
  return deriveKey(localSecret, 3, KEYS_CONTEXT)
}

/** The key of the digests of rows in a database (FORMAT §14.6). */
export function rowSecretOf({ localSecret }: Identity): Uint8Array {
  return deriveKey(localSecret, 5, KEYS_CONTEXT)
}

function keysFor(owner: SealOwner, place: SealPlace): EnvelopeKeys {
  const { localSecret } = owner.identity
  const subkey = place.role === 'anchor' || place.role === 'freshness' ? 2 : 1
  return {
    kid: NO_EPOCH,
    key: deriveKey(localSecret, subkey, KEYS_CONTEXT),
    saltKey: deriveKey(localSecret, 4, KEYS_CONTEXT),
  }
}

function contextOf(owner: SealOwner, place: SealPlace): Uint8Array {
  const { storeId, identity } = owner
  return cacheContext(storeId, identity.deviceId, cacheRole[place.role], place.generation)
}
