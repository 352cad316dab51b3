import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { StoreError } from '../../../src/errors.ts'
import { sectorBytes } from '../../../src/git/journal/journal-frame.ts'
import { Journal } from '../../../src/git/journal/journal.ts'
import type { Transition } from '../../../src/git/object-store.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

function openJournal(directory: string, disk: FaultyDisk = new FaultyDisk()): Journal {
  return new Journal({ disk, directory, random: systemRandom, isQuiet: () => true })
}

/** A journal file with these transitions, and its transitions. */
async function written(count: number): Promise<{ directory: string; transitions: Transition[] }> {
  const directory = temporaryDirectory()
  const journal = openJournal(directory)
  const transitions = new TestHistory(1).take(count)
  await journal.append(transitions)
  journal.close()
  return { directory, transitions }
}

/** The head that a new handle finds when the branch does not exist yet. */
function headIn(directory: string): string | undefined {
  const journal = openJournal(directory)
  journal.refresh()
  expect(journal.link(undefined)).toBe(true)
  journal.close()
  return journal.head
}

describe('the journal', () => {
  test('does not treat its own frames as those of others before they are durable', async () => {
    const directory = temporaryDirectory()
    const journal = openJournal(directory)
    const history = new TestHistory(10)
    await journal.append(history.take(1))
    const head = journal.head
    const appending = journal.append(history.take(2))
    // A reader of the same handle looks at the disk while the append waits for the device.
    await new Promise((resolve) => setImmediate(resolve))
    expect(journal.refresh()).toBe('nothing')
    expect(journal.head).toBe(head)
    await appending
    expect(journal.refresh()).toBe('nothing')
    expect(journal.link(undefined)).toBe(true)
    expect(journal.liveFrames).toHaveLength(3)
    expect(journal.head).toBe(history.head)
    journal.close()
  })

  test(
    'writes a batch with one fdatasync, and grows in steps of at most 1 MiB',
    { tags: 'slow' },
    async () => {
      const directory = temporaryDirectory()
      const disk = new FaultyDisk()
      const journal = openJournal(directory, disk)
      const history = new TestHistory(2)
      await journal.append([history.next()])
      disk.syncs = 0
      await journal.append(history.take(32))
      expect(disk.syncs).toBe(1)
      let size = statSync(join(directory, 'journal-a')).size
      for (let n = 0; n < 12; n += 1) {
        await journal.append([history.next(300_000)])
        const next = statSync(join(directory, 'journal-a')).size
        expect(next - size).toBeLessThanOrEqual(2 ** 20)
        size = next
      }
      journal.close()
    },
  )

  test('treats frames up to the one that moved the branch as packed', async () => {
    const { directory, transitions } = await written(4)
    const journal = openJournal(directory)
    journal.refresh()
    for (const [index, { next }] of transitions.entries()) {
      expect(journal.link(next)).toBe(true)
      expect(journal.liveFrames).toHaveLength(3 - index)
      expect(journal.head).toBe(index === 3 ? undefined : transitions.at(-1)?.next)
    }
    journal.close()
  })

  test('does not fit a branch that is at none of its commits', async () => {
    const { directory } = await written(2)
    const journal = openJournal(directory)
    journal.refresh()
    expect(journal.link('e'.repeat(40))).toBe(false)
    journal.close()
  })

  test('does not fit if its files do not follow each other', async () => {
    const { directory } = await written(2)
    const elsewhere = temporaryDirectory()
    const other = openJournal(elsewhere)
    const history = new TestHistory(9)
    await other.append(history.take(1))
    await other.seal()
    await other.append(history.take(1))
    other.close()
    copyFileSync(join(elsewhere, 'journal-b'), join(directory, 'journal-b'))
    const journal = openJournal(directory)
    journal.refresh()
    expect(journal.link(undefined)).toBe(false)
    journal.close()
  })

  test('writes nothing after a write that was neither made nor taken back', async () => {
    const { directory, transitions } = await written(1)
    const disk = new FaultyDisk()
    const journal = openJournal(directory, disk)
    journal.refresh()
    journal.link(undefined)
    const history = new TestHistory(6, journal.head)
    disk.sync = () => Promise.reject(new StoreError('storage_failed', 'The disk failed'))
    const error = { code: 'storage_failed' }
    await expect(journal.append(history.take(2))).rejects.toMatchObject(error)
    disk.sync = (fd) => FaultyDisk.prototype.sync.call(disk, fd)
    const again = new TestHistory(7, journal.head).take(1)
    await expect(journal.append(again)).rejects.toMatchObject(error)
    journal.close()
    expect([transitions, history.transitions].map((all) => all.at(-1)?.next)).toContain(
      headIn(directory),
    )
  })

  test('keeps frames that return to the commit of the branch', async () => {
    const directory = temporaryDirectory()
    const journal = openJournal(directory)
    const [a, b] = new TestHistory(3).take(2)
    if (a === undefined || b === undefined) throw new Error()
    await journal.append([a, b, { objects: [], expected: b.next, next: a.next }])
    expect(journal.link(a.next)).toBe(true)
    expect(journal.head).toBe(a.next)
    expect(journal.find(b.next)).toBeDefined()
    journal.close()
  })

  test('seals one file while the other is written, and both reach the head', async () => {
    const directory = temporaryDirectory()
    const journal = openJournal(directory)
    const history = new TestHistory(4)
    await journal.append(history.take(2))
    expect((await journal.seal())?.frames).toHaveLength(2)
    await journal.append(history.take(3))
    expect(headIn(directory)).toBe(history.head)
    // An interrupted checkpoint is continued where it stopped: the older file is packed first.
    const again = openJournal(directory)
    again.refresh()
    again.link(undefined)
    expect(await again.seal()).toMatchObject({ switched: false, frames: { length: 2 } })
    again.close()

    journal.clearSealed()
    expect(journal.link(history.transitions[1]?.next)).toBe(true)
    expect(journal.liveFrames).toHaveLength(3)
    expect(await journal.seal()).toMatchObject({ switched: true, frames: { length: 3 } })
    journal.close()
  })

  test('gives space back only when it holds nothing, but for its first step', async () => {
    const directory = temporaryDirectory()
    const [journal, history] = [openJournal(directory), new TestHistory(1)]
    const sizes = () =>
      ['journal-a', 'journal-b'].map((name) => statSync(join(directory, name)).size / 1024)
    const first = history.next(300_000)
    await journal.append([first])
    journal.shrink()
    expect(sizes()).toEqual([1024, 0])
    await journal.seal()
    journal.shrink()
    expect(sizes()).toEqual([1024, 64])
    journal.clearSealed()
    journal.shrink()
    expect(sizes()).toEqual([64, 64])
    await journal.append([history.next(100_000), history.next()])
    expect(sizes()).toEqual([64, 256])
    journal.close()
    const other = openJournal(directory)
    other.refresh()
    expect(other.link(first.next)).toBe(true)
    expect(other.head).toBe(history.head)
    other.close()
  })

  test('truncates only when it holds nothing', async () => {
    const { directory } = await written(1)
    const journal = openJournal(directory)
    journal.refresh()
    await journal.truncate()
    expect(statSync(join(directory, 'journal-a')).size).toBeGreaterThan(0)
    await journal.seal()
    journal.clearSealed()
    await journal.truncate()
    expect(statSync(join(directory, 'journal-a')).size).toBe(0)
    expect(statSync(join(directory, 'journal-b')).size).toBe(0)
    journal.close()
  })

  test('scrubs every byte but the live frames, under the eyes of another handle', async () => {
    const { directory, transitions } = await written(3)
    const journal = openJournal(directory)
    journal.refresh()
    journal.link(undefined)
    await journal.seal()
    const more = new TestHistory(2, transitions.at(-1)?.next).take(1)
    await journal.append(more)
    journal.clearSealed()
    expect(journal.link(transitions.at(-1)?.next)).toBe(true)
    const files = ['journal-a', 'journal-b'].map((name) => join(directory, name))
    // What a write has left whose first sector never reached the disk.
    const [, newer = ''] = files
    const stale = readFileSync(newer)
    stale.fill(0x55, journal.bytes + 512)
    writeFileSync(newer, stale)
    const reader = openJournal(directory)
    reader.refresh()
    await journal.scrub()
    expect(readFileSync(files[0] ?? '').every((byte) => byte === 0)).toBe(true)
    expect(
      readFileSync(newer)
        .subarray(journal.bytes)
        .every((byte) => byte === 0),
    ).toBe(true)
    expect(readFileSync(newer)).toHaveLength(stale.length)
    expect([reader.refresh(), journal.refresh()]).toEqual(['nothing', 'nothing'])
    await journal.append(new TestHistory(3, more[0]?.next).take(1))
    expect(reader.refresh()).toBe('everything')
    expect(reader.link(transitions.at(-1)?.next)).toBe(true)
    expect(reader.head).toBe(journal.head)
    reader.close()
    journal.close()
  })

  test('notices frames, and a journal that was started again, of another handle', async () => {
    const directory = temporaryDirectory()
    const [writer, reader] = [openJournal(directory), openJournal(directory)]
    const history = new TestHistory(5)
    for (let round = 0; round < 4; round += 1) {
      const base = history.head
      await writer.append(history.take(2))
      expect(reader.refresh()).not.toBe('nothing')
      expect(reader.link(base)).toBe(true)
      expect(reader.head).toBe(history.head)
      await writer.append(history.take(1))
      expect(reader.refresh()).toBe('frames')
      expect(reader.head).toBe(history.head)
      await writer.seal()
      writer.clearSealed()
      expect(writer.link(history.head)).toBe(true)
      expect(reader.refresh()).toBe('everything')
      expect(reader.link(history.head)).toBe(true)
      expect(reader.head).toBeUndefined()
    }
    writer.close()
    reader.close()
  })

  test('writes frames of another handle again before its own, in the same write', async () => {
    const { directory } = await written(2)
    const disk = new FaultyDisk()
    const journal = openJournal(directory, disk)
    journal.refresh()
    journal.link(undefined)
    const frames = readFileSync(join(directory, 'journal-a'))
    disk.write = (fd, bytes, position) => {
      if (position === sectorBytes) rewritten = bytes
      FaultyDisk.prototype.write.call(disk, fd, bytes, position)
    }
    let rewritten: Uint8Array = new Uint8Array(0)
    const history = new TestHistory(6, journal.head)
    await journal.append([history.next()])
    const end = journal.bytes
    expect(rewritten.length).toBeGreaterThan(0)
    const same = frames.subarray(sectorBytes, sectorBytes + 1000)
    expect(same).toEqual(Buffer.from(rewritten.subarray(0, 1000)))
    expect(disk.syncs).toBe(1)
    // Its own frames are not written twice.
    rewritten = new Uint8Array(0)
    await journal.append([history.next()])
    expect(rewritten).toHaveLength(0)
    expect(journal.bytes).toBeGreaterThan(end)
    journal.close()
  })

  test('refuses an object that another process wrote under a wrong oid', async () => {
    const directory = temporaryDirectory()
    const writer = openJournal(directory)
    const transition = new TestHistory(7).next()
    const [object] = transition.objects
    if (object === undefined) throw new Error()
    const oid = '1'.repeat(40)
    await writer.append([{ ...transition, objects: [{ ...object, oid }] }])
    writer.close()
    const reader = openJournal(directory)
    reader.refresh()
    reader.link(undefined)
    expect(() => reader.find(oid)).toThrow(expect.objectContaining({ code: 'object_corrupt' }))
    reader.close()
  })
})
