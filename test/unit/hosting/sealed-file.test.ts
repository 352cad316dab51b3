// A sealed file: every process finds a written value once it is durable, and refuses an older copy.

import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import { DataDirectory, type HostPlaces } from '../../../src/hosting/data-directory.ts'
import { SealedFile } from '../../../src/hosting/sealed-file.ts'
import { generateIdentity } from '../../../src/index.ts'
import { type HostPlace, newHostPlace } from '../../support/hosts.ts'
import { patience } from '../../support/patience.ts'

interface Value {
  readonly words: readonly string[]
}

interface Opened {
  readonly file: SealedFile<Value>
  readonly codes: string[]
  readonly path: string
  readonly freshnessPath: string
}

async function open(place: HostPlaces, acceptRolledBack = false): Promise<Opened> {
  const directory = new DataDirectory(place)
  await directory.make()
  const codes: string[] = []
  const where = directory.file('catalogue')
  const parts = {
    ...where,
    first: () => ({ words: [] }),
    notice: ({ code }: { code: string }) => codes.push(code),
  } as const
  return { file: await SealedFile.open<Value>(parts, acceptRolledBack), codes, ...where }
}

const plus =
  (word: string) =>
  ({ words }: Value): Value => ({ words: [...words, word] })

async function twoGenerations(): Promise<Opened & { place: HostPlace; old: string }> {
  const place = newHostPlace()
  const opened = await open(place)
  await opened.file.update(plus('secret-word'))
  const old = `${opened.path}.old`
  copyFileSync(opened.path, old)
  await opened.file.update(plus('b'))
  return { ...opened, place, old }
}

test('a value is found again, and is not readable on the disk', async () => {
  const { place, path } = await twoGenerations()
  expect((await open(place)).file.read()).toEqual({ words: ['secret-word', 'b'] })
  expect(readFileSync(path, 'latin1')).not.toContain('secret-word')
})

test('changes of many at once are all made, share writes, and fail alone', async () => {
  const { file, path } = await open(newHostPlace())
  const words = Array.from({ length: 20 }, (_, index) => `word ${index}`)
  const failing = file.update(() => {
    throw new Error('not this one')
  })
  const results = words.map((word) => file.update(plus(word)))
  await expect(failing).rejects.toThrow('not this one')
  expect(await Promise.all(results)).toContainEqual({ words })
  expect(file.read()).toEqual({ words })
  const { mtimeMs, ino } = statSync(path)
  expect(await file.update((now) => now), 'no change').toEqual({ words })
  const after = statSync(path)
  expect([after.mtimeMs, after.ino], 'no write').toEqual([mtimeMs, ino])
})

test('two processes change it, and each sees the writes of the other', async () => {
  const place = newHostPlace()
  const [first, second] = [await open(place), await open(place)]
  const writes = ['a', 'b', 'c', 'd'].map((word, index) => {
    return (index % 2 === 0 ? first : second).file.update(plus(word))
  })
  await Promise.all(writes)
  expect(new Set(first.file.read().words)).toEqual(new Set(['a', 'b', 'c', 'd']))
  expect(second.file.read()).toEqual(first.file.read())
  expect([...first.codes, ...second.codes]).toEqual([])
})

test('an older file, or a missing one, is refused at opening unless accepted', async () => {
  const { place, path, old } = await twoGenerations()
  copyFileSync(path, `${path}.new`)
  copyFileSync(old, path)
  await expect(open(place)).rejects.toMatchObject({ code: 'rolled_back', message: /catalogue/ })
  rmSync(path)
  await expect(open(place)).rejects.toMatchObject({ code: 'rolled_back' })
  copyFileSync(old, path)
  const accepted = await open(place, true)
  expect(accepted.file.wasRolledBack).toBe(true)
  expect(accepted.file.read()).toEqual({ words: ['secret-word'] })
  expect((await open(place)).file.wasRolledBack, 'once').toBe(false)
  copyFileSync(`${path}.new`, path)
  await expect(open(place), 'the one left behind').rejects.toMatchObject({ code: 'rolled_back' })
})

