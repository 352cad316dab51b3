// Git's delta format (gitformat-pack, "Deltified representation"): a target as copies from a base
// and literal inserts. Pure. `applyDelta` reads hostile bytes: it allocates nothing before the
// declared size is checked and never reads outside the base.

import { concatBytes } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { objectBytesMax } from '../../limits.ts'

// The longest copy that git itself writes.
const copyMax = 0x1_0000
const insertMax = 127
/** Two bytes of a delta can be an instruction, which takes as long as copying these bytes. */
const instructionWork = 16
/** A copy between two inserts costs up to five bytes, and the second insert one more. */
const runMin = 8
/** The weights of a number's bytes, lowest first; computing powers would take longer. */
const byteScales = [1, 2 ** 8, 2 ** 16, 2 ** 24] as const

/** Applies a delta to its base. Throws `pack_corrupt`. */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array {
  const source = readSize(delta, 0)
  const target = readSize(delta, source.end)
  if (source.size !== base.length) throw corrupt('a delta was made for a base of another size')
  if (target.size > objectBytesMax) throw corrupt('a delta makes an object above the size limit')
  const result = new Uint8Array(target.size)
  let at = target.end
  let filled = 0
  while (at < delta.length) {
    const instruction = readInstruction(delta, at)
    const from = instruction.copy ? base : delta
    if (instruction.start + instruction.length > from.length)
      throw corrupt('a delta reads past its source')
    if (filled + instruction.length > result.length) throw corrupt('a delta overfills its target')
    result.set(from.subarray(instruction.start, instruction.start + instruction.length), filled)
    filled += instruction.length
    at = instruction.end
  }
  if (filled !== result.length) throw corrupt('a delta does not fill its target')
  return result
}

/** The size of what a delta makes. Throws `pack_corrupt`. */
export function targetSize(delta: Uint8Array): number {
  return readSize(delta, readSize(delta, 0).end).size
}

/** What applying a delta costs, in copied bytes. Throws `pack_corrupt`. */
export function deltaWork(delta: Uint8Array): number {
  return targetSize(delta) + instructionWork * delta.length
}

/**
 * Makes a delta between two versions of a tree or two commits: common bytes at the start, at the
 * end, and between them at equal offsets are copied, the rest is inserted. Trees of a store differ
 * in a few oids and commits in a few fields, so a longer search would find nothing.
 */
export function makeDelta(base: Uint8Array, target: Uint8Array): Uint8Array {
  const shorter = Math.min(base.length, target.length)
  let prefix = 0
  while (prefix < shorter && base[prefix] === target[prefix]) prefix += 1
  let suffix = 0
  while (
    suffix < shorter - prefix &&
    base[base.length - 1 - suffix] === target[target.length - 1 - suffix]
  ) {
    suffix += 1
  }
  return concatBytes(
    encodeSize(base.length),
    encodeSize(target.length),
    ...encodeCopy(0, prefix),
    ...encodeMiddle(base, target, { start: prefix, suffix }),
    ...encodeCopy(base.length - suffix, suffix),
  )
}

function encodeMiddle(
  base: Uint8Array,
  target: Uint8Array,
  { start, suffix }: { readonly start: number; readonly suffix: number },
): Uint8Array[] {
  const instructions: Uint8Array[] = []
  const end = Math.min(base.length, target.length) - suffix
  let inserted = start
  for (let at = start; at < end; at += 1) {
    const from = at
    while (at < end && base[at] === target[at]) at += 1
    if (at - from < runMin) continue
    instructions.push(...encodeInsert(target.subarray(inserted, from)))
    instructions.push(...encodeCopy(from, at - from))
    inserted = at
  }
  return [...instructions, ...encodeInsert(target.subarray(inserted, target.length - suffix))]
}

interface Instruction {
  readonly copy: boolean
  /** The offset in the base for a copy, else in the delta. */
  readonly start: number
  readonly length: number
  readonly end: number
}

function readInstruction(delta: Uint8Array, at: number): Instruction {
  const opcode = delta[at] ?? 0
  if (opcode === 0) throw corrupt('a delta uses the reserved instruction')
  if (opcode < 0x80) {
    return { copy: false, start: at + 1, length: opcode, end: at + 1 + opcode }
  }
  let end = at + 1
  let start = 0
  let length = 0
  for (let bit = 0; bit < 7; bit += 1) {
    if ((opcode & (1 << bit)) === 0) continue
    const byte = delta[end]
    if (byte === undefined) throw corrupt('a delta ends inside an instruction')
    if (bit < 4) start += byte * (byteScales[bit] ?? 0)
    else length += byte * (byteScales[bit - 4] ?? 0)
    end += 1
  }
  return { copy: true, start, length: length === 0 ? 0x1_0000 : length, end }
}

function readSize(delta: Uint8Array, at: number): { size: number; end: number } {
  let size = 0
  let scale = 1
  // Six groups of seven bits: far above the limit, and still an exact number.
  for (let group = 0; group < 6; group += 1, scale *= 128) {
    const byte = delta[at + group]
    if (byte === undefined) throw corrupt('a delta ends inside its header')
    size += (byte & 0x7f) * scale
    if (byte < 0x80) return { size, end: at + group + 1 }
  }
  throw corrupt('a delta declares an absurd size')
}

function encodeSize(size: number): Uint8Array {
  const bytes: number[] = []
  let rest = size
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return Uint8Array.of(...bytes, rest)
}

function encodeCopy(start: number, length: number): Uint8Array[] {
  const instructions: Uint8Array[] = []
  for (let done = 0; done < length; done += copyMax) {
    instructions.push(encodeCopyOnce(start + done, Math.min(copyMax, length - done)))
  }
  return instructions
}

/** Omits zero bytes, as the format does; a length of 2^16 is encoded as 0. */
function encodeCopyOnce(start: number, length: number): Uint8Array {
  const written = length === 0x1_0000 ? 0 : length
  const fields = [start, start >>> 8, start >>> 16, start >>> 24]
  fields.push(written, written >>> 8, written >>> 16)
  let opcode = 0x80
  const bytes: number[] = []
  for (const [bit, field] of fields.entries()) {
    if ((field & 0xff) === 0) continue
    opcode |= 1 << bit
    bytes.push(field & 0xff)
  }
  return Uint8Array.of(opcode, ...bytes)
}

function encodeInsert(literal: Uint8Array): Uint8Array[] {
  const instructions: Uint8Array[] = []
  for (let at = 0; at < literal.length; at += insertMax) {
    const part = literal.subarray(at, at + insertMax)
    instructions.push(Uint8Array.of(part.length), part)
  }
  return instructions
}

function corrupt(problem: string): StoreError {
  return new StoreError('pack_corrupt', `A pack is damaged: ${problem}`)
}
