// The texts, paths, clock and randomness of a run: the same in each run and for each contender.

import { createCipheriv, createHash } from 'node:crypto'

const noteBytes = 1024
const [noteBytesMin, noteBytesMax] = [64, 64 * 1024]
const words =
  'agent build cache deploy error file goal history index journal key log memory note open plan ' +
  'query release search task update verify window yes zone because should never always prefers'

/** Bytes derived from the seed alone: AES-256 in counter mode over zeros. */
export function seededRandom(seed: string): (length: number) => Uint8Array {
  const key = createHash('sha256').update(seed).digest()
  const stream = createCipheriv('aes-256-ctr', key, new Uint8Array(16))
  return (length) => new Uint8Array(stream.update(new Uint8Array(length)))
}

/** A whole number below `bound`, as uniform as 32 bits allow. */
export function seededChoice(seed: string): (bound: number) => number {
  const random = seededRandom(seed)
  return (bound) => {
    const four = random(4)
    return new DataView(four.buffer, four.byteOffset, 4).getUint32(0) % bound
  }
}

/** A clock that goes a second further each time it is read, from a fixed date on. */
export function steppedClock(): () => number {
  let now = Date.UTC(2026, 0, 1)
  return () => (now += 1000)
}

/** The line that a replacement changes: always of the same length, once in a text. */
export function revisionLine(revision: number): string {
  return `revision ${String(revision).padStart(8, '0')}`
}

/** What an agent might note: ASCII in lines, of which the first is the revision. */
export function noteText(choose: (bound: number) => number, bytes: number = noteBytes): string {
  const vocabulary = words.split(' ')
  let text = `${revisionLine(0)}\n`
  for (let count = 1; text.length < bytes; count += 1) {
    text += `${vocabulary[choose(vocabulary.length)] ?? ''}${count % 10 === 0 ? '\n' : ' '}`
  }
  return `${text.slice(0, bytes - 1)}\n`
}

/** Bytes of a note, log-normal: the median is 1 kB, and a third is beyond a factor of e. */
export function noteSize(choose: (bound: number) => number): number {
  const [first, second] = [(choose(2 ** 24) + 1) / 2 ** 24, choose(2 ** 24) / 2 ** 24]
  const normal = Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second)
  return Math.min(noteBytesMax, Math.max(noteBytesMin, Math.round(noteBytes * Math.exp(normal))))
}

/** A note that exists, and the revision that its text says. */
export interface Note {
  readonly path: string
  readonly revision: number
}
