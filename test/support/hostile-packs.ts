// Packs that an attacker without a key makes to cost others work: chains, fans, copies of one base,
// bombs, circles and mixtures, small in bytes and reproducible.

import * as fc from 'fast-check'
import { concatBytes } from '../../src/bytes.ts'
import { gitHash } from '../../src/crypto/sha1.ts'
import { deflate } from '../../src/git/pack/pack-entry.ts'
import type { PackBytes } from '../../src/git/pack/pack-scan.ts'
import { deltaOnOffset, deltaOnOid, rawPack, whole } from './raw-pack.ts'

/** A whole object, or a delta on an entry of the same list or on any oid. */
export type HostileEntry =
  | { readonly type: 'commit' | 'tree' | 'blob'; readonly body: Uint8Array }
  | { readonly base: number | string; readonly delta: Uint8Array }

/** The number as git's deltas declare sizes. */
function sized(size: number): Uint8Array {
  const bytes: number[] = []
  let rest = size
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Uint8Array.of(...bytes, rest)
}

/** Copies the base up to its last four bytes, and puts `mark` there. `size` is below 65,536. */
function changed(size: number, mark: number): Uint8Array {
  const kept = size - 4
  const copy = Uint8Array.of(0xb0, kept & 0xff, kept >> 8)
  const end = Buffer.alloc(4)
  end.writeUInt32BE(mark)
  return concatBytes(sized(size), sized(size), copy, Uint8Array.of(4), end)
}

/** Copies the whole base `times` times. `size` is below 65,536. */
function repeated(size: number, times: number): Uint8Array {
  const copy = Uint8Array.of(0xb0, size & 0xff, size >> 8)
  return concatBytes(sized(size), sized(size * times), ...Array<Uint8Array>(times).fill(copy))
}

function filled(size: number, mark = 0): Uint8Array {
  const body = Buffer.alloc(size)
  body.writeUInt32BE(mark, size - 4)
  return body
}

/** Each delta builds on the one before. */
export function chain(length: number, size: number): readonly HostileEntry[] {
  const deltas = Array.from({ length }, (_, n) => ({ base: n, delta: changed(size, n + 1) }))
  return [{ type: 'commit', body: filled(size) }, ...deltas]
}

/** Every delta builds on the first entry. */
export function fan(width: number, size: number): readonly HostileEntry[] {
  const deltas = Array.from({ length: width }, (_, n) => ({ base: 0, delta: changed(size, n + 1) }))
  return [{ type: 'tree', body: filled(size) }, ...deltas]
}

/** One object several times, and deltas that name it. */
export function copies(times: number, deltas: number, size: number): readonly HostileEntry[] {
  const body = filled(size)
  const base = gitHash('blob', body)
  return [
    ...Array.from({ length: times }, () => ({ type: 'blob', body }) as const),
    ...Array.from({ length: deltas }, (_, n) => ({ base, delta: changed(size, n + 1) })),
  ]
}

/** Zeros, which deflate to a thousandth, and deltas that repeat them. */
function bomb(times: number, size: number): readonly HostileEntry[] {
  const bodies = Array.from({ length: times }, (_, n) => filled(size * 16, n))
  const deltas = Array.from({ length: times }, (_, n) => ({
    base: times,
    delta: repeated(size, 100 + n),
  }))
  return [
    ...bodies.map((body) => ({ type: 'blob', body }) as const),
    { type: 'blob', body: filled(size, 1) },
    ...deltas,
  ]
}

/** Deltas whose bases are in no pack, or are each other. */
function circle(length: number, size: number): readonly HostileEntry[] {
  return Array.from({ length }, (_, n) => {
    const base = gitHash('blob', filled(size, (n + 1) % length))
    return { base, delta: changed(size, n) }
  })
}

/** A pack of these entries; a base that does not come earlier is named by an oid of nothing. */
export function packOf(entries: readonly HostileEntry[]): Uint8Array {
  const starts: number[] = []
  const encoded: Uint8Array[] = []
  let at = 0
  for (const entry of entries) {
    starts.push(at)
    const bytes = encode(entry, at, starts)
    encoded.push(bytes)
    at += bytes.length
  }
  return rawPack(encoded)
}

function encode(entry: HostileEntry, at: number, starts: readonly number[]): Uint8Array {
  if ('type' in entry) return whole(entry.type, entry.body.length, deflate(entry.body, 1))
  const { base, delta } = entry
  if (typeof base === 'string') return deltaOnOid(delta, base)
  const start = starts[base] ?? at
  return start < at ? deltaOnOffset(delta, at - start) : deltaOnOid(delta, 'e'.repeat(40))
}

const size = fc.oneof(fc.integer({ min: 8, max: 200 }), fc.integer({ min: 8, max: 60_000 }))
const few = fc.integer({ min: 1, max: 12 })
const many = fc.integer({ min: 1, max: 600 })
const one = fc.oneof(
  fc.tuple(many, size).map(([length, bytes]) => chain(length, bytes)),
  fc.tuple(many, size).map(([width, bytes]) => fan(width, bytes)),
  fc.tuple(few, few, size).map(([times, deltas, bytes]) => copies(times, deltas, bytes)),
  fc.tuple(few, size).map(([times, bytes]) => bomb(times, bytes)),
  fc.tuple(few, size).map(([length, bytes]) => circle(length, bytes)),
)

/** Entries of several kinds in one order; the bases of the later ones are shifted with them. */
const mixed = fc.array(one, { minLength: 2, maxLength: 4 }).map((parts) => {
  const all: HostileEntry[] = []
  for (const part of parts) {
    const start = all.length
    for (const entry of part) {
      const base = 'base' in entry ? entry.base : ''
      all.push(typeof base === 'number' ? { ...entry, base: base + start } : entry)
    }
  }
  return all
})

export const hostileEntries: fc.Arbitrary<readonly HostileEntry[]> = fc.oneof(
  { arbitrary: one, weight: 2 },
  { arbitrary: mixed, weight: 1 },
)

/** A pack as it is checked, without a file. */
export function inRam(pack: Uint8Array): PackBytes {
  return {
    size: pack.length,
    read(into, position) {
      const part = pack.subarray(position, position + into.length)
      into.set(part)
      return part.length
    },
  }
}
