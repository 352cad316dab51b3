import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unwatched, type WorkWatch } from '../../../src/async.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { type ErrorCode, hasCode } from '../../../src/errors.ts'
import { compactPacks } from '../../../src/git/maintenance/pack-merge.ts'
import { packInWorker } from '../../../src/git/maintenance/pack-worker.ts'
import { decodeTree, encodeTree, TreeCursor } from '../../../src/git/objects/object.ts'
import { makeDelta } from '../../../src/git/pack/delta.ts'
import { encodeEntryHeader } from '../../../src/git/pack/pack-entry.ts'
import type { PackInput } from '../../../src/git/pack/pack-writer.ts'
import {
  assemblePack,
  frame,
  history,
  losses,
  noise,
  object,
  writeParts,
} from '../../support/pack-fixtures.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const story = history(1100, 'history', frame)
const halves = [story.objects.slice(0, 2000), story.objects.slice(2000)]
const { objects } = history(60)

/** `objects/pack` of a repository with nothing else. */
function packDirectory(): string {
  const directory = join(temporaryDirectory(), 'objects', 'pack')
  mkdirSync(directory, { recursive: true })
  return directory
}

function compact(
  directory: string,
  names: readonly string[],
  watch: WorkWatch = unwatched,
): ReturnType<typeof compactPacks> {
  return compactPacks(systemDisk, directory, names, watch)
}

function writeLoose(directory: string, { oid, type, body }: PackInput): string {
  const path = join(dirname(directory), oid.slice(0, 2), oid.slice(2))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body])))
  return path
}

function withCode(code: ErrorCode): unknown {
  return expect.toSatisfy((error) => hasCode(error, code))
}

describe('compactPacks', () => {
  test('makes one pack of several and keeps every object', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, objects.slice(0, 90), objects.slice(70))
    const pack = await compact(directory, names)
    expect(pack?.objects).toBe(objects.length)
    expect(systemDisk.list(directory)).toEqual([`${pack?.name}.idx`, `${pack?.name}.pack`])
    expect(losses(directory, objects)).toEqual([])
  })

  test('any split into overlapping packs gives the same objects', { tags: 'slow' }, async () => {
    const pick = fc.array(fc.subarray([...objects], { minLength: 1 }), {
      minLength: 1,
      maxLength: 5,
    })
    const property = fc.asyncProperty(pick, async (parts) => {
      const directory = packDirectory()
      const names = await writeParts(directory, ...parts)
      const expected = new Map(parts.flat().map((entry) => [entry.oid, entry]))
      const pack = await compact(directory, names)
      expect(pack?.objects ?? parts.flat().length).toBe(expected.size)
      expect(losses(directory, [...expected.values()])).toEqual([])
    })
    await fc.assert(property, { seed, numRuns: full ? 500 : 10 })
  })

  test('keeps objects that no commit reaches', async () => {
    const directory = packDirectory()
    const extra = [object('blob', noise('extra', 100)), object('tree', noise('no tree', 90))]
    await compact(directory, await writeParts(directory, [...objects], extra))
    expect(losses(directory, [...objects, ...extra])).toEqual([])
  })

  test('resolves deltas that two packs hold in opposite directions, also by name', async () => {
    const directory = packDirectory()
    const a = object('tree', noise('a', 200))
    const b = object('tree', Buffer.concat([a.body.subarray(0, 150), noise('b', 50)]))
    const forth = makeDelta(a.body, b.body)
    const name = Buffer.from(a.oid, 'hex')
    const header = Buffer.concat([encodeEntryHeader('refDelta', forth.length), name])
    const { name: first } = await assemblePack(directory, [
      { oid: b.oid, header, deflated: deflateSync(forth) },
      { oid: a.oid, header: encodeEntryHeader('tree', 200), deflated: deflateSync(a.body) },
    ])
    const [second = ''] = await writeParts(directory, [b, { ...a, base: b.oid }])
    expect((await compact(directory, [first, second]))?.objects).toBe(2)
    expect(losses(directory, [a, b])).toEqual([])
  })

  test.each(['keep', 'mtimes'])('leaves a pack with a .%s file alone', async (extension) => {
    const directory = packDirectory()
    const names = await writeParts(directory, objects.slice(0, 60), objects.slice(60, 120))
    const [kept = ''] = await writeParts(directory, objects.slice(120))
    writeFileSync(join(directory, `${kept}.${extension}`), '')
    const pack = await compact(directory, [...names, kept])
    expect(pack?.objects).toBe(120)
    expect(systemDisk.list(directory)).toContain(`${kept}.pack`)
    expect(losses(directory, objects)).toEqual([])
  })

  test('leaves packs alone that it was not given, and removes files that git derived', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, objects.slice(0, 60), objects.slice(60, 120))
    const [other = ''] = await writeParts(directory, objects.slice(120))
    for (const name of [...names, other]) writeFileSync(join(directory, `${name}.rev`), '')
    for (const file of ['multi-pack-index', `${names[0]}.bitmap`]) {
      writeFileSync(join(directory, file), '')
    }
    const pack = await compact(directory, names)
    const left = [pack?.name, other].flatMap((name) => [`${name}.idx`, `${name}.pack`])
    expect(systemDisk.list(directory)).toEqual([...left, `${other}.rev`].toSorted())
    expect(losses(directory, objects)).toEqual([])
  })

  test('packs loose objects, and leaves damaged ones', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, objects.slice(0, 100))
    const files = objects.slice(90).map((entry) => writeLoose(directory, entry))
    const damaged = writeLoose(directory, { ...object('blob', noise('a', 9)), body: noise('b', 9) })
    const pack = await compact(directory, names)
    expect(pack?.objects).toBe(objects.length)
    expect(files.filter((file) => systemDisk.stat(file) !== undefined)).toEqual([])
    expect(systemDisk.stat(damaged)).toBeDefined()
    expect(losses(directory, objects)).toEqual([])
  })

  test('does nothing in an empty repository', async () => {
    const directory = packDirectory()
    expect(await compact(directory, ['pack-gone'])).toBeUndefined()
    expect(systemDisk.list(directory)).toEqual([])
  })

  test('refuses a damaged entry and changes nothing', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, objects.slice(0, 90), objects.slice(90))
    const path = join(directory, `${names[1]}.pack`)
    const bytes = readFileSync(path)
    bytes[bytes.length - 100] = (bytes.at(-100) ?? 0) ^ 1
    writeFileSync(path, bytes)
    const before = systemDisk.list(directory)
    await expect(compact(directory, names)).rejects.toEqual(withCode('pack_corrupt'))
    expect(systemDisk.list(directory)).toEqual(before)
  })

  test('does not even begin if it was cancelled before', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, [...objects])
    const file = writeLoose(directory, object('blob', noise('loose', 9)))
    const before = systemDisk.list(directory)
    const watch = { ...unwatched, isCancelled: () => true }
    await expect(compact(directory, names, watch)).rejects.toEqual(withCode('cancelled'))
    expect(systemDisk.list(directory)).toEqual(before)
    expect(systemDisk.stat(file)).toBeDefined()
  })

  test('tells how far it is, and leaves nothing behind when it is cancelled', async () => {
    const directory = packDirectory()
    const names = await writeParts(directory, ...halves)
    const before = systemDisk.list(directory)
    const seen: number[] = []
    const total = new Set(story.objects.map(({ oid }) => oid)).size
    const watch: WorkWatch = {
      isCancelled: () => seen.length === 4,
      progress: (done, all) => {
        expect(all).toBe(total)
        seen.push(done)
      },
    }
    await expect(compact(directory, names, watch)).rejects.toEqual(withCode('cancelled'))
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen).toHaveLength(4)
    expect(systemDisk.list(directory)).toEqual(before)
  })
})

