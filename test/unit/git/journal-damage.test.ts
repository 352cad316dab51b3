// Damage in a journal file is refused and never written over; a write that did not end is
// neither damage nor kept from being written over; one that is under way is not damage either.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { StoreError } from '../../../src/errors.ts'
import { batchHeadBytes, magicBytes, sectorBytes } from '../../../src/git/journal/journal-frame.ts'
import { framesOf, surveyJournal } from '../../../src/git/journal/journal-survey.ts'
import { Journal } from '../../../src/git/journal/journal.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

function openJournal(
  directory: string,
  disk: FaultyDisk = new FaultyDisk(),
  isQuiet: () => boolean = () => true,
): Journal {
  return new Journal({ disk, directory, random: systemRandom, isQuiet })
}

/** The head that a new handle finds when the branch does not exist yet. */
function headIn(directory: string): string | undefined {
  const journal = openJournal(directory)
  try {
    journal.refresh()
    expect(journal.link(undefined)).toBe(true)
    return journal.head
  } finally {
    journal.close()
  }
}

/** The file's bytes after each append; the first are those before any append. */
async function appended(counts: readonly number[]): Promise<{
  path: string
  directory: string
  states: Uint8Array[]
  heads: (string | undefined)[]
}> {
  const directory = temporaryDirectory()
  const path = join(directory, 'journal-a')
  const journal = openJournal(directory)
  const history = new TestHistory(1)
  const states: Uint8Array[] = []
  const heads: (string | undefined)[] = []
  for (const count of counts) {
    await journal.append(history.take(count))
    states.push(new Uint8Array(readFileSync(path)))
    heads.push(history.head)
  }
  journal.close()
  return { path, directory, states, heads }
}

