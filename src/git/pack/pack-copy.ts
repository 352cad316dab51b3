// Copies entries of several packs into a new one, for a push or an erasure. Entries are copied as
// stored; only the distance to a base changes, and a delta without its base is encoded again. Never
// yields a delta before its base.

import { makeDelta } from './delta.ts'
import type { MultiPack } from './multi-pack.ts'
import {
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  packHeaderBytes,
} from './pack-entry.ts'

/** Views that are valid until the next entry. */
export interface CopiedEntry {
  /** The number of the object in the source. */
  readonly number: number
  readonly header: Uint8Array
  readonly deflated: Uint8Array
}

/** The chosen entries of the source, in its order, as they follow the header of a new pack. */
export function* copyEntries(
  source: MultiPack,
  isChosen: (number: number) => boolean,
): Generator<CopiedEntry> {
  /** The offset of each entry in the new pack. */
  const placed = new Float64Array(source.end).fill(NaN)
  let at = packHeaderBytes
  for (let number = 0; number < source.end; number += 1) {
    if (!isChosen(number)) continue
    const entry = copyEntry(source, number, { at, placed })
    placed[number] = at
    at += entry.header.length + entry.deflated.length
    yield entry
  }
}

interface CopyPlace {
  readonly at: number
  readonly placed: Float64Array
}

function copyEntry(source: MultiPack, number: number, { at, placed }: CopyPlace): CopiedEntry {
  const { header, headerBytes, deflated } = source.entry(number)
  const stored = { number, header: headerBytes, deflated }
  if (header.type !== 'offsetDelta' && header.type !== 'refDelta') return stored
  const base = source.baseOf(number, header)
  const distance = base === undefined ? NaN : at - (placed[base] ?? NaN)
  if (distance === header.distance) return stored
  if (Number.isNaN(distance)) return encodeAgain(source, number, { at, placed })
  return { number, header: encodeOffsetDeltaHeader(header.size, distance), deflated }
}

/** Encodes an object as a delta on the next base in its chain that was copied, or whole. */
function encodeAgain(source: MultiPack, number: number, { at, placed }: CopyPlace): CopiedEntry {
  const { type, body } = source.read(number)
  let base: number | undefined = number
  while (base !== undefined && Number.isNaN(placed[base])) {
    base = source.baseOf(base, source.entry(base).header)
  }
  if (base !== undefined) {
    const delta = makeDelta(source.read(base).body, body)
    if (delta.length * 2 < body.length) {
      const header = encodeOffsetDeltaHeader(delta.length, at - (placed[base] ?? NaN))
      return { number, header, deflated: deflate(delta, 1) }
    }
  }
  const header = encodeEntryHeader(type, body.length)
  return { number, header, deflated: deflate(body, type === 'blob' ? 0 : 1) }
}
