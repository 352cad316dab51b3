// What else happens while a search pauses: an index that is emptied keeps nothing of the text that
// is being added, and no long query and no long text holds other work up.

import { expect, test } from 'vitest'
import { parseQuery } from '../../../../src/store/search/query-words.ts'
import { findBestLine } from '../../../../src/store/search/snippet.ts'
import { type Match, type Searchable, TermIndex } from '../../../../src/store/search/term-index.ts'
import { atOnce, TimeSlice } from '../../../../src/time-slice.ts'

/** Pauses whenever it may, and does something then. */
class EagerSlice extends TimeSlice {
  pauses = 0
  readonly #meanwhile: (pauses: number) => void

  constructor(meanwhile: (pauses: number) => void = () => undefined) {
    super(undefined, 1)
    this.#meanwhile = meanwhile
  }

  override async next(): Promise<void> {
    this.pauses += 1
    this.#meanwhile(this.pauses)
  }
}

const words = Array.from({ length: 600 }, (_, number) => `word${number}`)
const text = words.join(' ')
const document: Searchable = { path: '/canary.md', size: text.length, versionId: 'v' }

function matchesOf(index: TermIndex<Searchable>, query: string): readonly Match[] {
  const [word] = parseQuery(query, { prefix: true, fuzzy: false })
  return word === undefined ? [] : atOnce(index.matches(word))
}

test('an index that is emptied while a text is added keeps no term of it', async () => {
  const all = new EagerSlice()
  await new TermIndex<Searchable>().add('key', document, text, all)
  for (let moment = 1; moment <= all.pauses; moment += 1) {
    const index = new TermIndex<Searchable>()
    const slice = new EagerSlice((pauses) => pauses === moment && index.clear())
    await index.add('key', document, text, slice)
    for (const query of ['canary', 'word']) expect(matchesOf(index, query)).toEqual([])
    expect(index.versionIds).toEqual([])
  }
})

test('a text is compared with a long query word by word, or a few at a time', async () => {
  const query = parseQuery(words.slice(0, 128).join(' '), { prefix: true, fuzzy: true })
  const slice = new EagerSlice()
  await findBestLine(text, query, slice)
  expect(slice.pauses).toBeGreaterThanOrEqual(words.length)
  const adding = new EagerSlice()
  await new TermIndex<Searchable>().add('key', document, text, adding)
  expect(adding.pauses).toBeGreaterThanOrEqual(words.length / 16)
})