test('another file of the same generation is refused', async () => {
  const place = newHostPlace()
  const { path, file, freshnessPath } = await open(place)
  copyFileSync(path, `${path}.first`)
  copyFileSync(freshnessPath, `${freshnessPath}.first`)
  await file.update(plus('a'))
  copyFileSync(path, `${path}.a`)
  copyFileSync(`${path}.first`, path)
  copyFileSync(`${freshnessPath}.first`, freshnessPath)
  await (await open(place)).file.update(plus('b'))
  copyFileSync(`${path}.a`, path)
  await expect(open(place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test('a newer file than its freshness is accepted, and the freshness follows', async () => {
  const place = newHostPlace()
  const { path, file, freshnessPath } = await open(place)
  copyFileSync(path, `${path}.old`)
  copyFileSync(freshnessPath, `${freshnessPath}.old`)
  await file.update(plus('a'))
  copyFileSync(`${freshnessPath}.old`, freshnessPath)
  expect((await open(place)).file.read()).toEqual({ words: ['a'] })
  copyFileSync(`${path}.old`, path)
  await expect(open(place)).rejects.toMatchObject({ code: 'rolled_back' })
})

test('while it is open, a refused file is reported once, and work continues', async () => {
  const { place, file, path, old, codes } = await twoGenerations()
  copyFileSync(old, path)
  for (const _ of [1, 2]) expect(file.read()).toEqual({ words: ['secret-word', 'b'] })
  expect(codes).toEqual(['rolled_back'])
  writeFileSync(path, 'no envelope')
  expect(file.read()).toEqual({ words: ['secret-word', 'b'] })
  rmSync(path)
  expect(file.read()).toEqual({ words: ['secret-word', 'b'] })
  expect(codes).toEqual(['rolled_back', 'wrong_key', 'rolled_back'])
  await file.update(plus('c'))
  expect((await open(place)).file.read()).toEqual({ words: ['secret-word', 'b', 'c'] })
})

test('a file that was replaced and looks as before is read again while it is young', async () => {
  const { place, path } = await twoGenerations()
  const directory = new DataDirectory(place)
  const status = directory.disk.stat(path)
  // A file system that gives a number and a time again.
  const disk = { ...directory.disk, stat: (of: string) => (of === path ? status : statOf(of)) }
  const statOf = directory.disk.stat.bind(directory.disk)
  const reader = await open({ ...place, disk })
  const writer = await open(place)
  await writer.file.update(plus('c'))
  expect(reader.file.read().words.at(-1)).toBe('c')
})

test('without its state directory any generation of a file is accepted', async () => {
  const { place, path, old } = await twoGenerations()
  rmSync(place.stateDirectory, { recursive: true })
  copyFileSync(old, path)
  const { file, freshnessPath } = await open(place)
  expect(file.read()).toEqual({ words: ['secret-word'] })
  expect(existsSync(freshnessPath)).toBe(true)
})

test('of another identity, or damaged, it is refused', async () => {
  const { place, path, freshnessPath } = await twoGenerations()
  const stranger = { ...place, identity: await generateIdentity() }
  await expect(open(stranger)).rejects.toMatchObject({ code: 'freshness_corrupt' })
  rmSync(freshnessPath)
  await expect(open(stranger)).rejects.toMatchObject({ code: 'wrong_key' })
  writeFileSync(path, readFileSync(path).subarray(0, -1))
  await expect(open(place)).rejects.toMatchObject({ code: 'wrong_key' })
  writeFileSync(freshnessPath, 'damaged')
  await expect(open(place)).rejects.toMatchObject({ code: 'freshness_corrupt' })
})

test('a file that a crash left half-written is removed at opening', async () => {
  const { place, path } = await twoGenerations()
  writeFileSync(`${path}.0123456789abcdef.tmp`, 'half')
  await open(place)
  expect(readdirSync(place.dataDirectory).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('an unreadable write of another process is not undone', async () => {
  const place = newHostPlace()
  const first = await open(place)
  const { path } = first
  let isDamaged = false
  const readFile = (of: string, limit?: number): Uint8Array | undefined => {
    if (isDamaged && of === path) throw new StoreError('storage_failed', 'the disk')
    return systemDisk.readFile(of, limit)
  }
  const second = await open({ ...place, disk: { ...systemDisk, readFile } })
  await first.file.update(plus('a'))
  isDamaged = true
  await expect(second.file.update(plus('b'))).rejects.toMatchObject({ code: 'storage_failed' })
  isDamaged = false
  expect(await second.file.update(plus('b'))).toEqual({ words: ['a', 'b'] })
  await first.file.update(plus('c'))
  writeFileSync(path, 'damaged')
  for (const _ of [1, 2]) {
    await expect(second.file.update(plus('d'))).rejects.toMatchObject({ code: 'wrong_key' })
  }
  expect(readFileSync(path, 'latin1')).toBe('damaged')
})

test('a file of a process that died is made durable before its freshness', async () => {
  const place = newHostPlace()
  const { path, file, freshnessPath } = await open(place)
  const older = readFileSync(freshnessPath)
  await file.update(plus('a'))
  const steps: string[] = []
  const disk: Disk = {
    ...systemDisk,
    rename(from, to) {
      if (to === freshnessPath) steps.push(to)
      systemDisk.rename(from, to)
    },
    async syncDirectory(of) {
      steps.push(of)
      await systemDisk.syncDirectory(of)
    },
  }
  writeFileSync(freshnessPath, older)
  const found = await open({ ...place, disk })
  const inOrder = [dirname(path), freshnessPath, dirname(freshnessPath)]
  expect(steps).toEqual(inOrder)
  const between = readFileSync(freshnessPath)
  await file.update(plus('b'))
  writeFileSync(freshnessPath, between)
  steps.length = 0
  expect(found.file.read().words).toContain('b')
  await vi.waitFor(() => expect(steps).toEqual(inOrder), patience)
})

test(
  'a value that would be too large is refused, and nothing is written',
  { tags: 'slow' },
  async () => {
    const { file, path } = await twoGenerations()
    const before = readFileSync(path)
    await expect(file.update(plus('x'.repeat(64 * 2 ** 20)))).rejects.toMatchObject({
      code: 'store_full',
    })
    expect(readFileSync(path)).toEqual(before)
    expect(await file.update(plus('c'))).toEqual({ words: ['secret-word', 'b', 'c'] })
    expect(() => file.checkRoom()).not.toThrow()
  },
)

test('a written value is visible once it is durable', async () => {
  const place = newHostPlace()
  let file: SealedFile<Value> | undefined
  const seen: (Value | undefined)[] = []
  const syncDirectory = async (path: string): Promise<void> => {
    if (path !== place.dataDirectory || file === undefined) return systemDisk.syncDirectory(path)
    seen.push(file.read())
    throw new StoreError('storage_failed', 'the disk')
  }
  const opened = await open({ ...place, disk: { ...systemDisk, syncDirectory } })
  await opened.file.update(plus('a'))
  file = opened.file
  await expect(file.update(plus('b'))).rejects.toMatchObject({ code: 'storage_failed' })
  expect(seen).toEqual([{ words: ['a'] }])
})
