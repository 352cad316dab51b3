// Every bit and every length of the small files that acknowledged changes depend on: journals, the
// branch, the anchor, locks. A store with one of them changed shows every acknowledged text, or is
// refused with a code, even to a caller that verifies or writes: it never shows less.

import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { StoreError } from '../../src/errors.ts'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { surveyJournal } from '../../src/git/journal/journal-survey.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open.ts'
import { FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full, seed } from '../support/seed.ts'
import { sharedDirectory, temporaryDirectory } from '../support/temporary.ts'

const author = { actor: { type: 'user', id: 'me' } } as const
const shared = sharedDirectory()
/** Two notes are packed, two are in the journal that is being packed, two in the newer one. */
const template = join(shared, 'template')
const notes = 6
let identity: Identity
let head: string | undefined

async function write(store: MemoryStore, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) {
    const content = `text ${index}\n`
    await store.as(author).apply([{ type: 'create', path: `/${index}.md`, content }])
  }
}

function placesOf(root: string): { directory: string; stateDirectory: string } {
  return { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
}

beforeAll(async () => {
  identity = await generateIdentity()
  const made = join(shared, 'made')
  const places = placesOf(made)
  const { store } = await createStore({ ...places, identity })
  await write(store, 0, 2)
  await store.close()
  const packer = inlinePacker(systemDisk, places.directory)
  const writing = await openStore({
    ...places,
    identity,
    packer: {
      ...packer,
      async write(objects) {
        if (head === undefined) {
          await write(writing, 4, notes)
          // As a process leaves it that dies and holds no lock.
          cpSync(made, template, { recursive: true, filter: (path) => !isOfLocks(basename(path)) })
          head = await headIn(template)
        }
        await packer.write(objects)
      },
    },
  })
  await write(writing, 2, 4)
  await writing.maintenance.checkpoint()
  await writing.close()
  // As it is when all is packed, with the anchor that names it.
  cpSync(made, join(shared, 'closed'), { recursive: true })
})

/** Locks, the files that they are links to, and sockets. */
function isOfLocks(name: string): boolean {
  return /^owner\.|lock$/.test(name)
}

function locksIn(root: string): readonly string[] {
  const names = readdirSync(join(root, 'store/gitlocket'))
  return names.filter((name) => /^owner\.[0-9a-f]+$|lock$/.test(name))
}

/** The head that a fresh handle finds, or the code with which it refuses. */
async function headIn(root: string): Promise<string | undefined> {
  return verdictOf(async () => {
    const { directory } = placesOf(root)
    const store = await openDiskObjectStore({ directory, idleMs: Infinity, lockWaitMs: 0 })
    const found = store.head
    await store.close()
    return found
  })
}

async function verdictOf<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StoreError) return `refused: ${error.code}`
    throw error
  }
}

/** What a fresh handle shows once it has verified all, and written one note more. */
function textsIn(root: string): Promise<string | readonly string[]> {
  return verdictOf(async () => {
    const store = await openStore({ ...placesOf(root), identity })
    try {
      await store.maintenance.verify()
      await write(store, notes, notes + 1)
      const files = (await store.list('/'))?.children ?? []
      const texts = files.map(async ({ path }) => (await store.read(path))?.content ?? '')
      return (await Promise.all(texts)).toSorted()
    } finally {
      await store.close()
    }
  })
}

const allTexts = Array.from({ length: notes + 1 }, (_, index) => `text ${index}\n`)

