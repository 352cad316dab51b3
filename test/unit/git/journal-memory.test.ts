import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { JournalMemory, JournalSlabs } from '../../../src/git/journal/journal-memory.ts'
import { Journal } from '../../../src/git/journal/journal.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

const kibi = 1024

test('the first slab of a file is small, larger ones follow, and both are used again', () => {
  const memory = new JournalMemory()
  const slabs = new JournalSlabs(memory)
  const first = slabs.take(100 * kibi)
  const beside = slabs.take(20 * kibi)
  expect(beside.buffer).toBe(first.buffer)
  const second = slabs.take(20 * kibi)
  expect([first, second].map(({ buffer }) => buffer.byteLength / kibi)).toEqual([128, 1024])
  expect(new JournalSlabs(memory).take(200 * kibi).buffer.byteLength).toBe(1024 * kibi)
  slabs.retire()
  expect(new JournalSlabs(memory).take(1).buffer).not.toBe(first.buffer)
  slabs.reuse()
  const other = new JournalSlabs(memory)
  expect(other.take(1).buffer).toBe(first.buffer)
  expect(other.take(200 * kibi).buffer).toBe(second.buffer)
})

test('a slab that a thread may still read is not used again', () => {
  const memory = new JournalMemory()
  const slabs = new JournalSlabs(memory)
  const { buffer } = slabs.take(1)
  slabs.abandon()
  slabs.retire()
  slabs.reuse()
  expect(slabs.take(1).buffer).not.toBe(buffer)
})

test('journals that follow one another use the same memory', async () => {
  const used = new Set<ArrayBufferLike>()
  const history = new TestHistory(1)
  for (let n = 0; n < 3; n += 1) {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const journal = new Journal({ disk, directory, random: systemRandom, isQuiet: () => true })
    await journal.append(history.take(1))
    const [frame] = journal.liveFrames
    for (const { body } of frame?.objects ?? []) used.add(body.buffer)
    journal.close()
  }
  expect(used.size).toBe(1)
})
