// How a vector of a plaintext is made: padded as its type is, and then spoiled.

import { concatBytes, toHex } from '../../../src/bytes.ts'
import type { EnvelopeType } from '../../../src/format/envelope.ts'
import { pad, put, type Spoil } from '../../support/forge-seal.ts'
import type { Vector } from '../vector.ts'

export interface Plain {
  readonly type: EnvelopeType
  readonly clause: string
  readonly plaintext: Uint8Array
}

const keep: Spoil = (bytes) => bytes

export function plain(one: Plain, expect: string, name: string, spoil: Spoil = keep): Vector {
  const padded = toHex(spoil(pad(one.type, one.plaintext)))
  return { name, clause: one.clause, expect, padded }
}

function more(count: number): Spoil {
  return (bytes) => concatBytes(bytes, new Uint8Array(count))
}

/** The faults of padding, which every type has. */
export function padding(one: Plain): readonly Vector[] {
  return [
    plain(one, 'envelope_padding', 'the last byte of the padding', (b) => put(b.length - 1, 1)(b)),
    plain(one, 'envelope_padding', 'the first byte of the padding', put(one.plaintext.length, 1)),
    plain(one, 'envelope_padding', 'a byte of padding more', more(1)),
    plain(one, 'envelope_padding', '256 bytes of padding more', more(256)),
    plain(one, 'envelope_padding', 'no padding', () => one.plaintext),
  ]
}
