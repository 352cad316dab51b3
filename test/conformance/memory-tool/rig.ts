// Runs the tables: one real store on disk per test file, emptied before each row. After every step
// it also checks what holds for all rows: a refused command, a view and a command that changes
// nothing leave the head where it was, an accepted write moves it, and no answer names the host.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MemoryToolHandlers, memoryToolHandlers } from '../../../src/anthropic/memory-tool.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import type { Author } from '../../../src/store/commits/commit-context.ts'
import { createStore } from '../../../src/store/create.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { sample } from '../../support/seed.ts'
import { sharedDirectory } from '../../support/temporary.ts'
import { corpus } from './corpus.ts'
import type { Call, Chapter, Row, Step } from './steps.ts'

export interface Outcome {
  readonly text: unknown
  readonly refused: boolean
}

/** How a command reaches the store. */
export type Transport = (store: MemoryStore, call: Call) => Promise<Outcome>

export interface Rig {
  readonly store: MemoryStore
  readonly handlers: MemoryToolHandlers
  /** The directory of the store, which no answer may mention. */
  readonly directory: string
  /** Defines a test for each row, named by the rule with the prefix before it. */
  rows(prefix: string, rows: readonly Row[], transport?: Transport): void
  /** Empties the store and takes the steps. */
  given(...steps: readonly Step[]): Promise<void>
}

const author: Author = { actor: { type: 'user', id: 'test' } }

/** Makes the store of a rig, in its directory. */
export type MakeStore = (directory: string, limits: Chapter['limits']) => Promise<MemoryStore>

export const makeStore: MakeStore = async (directory, limits = {}) => {
  const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
  const identity = await generateIdentity()
  return (await createStore({ ...places, identity, limits })).store
}

/** Call it once, at the top of a file or of a `describe`. */
export function rig(limits: Chapter['limits'] = {}, make: MakeStore = makeStore): Rig {
  const directory = sharedDirectory()
  let made: MemoryStore | undefined
  beforeAll(async () => {
    made = await make(directory, limits)
  })
  afterAll(() => made?.close())
  return {
    directory,
    get store() {
      if (made === undefined) throw new Error('the store is made in beforeAll')
      return made
    },
    get handlers() {
      return memoryToolHandlers(this.store, { session: 'session' })
    },
    rows(prefix, rows, transport = throughHandlers) {
      const named = rows.map(([rule, ...steps]) => [prefix + rule, steps] as const)
      test.each(named)('%s', async (_, steps) => {
        await empty(this.store)
        const seen: Sight[] = []
        for (const step of steps) seen.push(await take(this, step, transport))
        expect(seen).toEqual(steps.map(wanted))
      })
    },
    async given(...steps) {
      await empty(this.store)
      for (const step of steps) {
        expect(await take(this, step, throughHandlers)).toEqual(wanted(step))
      }
    },
  }
}

/** A way to the memory tool that must give the same texts as the handlers. */
export interface Door {
  readonly transport: Transport
  readonly make?: MakeStore
  /** What of the corpus cannot be said through it. */
  readonly lacks: readonly Chapter['needs'][]
  /** The number of rows that a slow way runs by default; all with FULL=1. */
  readonly oneIn?: number
}

/** Defines a test for each row of the corpus, with one store for all chapters of equal limits. */
export function testCorpus({ transport, make, lacks, oneIn = 1 }: Door): void {
  const said = corpus.filter(({ needs }) => needs === undefined || !lacks.includes(needs))
  const groups = new Map(said.map(({ limits }) => [JSON.stringify(limits ?? {}), limits]))
  describe.each([...groups])('with the limits %s', (key, limits) => {
    const tool = rig(limits, make)
    for (const { name, rows, limits: own } of said) {
      if (JSON.stringify(own ?? {}) === key) tool.rows(`${name}: `, sample(rows, oneIn), transport)
    }
  })
}

export const throughHandlers: Transport = async (store, { command, input }) =>
  outcomeOf(memoryToolHandlers(store, { session: 'session' })[command](input))

/** The answer, or the content of the ToolError. */
export async function outcomeOf(answer: Promise<string>): Promise<Outcome> {
  try {
    return { text: await answer, refused: false }
  } catch (error) {
    const text = error instanceof Error && 'content' in error ? error.content : error
    return { text, refused: true }
  }
}

/** The result of a step: the content, or the answer and its effect. */
interface Sight {
  readonly step: string
  readonly text: unknown
  readonly refused?: boolean
  readonly moved?: boolean
  readonly namesHost?: boolean
}

async function take(at: Rig, step: Step, transport: Transport): Promise<Sight> {
  const { store, directory } = at
  if ('at' in step) return { step: nameOf(step), text: (await store.read(step.at))?.content }
  const before = (await store.status()).head
  const outcome = await transport(store, step)
  const moved = (await store.status()).head !== before
  const namesHost = String(outcome.text).includes(directory)
  return { step: nameOf(step), ...outcome, moved, namesHost }
}

function wanted(step: Step): unknown {
  if ('at' in step) return { step: nameOf(step), text: step.content }
  const { refused, noop } = step
  return { step: nameOf(step), text: textOf(step), refused, moved: !noop, namesHost: false }
}

/** Compares by `toEqual`, as a string or as `expect.stringMatching` does. */
function textOf({ text }: Call): unknown {
  if (typeof text === 'string') return text
  return { asymmetricMatch: (seen: unknown) => text.test(String(seen)), toString: () => `${text}` }
}

function nameOf(step: Step): string {
  return 'at' in step ? step.at : `${step.command} ${JSON.stringify(step.input)?.slice(0, 200)}`
}

async function empty(store: MemoryStore): Promise<void> {
  const root = await store.list('/', { depth: 1 })
  const children = root?.children ?? []
  const all = children.map(({ path }) => ({ type: 'delete', path }) as const)
  if (all.length > 0) await store.as(author).apply(all)
}
