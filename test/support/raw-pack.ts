// Packs as streams, put together entry by entry, so that a test can lie about any byte.

import { concatBytes } from '../../src/bytes.ts'
import { gitHash, Sha1 } from '../../src/crypto/sha1.ts'
import {
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  encodePackHeader,
} from '../../src/git/pack/pack-entry.ts'

/** Header, entries and trailer; `count` is the number in the header. */
export function rawPack(entries: readonly Uint8Array[], count: number = entries.length): Buffer {
  return withTrailer(concatBytes(encodePackHeader(count), ...entries))
}

export function withTrailer(body: Uint8Array): Buffer {
  return Buffer.concat([body, new Sha1().update(body).digest()])
}

/** A blob as it is. */
export function blob(text: string): Uint8Array {
  const body = Buffer.from(text)
  return whole('blob', body.length, deflate(body, 1))
}

export function whole(
  type: 'commit' | 'tree' | 'blob' | 'tag',
  size: number,
  deflated: Uint8Array,
): Uint8Array {
  return concatBytes(encodeEntryHeader(type, size), deflated)
}

/** A delta on what starts `distance` bytes before it. */
export function deltaOnOffset(delta: Uint8Array, distance: number): Uint8Array {
  return concatBytes(encodeOffsetDeltaHeader(delta.length, distance), deflate(delta, 1))
}

export function deltaOnOid(delta: Uint8Array, oid: string): Uint8Array {
  const header = encodeEntryHeader('refDelta', delta.length)
  return concatBytes(header, Buffer.from(oid, 'hex'), deflate(delta, 1))
}

export function blobOid(text: string): string {
  return gitHash('blob', Buffer.from(text))
}

/** In chunks of `size` bytes. */
export async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
