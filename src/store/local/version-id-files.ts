// The ids of versions between runs, appended to sealed segments of which all but the last are
// whole. The state cache holds how many of them are in the past of its head, with a digest of them,
// so that no id can be missing or out of order.

import { pause } from '../../async.ts'
import { ByteReader, ByteWriter, concatBytes, fromHex, toHex } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { hasCode } from '../../errors.ts'
import type { Records } from '../tables/records.ts'
import {
  type CacheFiles,
  type CachePlace,
  findCacheBytes,
  otherRelease,
  writeCacheBytes,
} from './sealed-cache.ts'

/** The first `count` of the ids in segments. */
export interface KeptIds {
  readonly count: number
  /** 64 hex digits. */
  readonly digest: string
}

export const noIds: KeptIds = { count: 0, digest: '0'.repeat(64) }

const VERSION = 1
const ID_BYTES = 16
const DIGEST_BYTES = 32
/** Ids of a whole segment: a quarter of a mebibyte. */
const SEGMENT = 16_384

/**
 * Passes all kept ids to `show`, some thousands at a time. False if the segments no longer hold
 * them: the ids already shown must then be ignored.
 */
export async function readIds(
  files: CacheFiles,
  kept: KeptIds,
  show: (ids: Uint8Array) => void,
): Promise<boolean> {
  let { digest } = noIds
  for (let start = 0; start < kept.count; start += SEGMENT) {
    const segment = findSegment(files, start, kept.count)
    if (segment?.before !== digest) return false
    digest = digestAfter(segment)
    show(segment.ids)
    await pause(undefined)
  }
  return digest === kept.digest
}

/**
 * Appends ids to the kept ones and overwrites whatever follows these. Undefined, with nothing
 * done, if the segments no longer hold the kept ids.
 */
export async function appendIds(
  files: CacheFiles,
  kept: KeptIds,
  ids: Records,
): Promise<KeptIds | undefined> {
  if (ids.length === 0) return kept
  let start = kept.count - (kept.count % SEGMENT)
  let segment =
    start === kept.count ? emptySegment(kept.digest) : findSegment(files, start, kept.count)
  if (segment === undefined || digestAfter(segment) !== kept.digest) return undefined
  for (let done = 0; ; start += SEGMENT) {
    const end = Math.min(ids.length, done + SEGMENT - segment.ids.length / ID_BYTES)
    segment = { before: segment.before, ids: concatBytes(segment.ids, ids.bytes(done, end)) }
    await writeSegment(files, start, segment)
    const digest = digestAfter(segment)
    if (end === ids.length) return { count: kept.count + end, digest }
    segment = emptySegment(digest)
    done = end
  }
}

/**
 * As bytes: u8 version ‖ digest of all ids before 32 ‖ u32 n ‖ n × id 16. The digest after a
 * segment is H(digest before it ‖ its ids).
 */
interface Segment {
  /** The digest of all ids before. */
  readonly before: string
  readonly ids: Uint8Array
}

function emptySegment(before: string): Segment {
  return { before, ids: new Uint8Array() }
}

function digestAfter({ before, ids }: Segment): string {
  return ids.length === 0 ? before : toHex(hash256(fromHex(before), ids))
}

/** A segment cut to the first `count` ids of all; undefined if it has fewer. */
function findSegment(
  { owner, directory }: CacheFiles,
  start: number,
  count: number,
): Segment | undefined {
  const decode = (padded: Uint8Array): Segment | undefined => {
    const reader = new ByteReader(padded, otherRelease)
    if (reader.u8() !== VERSION) throw otherRelease()
    const before = toHex(reader.raw(DIGEST_BYTES))
    const wanted = Math.min(SEGMENT, count - start)
    return reader.u32() < wanted ? undefined : { before, ids: reader.raw(wanted * ID_BYTES) }
  }
  try {
    return findCacheBytes(owner, placeOf(directory, start), decode)
  } catch (error) {
    if (hasCode(error, 'storage_failed', 'storage_denied')) return undefined
    throw error
  }
}

async function writeSegment(
  { owner, directory }: CacheFiles,
  start: number,
  { before, ids }: Segment,
): Promise<void> {
  const writer = new ByteWriter().u8(VERSION).raw(fromHex(before))
  const bytes = writer
    .u32(ids.length / ID_BYTES)
    .raw(ids)
    .bytes()
  await writeCacheBytes(owner, placeOf(directory, start), bytes)
}

function placeOf(directory: string, start: number): CachePlace {
  return { path: `${directory}/ids-${start}`, role: 'ids', generation: start }
}
