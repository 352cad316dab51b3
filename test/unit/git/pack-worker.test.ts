import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasCode } from '../../../src/errors.ts'
import { runPackJob } from '../../../src/git/maintenance/pack-job.ts'
import { packInWorker, workerPacker } from '../../../src/git/maintenance/pack-worker.ts'
import { writePack } from '../../../src/git/pack/pack-writer.ts'
import { history, noise, object } from '../../support/pack-fixtures.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const { objects, head } = history(20)

test('a worker thread writes the same pack as this one, and detaches no buffer', async () => {
  const directory = temporaryDirectory()
  const here = { kind: 'write', directory: temporaryDirectory(), objects } as const
  const expected = await runPackJob(systemDisk, here)
  expect(await packInWorker({ kind: 'write', directory, objects })).toEqual(expected)
  expect(objects.every(({ body }) => body.length > 0)).toBe(true)
})

test('an error keeps its code and its sentence on the way back', async () => {
  const blob = object('blob', noise('blob', 9))
  const wrong = objects.with(3, { ...blob, body: noise('other', 9) })
  const job = { kind: 'write' as const, directory: temporaryDirectory(), objects: wrong }
  const error: unknown = await packInWorker(job).catch((cause: unknown) => cause)
  expect(hasCode(error, 'object_corrupt')).toBe(true)
  expect(String(error)).toContain('does not match its name')
})

test('an internal error is rethrown as one', async () => {
  const job = { kind: 'write' as const, directory: temporaryDirectory(), objects: [] }
  await expect(packInWorker(job)).rejects.toThrow('Internal error: a pack without objects')
})

test.each([
  ['small jobs', 100],
  ['large jobs', 2_000_000],
])('workerPacker packs and merges %s', { tags: 'slow' }, async (_, length) => {
  const directory = temporaryDirectory()
  const packer = workerPacker(directory)
  await packer.write([object('blob', noise('first', length))])
  await packer.write([object('blob', noise('second', length))])
  const names = systemDisk.list(directory).filter((name) => name.endsWith('.idx'))
  await packer.merge(names.map((name) => name.slice(0, -4)))
  expect(systemDisk.list(directory)).toHaveLength(2)
})

test('a thread packs again, also after a job that failed; no other job leaves one', async () => {
  const directory = temporaryDirectory()
  const write = (parts: typeof objects) => {
    return packInWorker({ kind: 'write', directory, objects: parts })
  }
  await write(objects.slice(0, 5))
  const before = await newThreadNumber()
  await expect(write([])).rejects.toThrow('Internal error: a pack without objects')
  await write(objects)
  expect((await newThreadNumber()) - before).toBe(1)
  const heads = [head]
  const packs = systemDisk.list(directory).filter((name) => name.endsWith('.pack'))
  const names = packs.map((name) => name.slice(0, -5))
  for (let times = 0; times < 2; times += 1) {
    await packInWorker({ kind: 'unreachable', directory, names, heads, boundary: [] })
  }
  // One was kept from before: the first ended it, the second started its own.
  expect((await newThreadNumber()) - before).toBe(3)
})

/** Threads are numbered as they start. */
async function newThreadNumber(): Promise<number> {
  const worker = new Worker('', { eval: true })
  const { threadId } = worker
  await worker.terminate()
  return threadId
}

test('the thread counts objects that no head reaches', async () => {
  const directory = `${temporaryDirectory()}/objects/pack`
  systemDisk.makeDirectory(dirname(directory))
  systemDisk.makeDirectory(directory)
  const lost = object('blob', noise('lost', 300))
  const { name } = await writePack(systemDisk, directory, [...objects, lost])
  const from = { heads: [head], boundary: [] }
  const job = { kind: 'unreachable' as const, directory, names: [name], ...from }
  expect(await packInWorker(job)).toMatchObject({ objects: 1 })
})
