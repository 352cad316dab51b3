// The frozen vectors of v1/ against the product and against the reference decoder, which must agree
// on what they accept, on what they read, and on the kind of what they refuse.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sample } from '../support/seed.ts'
import { verdictOf } from '../support/verdict.ts'
import { judges } from './judges.ts'
import { writeFrozenStore } from './make/frozen-store.ts'
import { field, groups, readObjects, readVectors, type Vector } from './vector.ts'
import { writeVectors } from './write.ts'

// Set by `npm run vectors` alone, which then runs this file to make what it tests.
const isWriting = process.env['WRITE_VECTORS'] === '1'
if (isWriting) await writeVectors()
test.runIf(isWriting)('a whole store is written', writeFrozenStore)

const objects = readObjects()

type Titled = readonly [title: string, vector: Vector]

describe.each(groups)('%s', (group) => {
  const { product, reference } = judges[group]
  const titled = readVectors(group).map((vector): Titled => [
    ['expect', 'clause', 'name'].map((name) => field(vector, name)).join(', '),
    vector,
  ])

  async function judge(vector: Vector): Promise<void> {
    const read: unknown[] = []
    const judged = [product, reference].map(async (one) =>
      verdictOf(async () => read.push(await one(vector, objects))),
    )
    const wanted = field(vector, 'expect')
    expect(await Promise.all(judged)).toEqual([wanted, wanted])
    const [one, other] = read
    expect(one).toEqual(other)
  }

  const isStretched = ([, vector]: Titled): boolean => vector['passphrase'] !== undefined
  const quick = titled.filter((one) => !isStretched(one))
  test.each(group === 'stores' ? sample(quick, 2) : quick)('%s', (_, vector) => judge(vector))
  const stretched = titled.filter(isStretched)
  test.each(sample(stretched, 3))('%s', { tags: 'slow' }, (_, vector) => judge(vector))
})

/** Rules that no vector of a few bytes can show, or that need more than the frozen files. */
const elsewhere: ReadonlySet<string> = new Set([
  'anchor_corrupt',
  'commit_too_large',
  'freshness_corrupt',
  'left_out_corrupt',
  'merge_held',
  'not_canonical',
  'report_invalid',
  'rolled_back',
  'row_path_conflict',
  'baseline_false',
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