/** `wanted` of `count` places, the first chosen by the seed. */
function some(count: number, wanted: number): readonly number[] {
  const stride = Math.max(1, Math.floor(count / wanted))
  const first = seed % stride
  return Array.from({ length: Math.ceil((count - first) / stride) }, (_, n) => first + n * stride)
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

interface Range {
  readonly upTo?: number
  /** About how many of each kind. */
  readonly wanted: number
  /** All, unless given. */
  readonly wantedWhenFull?: number
}

/** The file with some bits flipped, each alone, and cut off at some lengths; all with FULL=1. */
function* changesOf(
  bytes: Uint8Array,
  { upTo = bytes.length, wanted, wantedWhenFull = Infinity }: Range,
): Generator<[what: string, changed: Uint8Array]> {
  const count = full ? wantedWhenFull : wanted
  for (const bit of some(8 * upTo, count)) yield [`bit ${bit}`, flipped(bytes, bit)]
  for (const length of some(upTo, count)) yield [`length ${length}`, bytes.slice(0, length)]
}

/** With some of the zeros that follow: all of them are alike. */
function usedBytes(bytes: Uint8Array): number {
  return surveyJournal(bytes).end + 600
}

describe.each(['journal-a', 'journal-b'])('%s', (name) => {
  const path = `store/gitlocket/${name}`

  test(
    'opens at the same head or is refused, whichever bit or length is changed',
    { tags: 'slow' },
    async () => {
      const copy = temporaryDirectory()
      cpSync(template, copy, { recursive: true })
      const bytes = new Uint8Array(readFileSync(join(copy, path)))
      expect(surveyJournal(bytes).before.length).toBeGreaterThan(2)
      const verdicts = new Set<string | undefined>()
      for (const [what, changed] of changesOf(bytes, { upTo: usedBytes(bytes), wanted: 60 })) {
        if (changed.length === 0) continue
        writeFileSync(join(copy, path), changed)
        const verdict = await headIn(copy)
        verdicts.add(verdict)
        if (verdict !== head)
          expect(`${what}, ${verdict}`).toBe(`${what}, refused: journal_corrupt`)
      }
      expect(verdicts).toEqual(new Set([head, 'refused: journal_corrupt']))
    },
  )

  test(
    'changed anywhere is not written over, and shows all commits once restored',
    { tags: 'slow' },
    async () => {
      const bytes = new Uint8Array(readFileSync(join(template, path)))
      // Each costs two stores, so that these are some with FULL=1 too.
      const range = { upTo: usedBytes(bytes), wanted: 4, wantedWhenFull: 150 }
      for (const [what, changed] of changesOf(bytes, range)) {
        if (changed.length === 0) continue
        const copy = temporaryDirectory()
        cpSync(template, copy, { recursive: true })
        writeFileSync(join(copy, path), changed)
        const texts = await textsIn(copy)
        if (texts === 'refused: journal_corrupt') {
          expect([what, readFileSync(join(copy, path)).equals(changed)]).toEqual([what, true])
          writeFileSync(join(copy, path), bytes)
          expect([what, await textsIn(copy)]).toEqual([what, allTexts])
        } else expect([what, texts]).toEqual([what, allTexts])
        rmSync(copy, { recursive: true })
      }
    },
  )
})

describe('a missing journal file', () => {
  test('is noticed by the other one, which continues it', async () => {
    const copy = temporaryDirectory()
    cpSync(template, copy, { recursive: true })
    writeFileSync(join(copy, 'store/gitlocket/journal-a'), '')
    expect(await textsIn(copy)).toBe('refused: ref_conflict')
    rmSync(join(copy, 'store/gitlocket/journal-a'))
    expect(await textsIn(copy)).toBe('refused: ref_conflict')
  })

  test.each(['emptied', 'removed', 'zeroed'])('is noticed by the anchor when %s', async (how) => {
    const copy = temporaryDirectory()
    cpSync(template, copy, { recursive: true })
    // The anchor is of a moment later: the device had verified all of it.
    cpSync(join(shared, 'closed/state'), join(copy, 'state'), { recursive: true, force: true })
    const path = join(copy, 'store/gitlocket/journal-b')
    if (how === 'removed') rmSync(path)
    else writeFileSync(path, new Uint8Array(how === 'emptied' ? 0 : readFileSync(path).length))
    expect(await textsIn(copy)).toBe('refused: rolled_back')
  })
})

describe('the branch', () => {
  test.each([false, true])(
    'changed in any bit or length, packed %s, is refused',
    { tags: 'slow' },
    async (packed) => {
      for (const from of [template, join(shared, 'closed')]) {
        const copy = temporaryDirectory()
        cpSync(from, copy, { recursive: true })
        const expected = await headIn(copy)
        let path = join(copy, 'store/refs/heads/main')
        if (packed) {
          const oid = readFileSync(path, 'latin1').trim()
          rmSync(path)
          path = join(copy, 'store/packed-refs')
          writeFileSync(
            path,
            `# pack-refs with: peeled fully-peeled sorted \n${oid} refs/heads/main\n`,
          )
        }
        const bytes = new Uint8Array(readFileSync(path))
        for (const [what, changed] of changesOf(bytes, { wanted: 20 })) {
          writeFileSync(path, changed)
          const verdict = await verdictOf(async () => {
            const store = await openStore({ ...placesOf(copy), identity })
            await store.close()
            return headIn(copy)
          })
          if (verdict !== expected) expect(`${what}: ${verdict}`).toMatch(/: refused: [a-z_]+$/)
        }
      }
    },
  )
})

test('an anchor changed in any bit or length is refused', async () => {
  const copy = temporaryDirectory()
  cpSync(template, copy, { recursive: true })
  const files = readdirSync(join(copy, 'state'), { recursive: true, encoding: 'utf8' })
  const name = files.find((file) => file.endsWith('.anchor')) ?? ''
  const path = join(copy, 'state', name)
  const bytes = new Uint8Array(readFileSync(path))
  for (const [what, changed] of changesOf(bytes, { wanted: 25 })) {
    writeFileSync(path, changed)
    const verdict = await verdictOf(async () => {
      const store = await openStore({ ...placesOf(copy), identity })
      await store.close()
    })
    expect([what, verdict]).toEqual([what, 'refused: anchor_corrupt'])
  }
})

test(
  'the lock of a dead process changed in any bit or length hides nothing',
  { tags: 'slow' },
  async () => {
    const held = temporaryDirectory()
    cpSync(template, held, { recursive: true })
    const dying = new FaultyDisk()
    const { directory } = placesOf(held)
    const packer = inlinePacker(dying, directory)
    const store = await openDiskObjectStore({ directory, disk: dying, packer, idleMs: Infinity })
    await store.exclusive(async () => dying.die('nothing')).catch(() => undefined)
    const own = join(directory, 'gitlocket')
    const files = locksIn(held).map((name) => ({ name, bytes: readFileSync(join(own, name)) }))
    expect(files.length).toBeGreaterThan(1)
    for (const { name, bytes } of files) {
      for (const [what, changed] of changesOf(bytes, { wanted: 12 })) {
        for (const file of files) writeFileSync(join(own, file.name), file.bytes)
        // Lock and owner are one file of two names; a new one is changed alone.
        rmSync(join(own, name))
        writeFileSync(join(own, name), changed)
        expect([what, await headIn(held)]).toEqual([what, head])
        const verdict = await verdictOf(() => lockedIn(directory))
        expect([what, ['held', 'refused: locked'].includes(verdict)]).toEqual([what, true])
      }
    }
  },
)

/** Takes the writer lock as another process would. */
async function lockedIn(directory: string): Promise<string> {
  const disk = new FaultyDisk()
  const next = await openDiskObjectStore({ directory, disk, idleMs: Infinity, lockWaitMs: 0 })
  try {
    await next.exclusive(async () => {})
    return 'held'
  } finally {
    await next.close()
    disk.release()
  }
}
