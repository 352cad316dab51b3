// Damage to bytes: what a bad disk, a bad line and a bad neighbour do to them.

import * as fc from 'fast-check'
import { concatBytes } from '../../src/bytes.ts'

type Damage = (bytes: Uint8Array) => Uint8Array

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const at = (bytes: Uint8Array, where: number): number => Math.floor(where * bytes.length)
/** Early bytes are counts, lengths and versions: they get half of the attention. */
const somewhere = fc.oneof(
  place,
  place.map((where) => where ** 6),
)

const overwrite: fc.Arbitrary<Damage> = fc
  .tuple(
    somewhere,
    fc.oneof(
      fc.constantFrom(0, 1, 2, 0x0a, 0x20, 0x7f, 0x80, 0xff),
      fc.integer({ min: 0, max: 255 }),
    ),
  )
  .map(
    ([where, value]) =>
      (bytes) =>
        bytes.length === 0 ? bytes : bytes.with(at(bytes, where), value),
  )

const flip: fc.Arbitrary<Damage> = fc
  .tuple(somewhere, fc.integer({ min: 0, max: 7 }))
  .map(([where, bit]) => (bytes) => {
    if (bytes.length === 0) return bytes
    const index = at(bytes, where)
    return bytes.with(index, (bytes[index] ?? 0) ^ (1 << bit))
  })

const cut: fc.Arbitrary<Damage> = somewhere.map(
  (where) => (bytes) => bytes.slice(0, at(bytes, where)),
)

const insert: fc.Arbitrary<Damage> = fc
  .tuple(somewhere, fc.uint8Array({ minLength: 1, maxLength: 8 }))
  .map(([where, added]) => (bytes) => {
    const index = at(bytes, where)
    return concatBytes(bytes.subarray(0, index), added, bytes.subarray(index))
  })

const remove: fc.Arbitrary<Damage> = fc
  .tuple(somewhere, fc.integer({ min: 1, max: 8 }))
  .map(([where, length]) => (bytes) => {
    const index = at(bytes, where)
    return concatBytes(bytes.subarray(0, index), bytes.subarray(index + length))
  })

const repeat: fc.Arbitrary<Damage> = fc
  .tuple(somewhere, fc.integer({ min: 1, max: 80 }))
  .map(([where, length]) => (bytes) => {
    const index = at(bytes, where)
    return concatBytes(bytes.subarray(0, index + length), bytes.subarray(index))
  })

const lengthen: fc.Arbitrary<Damage> = fc
  .constantFrom(1, 256, 512)
  .map((length) => (bytes) => concatBytes(bytes, new Uint8Array(length)))

/** The bytes with one to three damages; seldom, they come out as they were. */
export function mutated(bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const damage = fc.oneof(overwrite, flip, cut, insert, remove, repeat, lengthen)
  return fc
    .tuple(bytes, fc.array(damage, { minLength: 1, maxLength: 3 }))
    .map(([before, damages]) => damages.reduce((all, change) => change(all), before))
}