describe('in a worker thread', () => {
  test('the pack is the same, and progress is reported', { tags: 'slow' }, async () => {
    const [here, there] = [packDirectory(), packDirectory()]
    const expected = await compact(here, await writeParts(here, ...halves))
    const names = await writeParts(there, ...halves)
    const seen: number[] = []
    const job = { kind: 'compact' as const, directory: there, names }
    const progress = (done: number): void => void seen.push(done)
    expect(await packInWorker(job, { progress })).toEqual(expected)
    expect(seen.length).toBeGreaterThan(2)
    expect(losses(there, story.objects)).toEqual([])
  })

  test.each([
    ['before it starts', (controller: AbortController) => controller.abort()],
    ['while it works', () => undefined],
  ])('a signal that is aborted %s cancels it', { tags: 'slow' }, async (_, atOnce) => {
    const directory = packDirectory()
    const names = await writeParts(directory, ...halves)
    const before = systemDisk.list(directory)
    const controller = new AbortController()
    atOnce(controller)
    const job = { kind: 'compact' as const, directory, names }
    const options = { signal: controller.signal, progress: () => controller.abort() }
    const outcome = await packInWorker(job, options).catch((error: unknown) => error)
    // The thread may be done before it hears of a cancellation that comes late.
    if (!hasCode(outcome, 'cancelled')) expect(controller.signal.aborted).toBe(true)
    else expect(systemDisk.list(directory)).toEqual(before)
    expect(systemDisk.list(directory).filter((name) => name.startsWith('tmp'))).toEqual([])
    expect(losses(directory, story.objects)).toEqual([])
  })
})

describe('TreeCursor', () => {
  const oid = fc.uint8Array({ minLength: 20, maxLength: 20 })
  const names = ['a', 'a.b', 'a0', 'b', 'ab', 'A', 'm', 'z-', '00', 'f'.repeat(40)]
  const tree = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean(), oid), {
      selector: ([name]) => name,
    })
    .map((entries) => {
      return encodeTree(
        entries.map(([name, isDirectory, bytes]) => ({
          mode: isDirectory ? ('40000' as const) : ('100644' as const),
          name,
          oid: Buffer.from(bytes).toString('hex'),
        })),
      )
    })

  test('sees the entries that decodeTree sees, in the same order', () => {
    const property = fc.property(tree, (body) => {
      const seen: [boolean, string][] = []
      for (const cursor = new TreeCursor(body); cursor.valid; cursor.next()) {
        seen.push([cursor.isDirectory, Buffer.from(cursor.oid).toString('hex')])
      }
      const expected = decodeTree(body).map((entry) => [entry.mode === '40000', entry.oid])
      expect(seen).toEqual(expected)
    })
    fc.assert(property, { seed, numRuns: full ? 5000 : 200 })
  })

  test('compares names as git sorts them', () => {
    const property = fc.property(tree, (body) => {
      const [left, right] = [new TreeCursor(body), new TreeCursor(body)]
      if (!left.valid) return
      expect(left.compareName(right)).toBe(0)
      expect(left.hasOidOf(right)).toBe(true)
      for (right.next(); right.valid; left.next(), right.next()) {
        expect(left.compareName(right)).toBeLessThan(0)
        expect(right.compareName(left)).toBeGreaterThan(0)
      }
    })
    fc.assert(property, { seed, numRuns: full ? 5000 : 200 })
  })

  test('ends, for any bytes', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
      let entries = 0
      for (const cursor = new TreeCursor(body); cursor.valid; cursor.next()) entries += 1
      expect(entries).toBeLessThanOrEqual(body.length / 20)
    })
    fc.assert(property, { seed, numRuns: full ? 50_000 : 2000 })
  })
})