/** The head that a new handle finds, or the code with which it refuses. */
function verdictIn(directory: string): string | undefined {
  try {
    return headIn(directory)
  } catch (error) {
    if (error instanceof StoreError) return error.code
    throw error
  }
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

/** The state after a power loss: each sector that `after` changed was written or was not. */
function partly(before: Uint8Array, after: Uint8Array, isWritten: () => boolean): Uint8Array {
  const mixed = Uint8Array.from(after)
  for (let at = 0; at < after.length; at += sectorBytes) {
    if (!isWritten()) mixed.set(before.subarray(at, at + sectorBytes), at)
  }
  return mixed
}

describe('a damaged journal file', () => {
  test('with any bit flipped is refused, or shows all that was appended', async () => {
    const { directory, path, states, heads } = await appended([2, 1, 3])
    const [bytes, head] = [states.at(-1) ?? new Uint8Array(0), heads.at(-1)]
    const { end } = surveyJournal(bytes)
    const verdicts = new Set<string | undefined>()
    const stride = full ? 1 : 1009
    for (let bit = seed % stride; bit < 8 * (end + sectorBytes); bit += stride) {
      writeFileSync(path, flipped(bytes, bit))
      const verdict = verdictIn(directory)
      verdicts.add(verdict)
      if (verdict !== head && verdict !== 'journal_corrupt') expect(`${bit} ${verdict}`).toBe(head)
    }
    expect(verdicts).toEqual(new Set([head, 'journal_corrupt']))
  })

  test('cut off anywhere is refused, or shows all appended commits', async () => {
    const { directory, path, states, heads } = await appended([2, 1, 3])
    const bytes = states.at(-1) ?? new Uint8Array(0)
    const { end } = surveyJournal(bytes)
    const lengths = [1, 511, 512, 513, end - 1, end, end + 1, end + 511, end + 512, end + 513]
    for (let length = 1; length < end + 600; length += full ? 1 : 397) lengths.push(length)
    for (const length of lengths) {
      writeFileSync(path, bytes.subarray(0, length))
      const expected = length < end + sectorBytes ? 'journal_corrupt' : heads.at(-1)
      expect([length, verdictIn(directory)]).toEqual([length, expected])
    }
    // Nothing in the file tells that it held anything.
    writeFileSync(path, '')
    expect(verdictIn(directory)).toBeUndefined()
  })

  test.each([
    ['its first sector', 0, sectorBytes],
    ['a sector of an append that others follow', 2 * sectorBytes, 3 * sectorBytes],
    ['all of its first append', sectorBytes, 6 * sectorBytes],
  ])('with zeros in %s is refused', async (_, start, end) => {
    const { directory, path, states } = await appended([1, 1, 1])
    const bytes = Uint8Array.from(states.at(-1) ?? [])
    writeFileSync(path, bytes.fill(0, start, end))
    expect(verdictIn(directory)).toBe('journal_corrupt')
  })

  test('without its start, and whose only append is damaged, is refused', async () => {
    const { directory, path, states } = await appended([1])
    const bytes = flipped(states[0] ?? new Uint8Array(0), 8 * (sectorBytes + batchHeadBytes))
    writeFileSync(path, bytes.fill(0, 0, sectorBytes))
    expect(verdictIn(directory)).toBe('journal_corrupt')
  })

  test('that ends within a sector is refused, whichever zeros it has', async () => {
    const { directory, path, states } = await appended([1, 1])
    const [before, after] = [states[0] ?? new Uint8Array(0), Uint8Array.from(states[1] ?? [])]
    const { end } = surveyJournal(before)
    writeFileSync(path, after.fill(0, end, end + batchHeadBytes).subarray(0, end + sectorBytes - 1))
    expect(verdictIn(directory)).toBe('journal_corrupt')
  })

  test('with zeros in the first bytes alone of its last append is refused', async () => {
    const { directory, path, states } = await appended([1, 1])
    const { end } = surveyJournal(states[0] ?? new Uint8Array(0))
    writeFileSync(path, Uint8Array.from(states[1] ?? []).fill(0, end, end + magicBytes))
    expect(verdictIn(directory)).toBe('journal_corrupt')
  })

  test('does not go on with an append of another use of the file', async () => {
    const [file, other] = [await appended([1, 1]), await appended([1, 1])]
    const { end } = surveyJournal(file.states[0] ?? new Uint8Array(0))
    const bytes = Uint8Array.from(file.states[1] ?? [])
    bytes.set(other.states[1]?.subarray(end) ?? [], end)
    writeFileSync(file.path, bytes)
    expect(surveyJournal(bytes)).toMatchObject({ end, rest: 'damaged' })
    expect(verdictIn(file.directory)).toBe('journal_corrupt')
  })

  test(
    'is written by no handle, and can be read again once it is restored',
    { tags: 'slow' },
    async () => {
      const { directory, path, states, heads } = await appended([1, 1])
      const bytes = states.at(-1) ?? new Uint8Array(0)
      const journal = openJournal(directory)
      writeFileSync(path, flipped(bytes, 8 * (surveyJournal(bytes).end - sectorBytes)))
      const damaged = readFileSync(path)
      for (let attempt = 0; attempt < 2; attempt += 1) {
        expect(() => journal.refresh()).toThrow(
          expect.objectContaining({ code: 'journal_corrupt' }),
        )
      }
      expect(readFileSync(path)).toEqual(damaged)
      writeFileSync(path, bytes)
      expect(journal.refresh()).toBe('everything')
      expect(journal.link(undefined)).toBe(true)
      expect(journal.head).toBe(heads.at(-1))
      journal.close()
    },
  )

  test(
    'names the intact batches on both sides of the damage, with its bytes',
    { tags: 'slow' },
    async () => {
      const { states } = await appended([2, 1, 3, 1])
      const bytes = states.at(-1) ?? new Uint8Array(0)
      const whole = surveyJournal(bytes)
      expect(whole).toMatchObject({ rest: 'zeros', after: [], damage: undefined })
      expect(whole.before.map(({ frames }) => frames.length)).toEqual([0, 2, 1, 3, 1])
      for (const [index, { start, end }] of whole.before.entries()) {
        // In the magic, the length, the sum of the head, the frames.
        for (const at of [0, 7, 40, batchHeadBytes + 3]) {
          const found = surveyJournal(flipped(bytes, 8 * (start + at)))
          if (index === 0 && at > batchHeadBytes) continue
          expect(found).toMatchObject({ rest: 'damaged', end: start })
          expect(framesOf(found.before)).toEqual(framesOf(whole.before.slice(0, index)))
          expect(framesOf(found.after)).toEqual(framesOf(whole.before.slice(index + 1)))
          const last = index === whole.before.length - 1
          expect(found.damage?.start).toBe(start)
          if (!last) expect(found.damage?.end).toBe(end)
          else expect(found.damage?.end).toBeLessThanOrEqual(end)
        }
      }
    },
  )

  test('may be an unfinished write: without the lock it is not reported as damaged', async () => {
    const { directory, path, states, heads } = await appended([2, 2])
    const [before = new Uint8Array(0), after = new Uint8Array(0)] = states
    let isQuiet = false
    const reader = openJournal(directory, new FaultyDisk(), () => isQuiet)
    // Half of a sector of the last append: no disk does that, but another process sees it.
    const underWay = Uint8Array.from(before)
    const { end } = surveyJournal(before)
    underWay.set(after.subarray(end, after.length - 100), end)
    underWay.fill(0, end + 20, end + 40)
    writeFileSync(path, underWay)
    reader.refresh()
    expect([reader.doubtful, reader.link(undefined), reader.head]).toEqual([true, true, heads[0]])
    writeFileSync(path, after)
    reader.refresh()
    expect([reader.doubtful, reader.link(undefined), reader.head]).toEqual([false, true, heads[1]])
    // The same bytes while no process can be writing.
    writeFileSync(path, underWay)
    reader.close()
    isQuiet = true
    const next = openJournal(directory, new FaultyDisk(), () => isQuiet)
    expect(() => next.refresh()).toThrow(expect.objectContaining({ code: 'journal_corrupt' }))
    next.close()
  })

  test('is read twice: a write in progress is not damage', async () => {
    const { directory, path, states, heads } = await appended([2, 2])
    const [, after = new Uint8Array(0)] = states
    writeFileSync(path, flipped(after, 8 * 600))
    // Between the two looks the writer ends, and lets go of the lock.
    const reader = openJournal(directory, new FaultyDisk(), () => {
      writeFileSync(path, after)
      return true
    })
    reader.refresh()
    expect(reader.link(undefined)).toBe(true)
    expect(reader.head).toBe(heads[1])
    reader.close()
  })
})

describe('a write that did not end', () => {
  const runs = { seed, numRuns: full ? 2000 : 30 }
  const subset = fc.infiniteStream(fc.boolean())

  test(
    'is recognised, whichever of its sectors are on the disk, and written over',
    { tags: 'slow' },
    async () => {
      const { directory, path, states, heads } = await appended([2, 2, 3])
      const sizes = fc.integer({ min: 0, max: 2 })
      await fc.assert(
        fc.asyncProperty(subset, sizes, subset, async (written, step, overwritten) => {
          const [before, after] = [states[step - 1], states[step]]
          if (before === undefined || after === undefined) return
          const longer = Buffer.concat([before], after.length)
          const mixed = partly(longer, after, () => written.next().value ?? true)
          writeFileSync(path, mixed)
          const head = verdictIn(directory)
          expect([heads[step - 1], heads[step]]).toContain(head)
          // The rest of it is removed before anything is written there, and that may tear as well.
          const disk = new FaultyDisk()
          const writes: Uint8Array[] = []
          disk.write = (fd, bytes, position) => {
            writes.push(readFileSync(path))
            FaultyDisk.prototype.write.call(disk, fd, bytes, position)
            writes.push(readFileSync(path))
          }
          const journal = openJournal(directory, disk)
          journal.refresh()
          journal.link(undefined)
          const history = new TestHistory(7, journal.head)
          await journal.append([history.next(10)])
          journal.close()
          expect(verdictIn(directory)).toBe(history.head)
          for (let at = 0; at < writes.length; at += 2) {
            const [from, to] = [writes[at] ?? after, writes[at + 1] ?? after]
            const same = Buffer.concat([from], to.length)
            writeFileSync(
              path,
              partly(same, to, () => overwritten.next().value ?? true),
            )
            expect([head, history.head]).toContain(verdictIn(directory))
          }
        }),
        runs,
      )
    },
  )

  test('is recognised, wherever the process was killed in it', async () => {
    const { directory, path, states, heads } = await appended([1, 1])
    const [before = new Uint8Array(0), after = new Uint8Array(0)] = states
    const { end: start } = surveyJournal(before)
    const { end } = surveyJournal(after)
    const stride = (cut: number): number => (cut < start + batchHeadBytes ? 7 : 61)
    for (let cut = start; cut < end; cut += full ? 1 : stride(cut)) {
      writeFileSync(path, Buffer.concat([after.subarray(0, cut), before.subarray(cut)]))
      expect([cut, [heads[0], heads[1]].includes(verdictIn(directory))]).toEqual([cut, true])
    }
  })

  test('may repeat the frames of a dead process', async () => {
    const { directory, path, states, heads } = await appended([1, 1])
    const heir = openJournal(directory)
    heir.refresh()
    heir.link(undefined)
    const history = new TestHistory(8, heads[1])
    await heir.append(history.take(2))
    heir.close()
    const after = readFileSync(path)
    const [before = new Uint8Array(0)] = states
    const old = Buffer.concat([before], after.length)
    const allowed = [heads[0], heads[1], history.head]
    fc.assert(
      fc.property(subset, (sectors) => {
        writeFileSync(
          path,
          partly(old, after, () => sectors.next().value ?? true),
        )
        expect(allowed).toContain(verdictIn(directory))
      }),
      runs,
    )
  })
})
