// T4: an attacker who changes the packs, indexes, references or journal of a store on its disk
// cannot make it show different content: a reader shows the original content, or refuses with a
// code. FORMAT §2, §8.

import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open.ts'
import { countingRandom, flipBit } from '../support/forge-seal.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const author = { actor: { type: 'user', id: 'me' } } as const
const shared = sharedDirectory()
const [packed, running] = [join(shared, 'packed'), join(shared, 'running')]
let identity: Identity

beforeAll(async () => {
  identity = await generateIdentity(countingRandom('disk bytes'))
  const places = {
    directory: join(shared, 'made/store'),
    stateDirectory: join(shared, 'made/state'),
  }
  const { store } = await createStore({ ...places, identity })
  await write(store, 0, 20)
  await store.close()
  copyDirectory(join(shared, 'made'), packed)
  const again = await openStore({ ...places, identity })
  await write(again, 20, 24)
  // As a crash would leave it: these four are in the journal alone, and no process holds the lock.
  copyDirectory(join(shared, 'made'), running)
  for (const name of filesOf(running, /(?:^|[/.])lock$/)) rmSync(join(running, name))
  await again.close()
})

async function write(store: MemoryStore, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) {
    const content = `text ${index}\n`
    await store.as(author).apply([{ type: 'create', path: `/${index}.md`, content }])
  }
}

interface Reading {
  readonly verdict: string
  readonly contents: readonly string[]
}

/** Every content that a store shows, and the code with which reading ended. */
async function readAll(root: string): Promise<Reading> {
  const contents: string[] = []
  const places = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  const verdict = await verdictOf(async () => {
    const store = await openStore({ ...places, identity })
    try {
      await store.maintenance.verify()
      const files = (await store.list('/'))?.children ?? []
      for (const { path } of files) {
        contents.push(`${path} ${(await store.read(path))?.content}`)
      }
    } finally {
      await store.close()
    }
  })
  return { verdict, contents }
}

/** The contents of files 0 to count. */
function written(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `/${index}.md text ${index}\n`).toSorted()
}

function filesOf(root: string, pattern: RegExp): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => pattern.test(name) && statSync(join(root, name)).isFile(),
  )
}

/** Verdicts on `root` with one byte of a file changed, at each of several positions. */
async function verdictsOn(
  root: string,
  file: string,
  places: number,
  allowed: readonly (readonly string[])[],
): Promise<ReadonlySet<string>> {
  const verdicts = new Set<string>()
  const size = statSync(join(root, file)).size
  for (let index = 0; index < places; index += 1) {
    const copy = temporaryDirectory()
    copyDirectory(root, copy)
    const target = join(copy, file)
    const at = Math.floor((size * (index + 0.5)) / places)
    writeFileSync(target, flipBit(8 * at + (index % 8))(readFileSync(target)), { mode: 0o600 })
    const { verdict, contents } = await readAll(copy)
    verdicts.add(verdict)
    if (verdict === 'accepted') {
      expect(allowed.map((list) => list.join(''))).toContain(contents.toSorted().join(''))
    }
  }
  return verdicts
}

const damaged = ['object_missing', 'object_corrupt', 'pack_corrupt'] as const
const storage: ReadonlySet<string> = new Set([...damaged, 'journal_corrupt', 'accepted'])

test('T4: without a change, everything written is present', async () => {
  const reading = await readAll(running)
  expect(reading).toEqual({ verdict: 'accepted', contents: expect.any(Array) })
  expect(reading.contents.toSorted()).toEqual(written(24))
})

describe('T4: a byte changed anywhere', () => {
  const places = full ? 500 : 25

  test.each<[what: string, pattern: RegExp]>([
    ['a pack', /\.pack$/],
    ['an index of a pack', /\.idx$/],
  ])('in %s', async (_, pattern) => {
    const [file = ''] = filesOf(packed, pattern)
    const verdicts = await verdictsOn(packed, file, places, [written(20)])
    expect([...verdicts].filter((code) => !storage.has(code))).toEqual([])
    expect(verdicts.size).toBeGreaterThan(0)
  })

  test(
    'in the journal hides no unpacked change, and alters nothing',
    { tags: 'slow' },
    async () => {
      const [file = ''] = filesOf(running, /journal/)
      const verdicts = await verdictsOn(running, file, places, [written(24)])
      expect([...verdicts].filter((code) => !storage.has(code))).toEqual([])
    },
  )

  test('in the branch', async () => {
    const verdicts = await verdictsOn(packed, 'store/refs/heads/main', 20, [written(20)])
    const allowed = new Set<string>([...damaged, 'not_a_store', 'ref_conflict', 'ref_corrupt'])
    expect([...verdicts].filter((code) => !allowed.has(code))).toEqual([])
  })
})

describe('T4: a pack or an index that is cut off', () => {
  test.each<[what: string, pattern: RegExp]>([
    ['a pack', /\.pack$/],
    ['an index', /\.idx$/],
  ])('%s', async (_, pattern) => {
    const [file = ''] = filesOf(packed, pattern)
    const whole = readFileSync(join(packed, file))
    const verdicts = new Set<string>()
    for (const length of [
      0,
      1,
      12,
      20,
      40,
      whole.length / 2,
      whole.length - 20,
      whole.length - 1,
    ]) {
      const copy = temporaryDirectory()
      copyDirectory(packed, copy)
      writeFileSync(join(copy, file), whole.subarray(0, length), { mode: 0o600 })
      verdicts.add((await readAll(copy)).verdict)
    }
    const allowed = new Set<string>(damaged)
    expect([...verdicts].filter((code) => !allowed.has(code))).toEqual([])
  })
})
