// The forge's bench: deterministic randomness, envelopes whose every step can be spoiled, and git
// trees that no store would write. Uses the product's cryptography and none of its checks.

import { concatBytes, fromHex, toHex, utf8 } from '../../src/bytes.ts'
import { deriveSalt, sealBytes } from '../../src/crypto/aead.ts'
import { hash256 } from '../../src/crypto/digest.ts'
import type { Random } from '../../src/crypto/random.ts'
import { type EnvelopeKeys, type EnvelopeType, paddedLength } from '../../src/format/envelope.ts'
import type { Oid } from '../../src/git/objects/object.ts'

/** Changes bytes on their way; the result takes the place of the argument. */
export type Spoil = (bytes: Uint8Array) => Uint8Array

/** What to spoil of one envelope, in the order in which it is made. */
export interface SealFault {
  /** The padded plaintext. */
  readonly padded?: Spoil
  readonly salt?: Spoil
  readonly header?: Spoil
  /** The whole envelope. */
  readonly envelope?: Spoil
}

export interface SealParts {
  readonly type: EnvelopeType
  readonly keys: EnvelopeKeys
  readonly context: Uint8Array
  readonly hedge: Uint8Array
  readonly plaintext: Uint8Array
}

const typeNumbers: Readonly<Record<EnvelopeType, number>> = {
  record: 1,
  memory: 2,
  detail: 3,
  settings: 4,
  slot: 5,
  cache: 6,
  directory: 7,
  archive: 8,
  wrap: 9,
  baseline: 10,
}

const keep: Spoil = (bytes) => bytes

export function seal(parts: SealParts, fault: SealFault = {}): Uint8Array {
  const { type, keys, context, hedge, plaintext } = parts
  const number = typeNumbers[type]
  const padded = (fault.padded ?? keep)(pad(type, plaintext))
  const honest = Uint8Array.of(1, number, 0, 0)
  const header = (fault.header ?? keep)(concatBytes(utf8('GLK1'), honest, fromHex(keys.kid)))
  const derived = deriveSalt({
    saltKey: keys.saltKey,
    type: number,
    context,
    hedge,
    plaintext: padded,
  })
  const salt = (fault.salt ?? keep)(derived)
  const envelope = sealBytes({ header, salt, key: keys.key, context, plaintext: padded })
  return (fault.envelope ?? keep)(envelope)
}

export function pad(type: EnvelopeType, plaintext: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength(type, plaintext.length))
  padded.set(plaintext)
  return padded
}

/** Bytes that look random and are the same in every run: a hash of the name and a counter. */
export function countingRandom(name: string): Random {
  let counter = 0
  return (length) => {
    const blocks: Uint8Array[] = []
    for (let have = 0; have < length; have += 32) {
      counter += 1
      blocks.push(hash256(utf8(`${name} ${counter}`)))
    }
    return concatBytes(...blocks).slice(0, length)
  }
}

/** A spoiler that flips one bit, counted from the first bit of the first byte. */
export function flipBit(bit: number): Spoil {
  return (bytes) => {
    const copy = bytes.slice()
    const at = bit >>> 3
    copy[at] = (copy[at] ?? 0) ^ (0x80 >>> (bit & 7))
    return copy
  }
}

/** A spoiler that overwrites bytes. */
export function put(offset: number, ...values: readonly number[]): Spoil {
  return (bytes) => {
    const copy = bytes.slice()
    copy.set(values, offset)
    return copy
  }
}

/** An entry that need not be one that a store writes. */
export interface RawEntry {
  readonly mode: string
  readonly name: string
  readonly oid: Oid
}

/** The body of a tree in the order given: what git's order is, is the caller's business. */
export function encodeRawTree(entries: readonly RawEntry[]): Uint8Array {
  return concatBytes(
    ...entries.map(({ mode, name, oid }) => concatBytes(utf8(`${mode} ${name}\0`), fromHex(oid))),
  )
}

export function inGitOrder(entries: readonly RawEntry[]): readonly RawEntry[] {
  const key = ({ mode, name }: RawEntry) => (mode === '40000' ? `${name}/` : name)
  return entries.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** A different text of hex digits for each name. */
export function idOf(name: string): string {
  return toHex(hash256(utf8(name))).slice(0, 32)
}
