// FORMAT §5: the plaintext of a memory blob.

import { concat, fromHex, Reader, toHex, u16, u32, u64, u8, utf8, utf8Text } from './bytes.ts'
import { checkPadding } from './envelope.ts'
import { sha256 } from './hash.ts'
import { checkPath } from './path.ts'
import { ensure } from './refusal.ts'

const contentBytesMax = 16 * 1024 * 1024

export interface MemoryBlob {
  readonly path: string
  readonly content: string
  readonly versionId: string
  /** Milliseconds since 1970. */
  readonly created: number
  /** Hex. */
  readonly sha256: string
}

/** The plaintext, before padding. */
export function encodeMemoryBlob(blob: MemoryBlob): Uint8Array {
  const [path, content] = [utf8(blob.path), utf8(blob.content)]
  const lengths = concat(u8(1), u8(0), u16(path.length), u32(content.length))
  const facts = concat(fromHex(blob.versionId), u64(blob.created), fromHex(blob.sha256))
  return concat(lengths, facts, path, content)
}

/** Padded plaintext to blob; else `memory_malformed` or `envelope_padding`. */
export function decodeMemoryBlob(padded: Uint8Array): MemoryBlob {
  const reader = new Reader(padded, 'memory_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The memory blob has another version')
  ensure(reader.u8() === 0, 'upgrade_required', 'The compression is unknown')
  const pathLength = reader.u16()
  const contentLength = reader.u32()
  ensure(contentLength <= contentBytesMax, 'memory_malformed', 'The content is above 16 MiB')
  const versionId = reader.hex(16)
  const created = reader.u64()
  const hash = reader.hex(32)
  const path = utf8Text(reader.raw(pathLength), 'memory_malformed')
  const bytes = reader.raw(contentLength)
  checkPadding('memory', padded, reader.offset)
  checkPath(path, 'memory_malformed')
  ensure(!bytes.includes(0), 'memory_malformed', 'The content has a NUL')
  ensure(toHex(sha256(bytes)) === hash, 'memory_malformed', 'The SHA-256 is not the content’s')
  const content = utf8Text(bytes, 'memory_malformed')
  return { path, content, versionId, created, sha256: hash }
}
