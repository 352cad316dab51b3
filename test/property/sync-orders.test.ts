// A sync during every kind of erasure, in every order: between any two of its steps, as if that
// step took as long as the other work does, the clone checkpoints, repacks, redacts, writes, or
// syncs through another handle, or the other clone pushes. The sync ends all the same, nothing that
// was acknowledged is lost, and redacted texts are in neither clone.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreSession } from '../../src/store/session/session.ts'
import { type World, worldsOf } from '../support/clone-templates.ts'
import { type Clone, headOf, put, sync, syncAll } from '../support/clones.ts'
import { makePair, redact } from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { contentsOf, reopen } from '../support/stores.ts'

type Pair = World<'a' | 'b'>

/** A memory of which a version may be redacted. */
const spare = '/spare.txt'
const texts = ['/a.md', '/b.md', spare, '/first.txt', '/second.txt']

/** Counts the steps of the sync that is watched, and acts before one of them. */
class Watch {
  count = 0
  #isOn = true
  #session: StoreSession | undefined
  readonly #at: number
  readonly #act: () => Promise<void>

  constructor(at: number, act: () => Promise<void>) {
    this.#at = at
    this.#act = act
  }

  async step(session: StoreSession): Promise<void> {
    this.#session ??= session
    if (!this.#isOn || session !== this.#session) return
    this.count += 1
    if (this.count !== this.#at) return
    // What it does is no step of the sync.
    this.#isOn = false
    await this.#act()
    this.#isOn = true
  }
}

let watch: Watch | undefined

beforeEach(() => {
  // oxlint-disable-next-line typescript/unbound-method -- called with the session
  const { reading, writing, loadHistory } = StoreSession.prototype
  const spy = vi.spyOn(StoreSession.prototype, 'reading')
  spy.mockImplementation(async function (this: StoreSession, read) {
    await watch?.step(this)
    return reading.call(this, read)
  })
  const writes = vi.spyOn(StoreSession.prototype, 'writing')
  writes.mockImplementation(async function (this: StoreSession, ...given) {
    await watch?.step(this)
    return writing.apply(this, given)
  })
  const loads = vi.spyOn(StoreSession.prototype, 'loadHistory')
  loads.mockImplementation(async function (this: StoreSession, options) {
    await watch?.step(this)
    return loadHistory.call(this, options)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** Syncs, and acts before that step; returns how many there were. */
async function syncBeside(clone: Clone, at: number, act: () => Promise<void>): Promise<number> {
  const now = new Watch(at, act)
  watch = now
  try {
    await sync(clone)
  } finally {
    watch = undefined
  }
  return now.count
}

async function leak(clone: Clone, path: string): Promise<string> {
  const version = await put(clone, path, `sk-${path}`)
  await put(clone, path, 'revoked')
  return version
}

async function redactFirst(clone: Clone, path: string): Promise<void> {
  const { data: versions } = await clone.store.history.versions({ path, order: 'oldest' })
  await redact(clone, versions[0]?.versionId ?? '')
}

/** b has redacted what a has built on and sent; with `also`, a has redacted something, too. */
function beginning(also: boolean): () => Promise<Pair> {
  return worldsOf(async (url) => {
    const { a, b } = await makePair(url)
    for (const path of ['/first.txt', '/second.txt', spare]) await leak(a, path)
    await sync(a)
    await sync(b)
    await redactFirst(b, '/first.txt')
    await put(b, '/b.md')
    if (also) await redactFirst(a, '/second.txt')
    await put(a, '/a.md')
    await sync(a)
    return { a, b }
  })
}

const beginnings = [
  { name: 'one has redacted what the other builds on', begin: beginning(false) },
  { name: 'both have redacted', begin: beginning(true) },
]

/** The path that it writes, if any. */
type Deed = (pair: Pair) => Promise<string | undefined>

async function withOther(clone: Clone, work: (other: Clone) => Promise<unknown>): Promise<void> {
  const other = { place: clone.place, store: await reopen(clone.place) }
  await work(other)
  await other.store.close()
}

const deeds: Readonly<Record<string, Deed>> = {
  async checkpoint({ b }) {
    await b.store.maintenance.checkpoint()
    return undefined
  },
  async repack({ b }) {
    await b.store.maintenance.compact()
    return undefined
  },
  async write({ b }) {
    await put(b, '/beside.md')
    return '/beside.md'
  },
  async redaction({ b }) {
    await redactFirst(b, spare)
    return undefined
  },
  async 'redaction by another handle'({ b }) {
    await withOther(b, (other) => redactFirst(other, spare))
    return undefined
  },
  async 'sync by another handle'({ b }) {
    await withOther(b, sync)
    return undefined
  },
  async 'push of the other clone'({ a }) {
    await put(a, '/again.md')
    await sync(a)
    return '/again.md'
  },
}

async function expectDone({ a, b }: Pair, written: readonly string[]): Promise<void> {
  await syncAll([a, b])
  expect(await headOf(a)).toBe(await headOf(b))
  const contents = await contentsOf(b.store)
  expect(await contentsOf(a.store)).toEqual(contents)
  for (const path of [...texts, ...written]) expect(contents).toHaveProperty([path])
  for (const { store } of [a, b]) {
    const { found, pending } = await store.maintenance.findResidue()
    expect({ found, pending }).toEqual({ found: [], pending: 0 })
    await store.close()
  }
}

/** More steps than a sync takes, also one that is disturbed. */
const stepsMax = 60
const cases = Object.entries(deeds).flatMap(([deed, act]) =>
  beginnings.flatMap((one) =>
    Array.from({ length: stepsMax }, (_, index) => ({ ...one, deed, act, at: index + 1 })),
  ),
)

test.each(sample(cases, 25))(
  'a $deed before step $at of a sync after $name',
  { tags: 'slow' },
  async ({ begin, act, at }) => {
    const pair = await begin()
    const written: string[] = []
    const count = await syncBeside(pair.b, at, async () => {
      written.push(...[(await act(pair)) ?? []].flat())
    })
    expect(count).toBeLessThan(stepsMax)
    await expectDone(pair, written)
  },
)
