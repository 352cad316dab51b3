// Both decoders on changed bytes: what the vectors accept, with a few bytes or characters changed,
// is accepted by both with one result or refused by both. Baselines and wraps are sealed and signed
// again after the change, as a granter could, so that the change is read.

import { expect, test } from 'vitest'
import { fromHex, toHex } from '../../src/bytes.ts'
import { full, seed } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'
import { judges } from '../vectors/judges.ts'
import { mutatedBaseline } from '../vectors/make/baselines.ts'
import { mutatedWraps } from '../vectors/make/grants.ts'
import { type Group, readVectors, type Vector } from '../vectors/vector.ts'

const count = Number(process.env['MUTATIONS'] ?? (full ? 100_000 : 200))

/** A small generator, so that a failure is found again by its seed. */
function numbers(start: number): (below: number) => number {
  let state = (start * 2_654_435_761) >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

type Pick = (below: number) => number

/** One to three changes: a bit, a byte, a number of 32 bits, a part moved, cut or repeated. */
function mutated(bytes: Uint8Array, pick: Pick): Uint8Array {
  let now = new Uint8Array(bytes)
  for (let left = 1 + pick(3); left > 0 && now.length > 0; left -= 1) {
    const at = pick(now.length)
    const length = 1 + pick(Math.min(64, now.length - at))
    const part = now.slice(at, at + length)
    const kind = pick(6)
    if (kind === 0) now[at] = (now[at] ?? 0) ^ (1 << pick(8))
    else if (kind === 1) now[at] = pick(256)
    else if (kind === 2) now.set([0, 0, 0, pick(4)].slice(0, now.length - at), at)
    else if (kind === 3) now = Uint8Array.from([...now.slice(0, at), ...now.slice(at + length)])
    else if (kind === 4) now = Uint8Array.from([...now.slice(0, at), ...part, ...now.slice(at)])
    else now.set(part, pick(now.length - length + 1))
  }
  return now
}

function mutatedText(text: string, pick: Pick): string {
  const all = Array.from(text)
  for (let left = 1 + pick(3); left > 0; left -= 1) {
    const at = pick(all.length + 1)
    const other =
      pick(3) === 0 ? String.fromCodePoint(1 + pick(0x3000)) : (all[pick(all.length)] ?? 'a')
    all.splice(at, pick(2), ...(pick(3) === 0 ? [] : [other]))
  }
  return all.join('')
}

/** How a vector of a group is changed. */
const changes: [Group, (vector: Vector, pick: Pick) => Vector][] = [
  ['records', padded],
  ['directories', padded],
  ['settings', padded],
  ['memories', padded],
  ['details', padded],
  ['addresses', texts],
  ['grant-texts', texts],
  ['paths', texts],
  ['store-files', texts],
  ['wraps', (vector, pick) => mutatedWraps(vector, (bytes) => mutated(bytes, pick))],
  ['baselines', (vector, pick) => mutatedBaseline(vector, (bytes) => mutated(bytes, pick))],
]

function padded(vector: Vector, pick: Pick): Vector {
  return { ...vector, padded: toHex(mutated(fromHex(vector['padded'] ?? ''), pick)) }
}

function texts(vector: Vector, pick: Pick): Vector {
  return { ...vector, text: mutatedText(vector['text'] ?? '', pick) }
}

test.each(changes)('both decoders judge changed %s alike', async (group, change) => {
  const { product, reference } = judges[group]
  const accepted = readVectors(group).filter((vector) => vector['expect'] === 'accepted')
  const pick = numbers(seed + group.length * 7919)
  for (let run = 0; run < count; run += 1) {
    const vector = accepted[pick(accepted.length)]
    const other = vector && change(vector, pick)
    if (other === undefined) throw new Error('a group has accepted vectors')
    const read: unknown[] = []
    const says = await Promise.all(
      [product, reference].map((judge) =>
        verdictOf(async () => read.push(await judge(other, new Map()))),
      ),
    )
    const [one, two] = says.map((verdict) => verdict === 'accepted')
    expect(one, `${run}: ${says.join(', ')} ${JSON.stringify(other)}`).toBe(two)
    if (one) expect(read[0], `${run}: ${JSON.stringify(other)}`).toEqual(read[1])
  }
})
