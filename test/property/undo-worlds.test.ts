// Undo over random histories in which an intruder and others write in parts of texts that never
// touch: the result is the state that the store would have if the intruder had written nothing. A
// plain model keeps each memory in both worlds.

import { rmSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Author, Change, MemoryStore } from '../../src/index.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore } from '../support/stores.ts'
import { readState, textKey } from './revert-model.ts'

const intruder: Author = { actor: { type: 'session', id: 'intruder' } }
const others: Author = { actor: { type: 'user', id: 'others' } }

/** A text of slots: odd ones never change; the intruder writes 2, 6, 10 and others 0, 4, 8. */
interface Text {
  readonly path: string
  readonly slots: readonly (readonly string[])[]
}

interface Memory {
  /** Undefined: deleted. */
  real: Text | undefined
  /** What it would be if the intruder had written nothing. */
  without: Text | undefined
  readonly past: { readonly text: Text; readonly versionId: string }[]
}

type Deed =
  | { readonly type: 'create' | 'delete' | 'rename' }
  | { readonly type: 'write'; readonly slot: number; readonly lines: number }
  | { readonly type: 'restore'; readonly to: number }

interface Command {
  readonly isIntruder: boolean
  readonly memory: number
  readonly deed: Deed
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      slot: fc.nat(2),
      lines: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ type: 'rename' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'create' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'delete' as const }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('restore' as const), to: fc.nat(1000) }) },
)
const command = fc.record({ isIntruder: fc.boolean(), memory: fc.nat(3), deed })

function newText(fresh: string): Text {
  const slots = Array.from({ length: 12 }, (_, index) => [`${fresh} slot ${index}`])
  return { path: `/${fresh}`, slots }
}

function contentOf({ slots }: Text): string {
  return slots.flatMap((lines) => lines.map((line) => `${line}\n`)).join('')
}

function slotOf({ isIntruder }: Command, which: number): number {
  return 4 * which + (isIntruder ? 2 : 0)
}

/** What a command makes of a text in one world. Lines and paths are fresh, so nothing meets. */
function act(text: Text | undefined, given: Command, fresh: string): Text | undefined {
  const { deed: what } = given
  if (text === undefined || what.type === 'delete') return undefined
  if (what.type === 'rename') return { ...text, path: `/${fresh}` }
  if (what.type !== 'write') return text
  const lines = Array.from({ length: what.lines }, (_, index) => `${fresh} line ${index}`)
  const written = slotOf(given, what.slot)
  return { ...text, slots: text.slots.map((old, slot) => (slot === written ? lines : old)) }
}

/** Whether others can do this without touching what the intruder wrote or took away. */
function isSeparable({ real, without }: Memory, given: Command): boolean {
  if (given.isIntruder || given.deed.type === 'delete') return true
  if (given.deed.type !== 'write') return without !== undefined
  const slot = slotOf(given, given.deed.slot)
  return without?.slots[slot]?.join('\n') === real?.slots[slot]?.join('\n')
}

function changeFor(before: Text, after: Text | undefined): Change {
  if (after === undefined) return { type: 'delete', path: before.path }
  if (after.path !== before.path) return { type: 'rename', path: before.path, to: after.path }
  return { type: 'edit', path: before.path, edit: () => contentOf(after) }
}

class Worlds {
  readonly memories: Map<string, Memory> = new Map()
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** To the store and to both worlds; what would overlap or change nothing is not done. */
  async perform(given: Command, fresh: string): Promise<void> {
    const found = [...this.memories][given.memory % this.memories.size]
    if (given.deed.type === 'create' || found === undefined) {
      return this.#create(given.isIntruder, fresh)
    }
    const [memoryId, memory] = found
    if (given.deed.type === 'restore') {
      return this.#restore(memoryId, memory, given.deed.to, given.isIntruder)
    }
    if (memory.real === undefined || !isSeparable(memory, given)) return undefined
    const after = act(memory.real, given, fresh)
    const change = changeFor(memory.real, after)
    const made = await this.#store.as(given.isIntruder ? intruder : others).apply([change])
    memory.real = after
    const [versionId] = made.versionIds
    if (after !== undefined && versionId !== undefined) memory.past.push({ text: after, versionId })
    if (!given.isIntruder) memory.without = act(memory.without, given, fresh)
    return undefined
  }

  async #create(isIntruder: boolean, fresh: string): Promise<void> {
    const text = newText(fresh)
    const change: Change = { type: 'create', path: text.path, content: contentOf(text) }
    await this.#store.as(isIntruder ? intruder : others).apply([change])
    const { memoryId = '', versionId = '' } = (await this.#store.read(text.path)) ?? {}
    const without = isIntruder ? undefined : text
    this.memories.set(memoryId, { real: text, without, past: [{ text, versionId }] })
  }

  async #restore(memoryId: string, memory: Memory, to: number, byIntruder: boolean): Promise<void> {
    const old = memory.past[to % memory.past.length]
    if (memory.real !== undefined || old === undefined) return
    const { text, versionId } = old
    const by = byIntruder ? intruder : others
    await this.#store.as(by).restore({ memory: memoryId, to: { versionId } })
    memory.real = text
    if (!byIntruder) memory.without = text
  }
}

function textsOf(
  state: ReadonlyMap<string, { readonly path: string; readonly content: string }>,
): readonly string[] {
  return [...state].map(([id, text]) => `${id} ${textKey(text)}`).toSorted()
}

test(
  'edits that do not overlap are undone as if they had never been made',
  { tags: 'slow' },
  async () => {
    const commands = fc.array(command, { maxLength: full ? 60 : 40, size: 'max' })
    const property = fc.asyncProperty(commands, async (given) => {
      const { store, place } = await newStore()
      try {
        const worlds = new Worlds(store)
        for (const [index, each] of given.entries()) await worlds.perform(each, `fresh-${index}`)
        const { left } = await store.as(author).undo({ actorId: 'intruder' })
        expect(left).toEqual([])
        const expected = new Map<string, { path: string; content: string }>()
        for (const [id, { without }] of worlds.memories) {
          if (without !== undefined) expected.set(id, { ...without, content: contentOf(without) })
        }
        expect(textsOf(await readState(store))).toEqual(textsOf(expected))
        await store.maintenance.verify()
      } finally {
        await store.close()
        rmSync(place.directory, { recursive: true })
      }
    })
    await fc.assert(property, { seed, numRuns: full ? 400 : 15 })
  },
)
