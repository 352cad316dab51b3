// What the records of a host promise, whatever keeps them: changes of several processes, pages, and
// refusal of older and hostile states.

import { describe, expect, test } from 'vitest'
import {
  type HostRecords,
  type RecordQuery,
  type RecordTables,
  untilChanged,
} from '../../src/hosting/host-records.ts'

/** Scoped by its owner, like a store by its workspace. */
export interface Note {
  readonly id: string
  readonly owner: string
  readonly time: number
  readonly text: string
}

interface Tag {
  readonly id: string
  readonly time: number
  readonly count: number
}

export interface TestRecords {
  readonly notes: Note
  readonly tags: Tag
}

export const testTables: RecordTables<TestRecords> = {
  notes: {
    idOf: ({ id }) => id,
    scopeOf: ({ owner }) => owner,
    timeOf: ({ time }) => time,
    weightOf: ({ text }) => text.length,
    order: 'newest',
  },
  tags: { idOf: ({ id }) => id, scopeOf: () => '', timeOf: ({ time }) => time, order: 'added' },
}

export interface OpenedRecords {
  readonly records: HostRecords<TestRecords>
  /** The codes of all notices. */
  readonly codes: readonly string[]
}

/** Records at one place, which several processes open. */
export interface RecordsSite {
  /** Opens the records as another process does. `acceptRolledBack` is false by default. */
  open(acceptRolledBack?: boolean): Promise<OpenedRecords>
  /** Copies all stored bytes, but not the state outside; the result puts them back. */
  save(): () => void
  /** Changes stored bytes, as their host can without keys. */
  readonly attacks: Readonly<Record<'cut' | 'swap' | 'flip' | 'foreign', () => Promise<void>>>
}

function note(id: string, more: Partial<Note> = {}): Note {
  return { id, owner: 'a', time: Number(id.slice(1)), text: `text of ${id}`, ...more }
}

const everything = {
  scope: 'a',
  among: undefined,
  since: -Infinity,
  until: Infinity,
  after: undefined,
  isWanted: () => true,
  limit: 100,
} as const satisfies RecordQuery<Note>

const add = (record: Note) => ({ kind: 'add', table: 'notes', record }) as const
const remove = (id: string) => ({ kind: 'remove', table: 'notes', id }) as const

async function revisionOf({ records }: OpenedRecords, id: string): Promise<string> {
  return (await records.find('notes', id))?.revision ?? ''
}

const idsOf = (notes: readonly Note[]): string => notes.map(({ id }) => id).join(' ')

