// A cache in parts is read whole or not at all, for any change of its bytes.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import {
  type CacheOwner,
  findParts,
  openFirstPart,
  type PartedPlace,
  sealCache,
  writeParts,
} from '../../../src/store/local/sealed-cache.ts'
import { TimeSlice } from '../../../src/time-slice.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { inSlices } from '../../support/turns.ts'

/** With zeros at the end, which are no padding. */
const values = Array.from({ length: 6 }, (_, n) => new Uint8Array(1 + n * 100).fill(n, 0, n * 50))
let owner: CacheOwner
let place: PartedPlace

beforeEach(async () => {
  const identity = await generateIdentity()
  owner = { disk: systemDisk, storeId: '11'.repeat(16), identity, random: systemRandom }
  place = { path: `${temporaryDirectory()}/cache/state`, role: 'state' }
})

/** The parts of the file, each with its length. */
function partsOf(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(at)
    parts.push(bytes.subarray(at, end))
    at = end
  }
  return parts
}

function read(): Uint8Array {
  return systemDisk.readFile(place.path) ?? new Uint8Array()
}

function write(parts: readonly Uint8Array[]): void {
  writeFileSync(place.path, Buffer.concat(parts))
}

test('the values come back, in their order', async () => {
  expect(await findParts(owner, place)).toBeUndefined()
  await writeParts(owner, place, values)
  expect(await findParts(owner, place)).toEqual(values)
  expect(partsOf(read())).toHaveLength(values.length + 1)
  await writeParts(owner, place, [])
  expect(await findParts(owner, place)).toEqual([])
})

test('every part that is missing, repeated, moved or of another file is detected', async () => {
  await writeParts(owner, place, values)
  const other = partsOf(read())
  await writeParts(owner, place, values)
  const parts = partsOf(read())
  for (const [n, part] of parts.entries()) {
    const variants = [
      parts.toSpliced(n, 1),
      parts.toSpliced(n, 0, part),
      parts.toSpliced(n, 1, other[n] ?? part),
      [...parts.toSpliced(n, 1), part],
      parts.slice(0, n),
    ]
    for (const variant of variants.filter((one) => one.some((each, at) => each !== parts[at]))) {
      write(variant)
      expect(await findParts(owner, place)).toBeUndefined()
    }
    write(parts.slice(0, n))
    expect(await findParts(owner, place)).toBeUndefined()
  }
  write([...parts, ...parts])
  expect(await findParts(owner, place)).toBeUndefined()
  write(parts)
  expect(await findParts(owner, place)).toEqual(values)
})

test('every truncation and many flipped bytes are detected', async () => {
  await writeParts(owner, place, values.slice(0, 2))
  const whole = read()
  for (let end = 0; end < whole.length; end += 29) {
    write([whole.subarray(0, end)])
    expect(await findParts(owner, place)).toBeUndefined()
  }
  for (let at = 0; at < whole.length; at += 37) {
    write([whole.map((byte, n) => (n === at ? byte ^ 0x40 : byte))])
    expect(await findParts(owner, place)).toBeUndefined()
  }
})

test('another device, store or kind of file cannot read it', async () => {
  await writeParts(owner, place, values)
  const stranger = { ...owner, identity: await generateIdentity() }
  expect(await findParts(stranger, place)).toBeUndefined()
  expect(await findParts({ ...owner, storeId: '22'.repeat(16) }, place)).toBeUndefined()
  expect(await findParts(owner, { ...place, role: 'reads' })).toBeUndefined()
})

test('a file of a release that wrote no lengths is not read', async () => {
  for (const text of ['{"version":4,"head":{}}', '']) {
    const plaintext = Buffer.concat([systemRandom(16), utf8(text)])
    const envelope = sealCache(owner, { ...place, generation: 0 }, plaintext)
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, envelope.length)
    mkdirSync(dirname(place.path), { recursive: true })
    write([length, envelope])
    expect(await findParts(owner, place)).toEqual(text === '' ? [] : undefined)
    expect(openFirstPart(owner, place, readFileSync(place.path))).toBeUndefined()
  }
})

test('each part is sealed, and opened, in a separate slice', async () => {
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  await inSlices(() => writeParts(owner, place, values))
  expect(next).toHaveBeenCalledTimes(values.length)
  next.mockClear()
  await inSlices(() => findParts(owner, place))
  expect(next).toHaveBeenCalledTimes(values.length)
  next.mockRestore()
})
