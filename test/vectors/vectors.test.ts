// The frozen vectors of v1/ against the product and against the reference decoder, which must agree
// on what they accept, on what they read, and on the kind of what they refuse.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sample } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'
import { judges } from './judges.ts'
import { writeFrozenStore } from './make/frozen-store.ts'
import { field, type Group, groups, readObjects, readVectors, type Vector } from './vector.ts'
import { writeVectors } from './write.ts'

// Set by `npm run vectors` alone, which then runs this file to make what it tests.
const isWriting = process.env['WRITE_VECTORS'] === '1'
if (isWriting) await writeVectors()
test.runIf(isWriting)('a whole store is written', writeFrozenStore)

const objects = readObjects()

describe.each(groups)('%s', (group) => {
  const { product, reference } = judges[group]
  const vectors = affordable(group, readVectors(group)).map((vector) => ({
    title: ['expect', 'clause', 'name'].map((name) => field(vector, name)).join(', '),
    vector,
  }))

  test.each(vectors)('$title', async ({ vector }: { readonly vector: Vector }) => {
    const read: unknown[] = []
    const judged = [product, reference].map(async (judge) =>
      verdictOf(async () => read.push(await judge(vector, objects))),
    )
    const wanted = field(vector, 'expect')
    expect(await Promise.all(judged)).toEqual([wanted, wanted])
    const [one, other] = read
    expect(one).toEqual(other)
  })
})

/** By default every other store, and one of what has to be stretched. */
function affordable(group: Group, vectors: readonly Vector[]): readonly Vector[] {
  if (group === 'stores') return sample(vectors, 2)
  const isStretched = (vector: Vector): boolean => vector['passphrase'] !== undefined
  const stretched = sample(vectors.filter(isStretched), 3)
  return vectors.filter((vector) => !isStretched(vector) || stretched.includes(vector))
}

/** What no vector can hold in a few bytes, or needs more than what is frozen here. */
const elsewhere: ReadonlySet<string> = new Set([
  'anchor_corrupt',
  'certificate_invalid',
  'commit_too_large',
  'not_canonical',
  'rolled_back',
  'row_path_conflict',
])

test('each code of verification has a vector, or an attack test instead', () => {
  const expected = new Set(groups.flatMap((group) => readVectors(group).map((v) => v['expect'])))
  const codes = verificationCodes().filter((code) => !expected.has(code))
  expect(codes.filter((code) => !elsewhere.has(code))).toEqual([])
})

/** The unions of src/errors.ts that speak of envelopes and histories. */
function verificationCodes(): readonly string[] {
  const source = readFileSync(new URL('../../src/errors.ts', import.meta.url), 'utf8')
  const unions = /type EnvelopeCode =[^]*?type VerificationCode =[^]*?\n\n/.exec(source)?.[0] ?? ''
  return [...unions.matchAll(/\| '([a-z_]+)'/g)].map((match) => match[1] ?? '')
}
