// Memory blobs (FORMAT §5): the current version of one memory, as stored in the tree of a commit.
// The tree of the head suffices to read a store.

import { ByteReader, ByteWriter, equalBytes, fromHex, toHex, utf8, utf8Text } from '../bytes.ts'
import { sha256 as sha256Of } from '../crypto/digest.ts'
import { assert, StoreError } from '../errors.ts'
import { contentBytesFormatMax, pathBytesMax } from '../limits.ts'
import { checkPadding } from './envelope.ts'
import { decodePath } from './path.ts'
import { newerRelease } from './public-files.ts'

export interface MemoryBlob {
  readonly path: string
  readonly content: string
  /** The id of this version, in hex. */
  readonly versionId: string
  /** When the memory was first created, in milliseconds since 1970. */
  readonly created: number
  /** SHA-256 of the content's UTF-8 bytes. */
  readonly sha256: Uint8Array
}

const VERSION = 1
/** Contents are not compressed: their size would tell what repeats in them (decision 33). */
const UNCOMPRESSED = 0

/** The unpadded plaintext; the planner of the change has checked the fields. */
export function encodeMemoryBlob(memory: MemoryBlob): Uint8Array {
  const path = utf8(memory.path)
  const content = utf8(memory.content)
  assert(path.length <= pathBytesMax && content.length <= contentBytesFormatMax, 'checked before')
  return new ByteWriter()
    .u8(VERSION)
    .u8(UNCOMPRESSED)
    .u16(path.length)
    .u32(content.length)
    .raw(fromHex(memory.versionId))
    .u64(memory.created)
    .raw(memory.sha256)
    .raw(path)
    .raw(content)
    .bytes()
}

/**
 * Decodes a padded plaintext. Throws `memory_malformed`, `upgrade_required`, `envelope_padding`.
 */
export function decodeMemoryBlob(padded: Uint8Array): MemoryBlob {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== VERSION || reader.u8() !== UNCOMPRESSED) {
    throw newerRelease('a memory')
  }
  const pathLength = reader.u16()
  const contentLength = reader.u32()
  if (contentLength > contentBytesFormatMax) throw malformed('its content is too large')
  const versionId = toHex(reader.raw(16))
  const created = reader.u64()
  const sha256 = reader.raw(32)
  const path = decodePath(reader.raw(pathLength), () => malformed('its path is not allowed'))
  const content = readContent(reader.raw(contentLength), sha256)
  checkPadding('memory', padded, reader.offset)
  return { path, content, versionId, created, sha256 }
}

function readContent(bytes: Uint8Array, sha256: Uint8Array): string {
  if (!equalBytes(sha256Of(bytes), sha256)) throw malformed('its content has another hash')
  if (bytes.includes(0)) throw malformed('its content has a NUL character')
  try {
    return utf8Text(bytes)
  } catch {
    throw malformed('its content is not UTF-8')
  }
}

function malformed(problem: string): StoreError {
  return new StoreError('memory_malformed', `A memory is malformed: ${problem}`)
}