/** Runs the contract against places that `make` makes. */
export function describeHostRecords(kind: string, make: () => Promise<RecordsSite>): void {
  const opened = async (): Promise<readonly [OpenedRecords, OpenedRecords, RecordsSite]> => {
    const site = await make()
    return [await site.open(), await site.open(), site]
  }

  describe(`host records (${kind})`, () => {
    test('are first written once, even by two processes', async () => {
      const site = await make()
      const [one, other] = await Promise.all([site.open(), site.open()])
      const [tag, ...more] = await one.records.list('tags')
      expect([tag?.id, more]).toEqual(['first', []])
      expect(await other.records.list('tags')).toEqual([tag])
      expect([one.records.wasRolledBack, other.records.wasRolledBack]).toEqual([false, false])
    })

    test('are found by every process once a change is acknowledged', async () => {
      const [one, other] = await opened()
      expect(await one.records.change([add(note('n1'))])).toBe(true)
      expect((await other.records.find('notes', 'n1'))?.record).toEqual(note('n1'))
      expect(await other.records.change([remove('n1')])).toBe(true)
      expect(await one.records.find('notes', 'n1')).toBeUndefined()
      expect(await one.records.count('notes')).toBe(0)
    })

    test('have another revision for other contents', async () => {
      const [one, other] = await opened()
      await one.records.change([add(note('n1'))])
      const revision = await revisionOf(one, 'n1')
      expect(await revisionOf(other, 'n1')).toBe(revision)
      const record = note('n1', { text: 'other' })
      await other.records.change([{ kind: 'replace', table: 'notes', record, revision }])
      expect(await revisionOf(one, 'n1')).not.toBe(revision)
    })

    test('are listed newest first, or as they were added', async () => {
      const [{ records }, other] = await opened()
      for (const id of ['n2', 'n4', 'n1', 'n3']) await records.change([add(note(id))])
      const tag = { id: 'second', time: 5, count: 0 }
      await records.change([{ kind: 'add', table: 'tags', record: tag }])
      expect(idsOf(await other.records.list('notes'))).toBe('n4 n3 n2 n1')
      expect((await other.records.list('tags')).map(({ id }) => id)).toEqual(['first', 'second'])
      const { lists } = await other.records.snapshot()
      expect([idsOf(lists.notes), lists.tags.length]).toEqual(['n4 n3 n2 n1', 2])
    })
  })

  describe(`a change of host records (${kind})`, () => {
    test('is made as a whole or not at all', async () => {
      const [{ records }, other] = await opened()
      await records.change([add(note('n1'))])
      const steps = [add(note('n2')), remove('n1'), add(note('n3')), remove('none')]
      expect(await records.change(steps)).toBe(false)
      expect(idsOf(await other.records.list('notes'))).toBe('n1')
      expect(await records.change(steps.slice(0, 3))).toBe(true)
      expect(idsOf(await other.records.list('notes'))).toBe('n3 n2')
    })

    test('fails if a step does not hold for the present records', async () => {
      const [one, other] = await opened()
      const { records } = one
      await records.change([add(note('n1'))])
      const revision = await revisionOf(one, 'n1')
      const record = note('n1', { text: 'newer' })
      const replace = { kind: 'replace', table: 'notes', record, revision } as const
      const expecting = { kind: 'expect', table: 'notes', id: 'n1', revision } as const
      expect(await records.change([expecting, add(note('n2'))])).toBe(true)
      await other.records.change([replace])
      const missing = { ...replace, record: note('n9') }
      for (const step of [replace, missing, expecting, add(note('n1')), remove('n9')]) {
        expect(await records.change([add(note('n3')), step]), step.kind).toBe(false)
      }
      expect(await records.list('notes')).toEqual([note('n2'), record])
    })

    test('removes a scope, or all records up to a time', async () => {
      const [{ records }] = await opened()
      const owned = (id: string): Note => note(id, { owner: 'b' })
      await records.change([note('n1'), owned('n2'), note('n3'), owned('n4')].map(add))
      await records.change([{ kind: 'expire', table: 'notes', until: 2 }])
      expect(idsOf(await records.list('notes'))).toBe('n4 n3')
      await records.change([{ kind: 'clear', table: 'notes', scope: 'b' }])
      expect(idsOf(await records.list('notes'))).toBe('n3')
      const idle = { kind: 'clear', table: 'notes', scope: 'no one' } as const
      expect(await records.change([idle]), 'nothing to remove').toBe(true)
    })

    test('keeps a scope within its bounds', async () => {
      const [{ records }] = await opened()
      const bound = { kind: 'bound', table: 'notes', scope: 'a', count: 2, weight: 10 } as const
      const short = (id: string, text = 'four'): Note => note(id, { text })
      expect(await records.change([add(short('n1')), bound])).toBe(true)
      expect(await records.change([add(short('n2', 'too long')), bound])).toBe(false)
      expect(await records.change([add(note('n2', { owner: 'b' })), bound])).toBe(true)
      expect(await records.change([add(short('n3')), bound])).toBe(true)
      expect(await records.change([add(short('n4', '')), bound])).toBe(false)
      expect(await records.tally('notes', 'a', -Infinity)).toEqual({ count: 2, weight: 8 })
      expect(await records.tally('notes', 'a', 1)).toEqual({ count: 1, weight: 4 })
    })

    test('is made by one of two processes that saw the same revision', async () => {
      const [one, other] = await opened()
      await one.records.change([add(note('n1', { text: '0' }))])
      for (let round = 1; round <= 10; round += 1) {
        const revision = await revisionOf(one, 'n1')
        const tries = [one, other].map(({ records }, index) => {
          const record = note('n1', { text: `${round} by ${index}` })
          return records.change([{ kind: 'replace', table: 'notes', record, revision }])
        })
        const made = await Promise.all(tries)
        expect(made.filter(Boolean)).toHaveLength(1)
        const { record } = (await other.records.find('notes', 'n1')) ?? {}
        expect(record?.text).toBe(`${round} by ${made.indexOf(true)}`)
      }
    })

    test('is planned again until it is made, and none is lost', async () => {
      const [one, other] = await opened()
      const increment = ({ records }: OpenedRecords): Promise<true> => {
        return untilChanged(async () => {
          const found = await records.find('tags', 'first')
          if (found === undefined) throw new Error('the first tag is missing')
          const { record, revision } = found
          const next = { ...record, count: record.count + 1 }
          const step = { kind: 'replace', table: 'tags', record: next, revision } as const
          return (await records.change([step])) || undefined
        })
      }
      await Promise.all(Array.from({ length: 20 }, (_, at) => increment(at % 2 ? one : other)))
      expect((await one.records.find('tags', 'first'))?.record.count).toBe(20)
    })

    test('holds a bound against many at once', async () => {
      const [one, other] = await opened()
      const bound = { kind: 'bound', table: 'notes', scope: 'a', count: 3, weight: 1000 } as const
      const tries = Array.from({ length: 10 }, (_, at) => {
        return (at % 2 ? one : other).records.change([add(note(`n${at}`)), bound])
      })
      expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(3)
      expect(await one.records.count('notes')).toBe(3)
    })
  })

  describe(`a page of host records (${kind})`, () => {
    test('has the wanted records of a scope within a range, at most the limit', async () => {
      const [{ records }] = await opened()
      const notes = [1, 2, 3, 4, 5, 6].map((at) => note(`n${at}`))
      await records.change([...notes.map(add), add(note('n7', { owner: 'b' }))])
      const page = async (query: Partial<RecordQuery<Note>>): Promise<string> => {
        return idsOf(await records.page('notes', { ...everything, ...query }))
      }
      expect(await page({})).toBe('n6 n5 n4 n3 n2 n1')
      expect(await page({ scope: 'b' })).toBe('n7')
      expect(await page({ since: 2, until: 5 })).toBe('n5 n4 n3 n2')
      expect(await page({ after: { time: 4, id: 'n4' }, limit: 2 })).toBe('n3 n2')
      expect(await page({ isWanted: ({ time }) => time % 2 === 0, limit: 2 })).toBe('n6 n4')
      expect(await page({ among: ['n2', 'n7', 'none', 'n5'] })).toBe('n5 n2')
      expect(await page({ among: ['n2', 'n5'], after: { time: 4, id: 'n4' } })).toBe('n2')
      expect(await page({ among: [] })).toBe('')
    })

    test('orders records of one time by their ids, the greatest first', async () => {
      const [{ records }] = await opened()
      await records.change(['n2', 'n3', 'n1'].map((id) => add(note(id, { time: 5 }))))
      expect(idsOf(await records.page('notes', everything))).toBe('n3 n2 n1')
      const after = { time: 5, id: 'n3' }
      expect(idsOf(await records.page('notes', { ...everything, after }))).toBe('n2 n1')
    })

    test('follows the one before, while records are added and removed', async () => {
      const [one, other] = await opened()
      const kept = Array.from({ length: 12 }, (_, at) => note(`n${10 + 2 * at}`))
      await one.records.change(kept.map(add))
      const found: Note[] = []
      for (let round = 0; ; round += 1) {
        const last = found.at(-1)
        const after = last && { time: last.time, id: last.id }
        const page = await one.records.page('notes', { ...everything, after, limit: 5 })
        if (page.length === 0) break
        found.push(...page)
        const older = note(`n${11 + 2 * round}`)
        await other.records.change([add(note(`n${100 + round}`)), add(older)])
        if (round > 0) await other.records.change([remove('n100'), add(note('n100'))])
      }
      const ids = found.map(({ id }) => id)
      expect(new Set(ids).size, 'none twice').toBe(ids.length)
      for (const { id } of kept) expect(ids).toContain(id)
      expect(found.map(({ time }) => time)).toEqual(
        found.map(({ time }) => time).toSorted(descending),
      )
    })
  })

  describe(`an older or hostile state of host records (${kind})`, () => {
    test('is not believed while they are open, and refused when they are opened', async () => {
      const [one, other, site] = await opened()
      await one.records.change([add(note('n1', { text: 'works' }))])
      const putBack = site.save()
      await other.records.change([remove('n1')])
      expect(await one.records.find('notes', 'n1')).toBeUndefined()
      putBack()
      const codeOf = (error: { code: string }): string => error.code
      expect([undefined, 'rolled_back']).toContain(
        await one.records.find('notes', 'n1').catch(codeOf),
      )
      await expect(site.open()).rejects.toMatchObject({ code: 'rolled_back' })
    })

    test('is accepted once if that is asked for, and what it replaced is refused', async () => {
      const [one, , site] = await opened()
      await one.records.change([add(note('n1'))])
      const putOlder = site.save()
      await one.records.change([add(note('n2'))])
      const putNewer = site.save()
      putOlder()
      const { records } = await site.open(true)
      expect(records.wasRolledBack).toBe(true)
      expect(idsOf(await records.list('notes'))).toBe('n1')
      expect((await site.open()).records.wasRolledBack).toBe(false)
      putNewer()
      await expect(site.open()).rejects.toMatchObject({ code: 'rolled_back' })
    })

    test.each(['cut', 'swap', 'flip', 'foreign'] as const)(
      'is refused after a %s',
      async (name) => {
        const [one, , site] = await opened()
        await one.records.change([add(note('n1')), add(note('n2'))])
        await site.attacks[name]()
        const reading = site.open().then(async ({ records }) => {
          return [await records.find('notes', 'n1'), await records.find('notes', 'n2')]
        })
        await expect(reading).rejects.toMatchObject({ code: 'wrong_key' })
      },
    )
  })
}

function descending(a: number, b: number): number {
  return b - a
}
