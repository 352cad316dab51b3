// Random commands on a real store and on the model of store-model.ts: contents agree after every
// step, whatever happens to handles, caches and packs in between; at the end so does the history.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { StoreError } from '../../src/errors.ts'
import {
  formatIdentity,
  type MemoryStore,
  type OpenOptions,
  type Version,
} from '../../src/index.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore, reopen, type TestPlace } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { changes, smallLimits, toChange } from './store-commands.ts'
import {
  type ModelLimits,
  ModelRefusal,
  type ModelVersion,
  type PlannedChange,
  StoreModel,
} from './store-model.ts'

type Step =
  /** Commands that are given at once, so that they share a write to disk. */
  | { readonly type: 'apply'; readonly batch: readonly (readonly PlannedChange[])[] }
  | { readonly type: 'limits'; readonly limits: ModelLimits }
  | { readonly type: 'epoch' }
  | { readonly type: 'checkpoint' }
  | { readonly type: 'reopen'; readonly losingCaches: boolean }

/** `handle` is the one of two open handles that takes the step. */
type HandledStep = Step & { readonly handle: 0 | 1 }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({ type: fc.constant('apply' as const), batch: fc.tuple(changes) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('apply' as const),
      batch: fc.array(changes, { maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('limits' as const),
      limits: fc.record({
        contentBytes: fc.constantFrom(4, 40),
        memories: fc.constantFrom(1, 9, 30),
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('epoch' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('checkpoint' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('reopen' as const), losingCaches: fc.boolean() }),
  },
)
const stepsUpTo = (maxLength: number): fc.Arbitrary<readonly HandledStep[]> => {
  const handled = fc.tuple(step, fc.constantFrom(0 as const, 1 as const)).map(([each, handle]) => {
    return { ...each, handle }
  })
  return fc.array(handled, { maxLength, size: 'max' })
}
const steps = stepsUpTo(full ? 120 : 40)
/** Few: an archived store refuses nearly everything. */
const stepsOnceArchived = fc.option(stepsUpTo(8), { freq: 2 })

/** A store with two handles on it, and the model of its contents. */
class Trial {
  readonly place: TestPlace
  readonly model = new StoreModel(smallLimits)
  readonly #environment: Partial<OpenOptions>
  #handles: readonly [MemoryStore, MemoryStore]

  private constructor(
    place: TestPlace,
    environment: Partial<OpenOptions>,
    handles: readonly [MemoryStore, MemoryStore],
  ) {
    this.place = place
    this.#environment = environment
    this.#handles = handles
  }

  static async start(): Promise<Trial> {
    let now = 1_000_000
    const clock = () => (now += 7)
    const { store, place } = await newStore({ limits: smallLimits, clock })
    const packer = inlinePacker(systemDisk, place.directory)
    return new Trial(place, { clock, packer }, [store, await reopen(place, { clock, packer })])
  }

  async archive(): Promise<void> {
    this.model.archive()
    await this.#handles[0].as(author).settings.update({ archivedAt: 5 })
  }

  async #setLimits(store: MemoryStore, limits: ModelLimits): Promise<void> {
    const expected = outcomeOf(() => {
      this.model.setLimits(limits)
      return []
    })
    const updated = store.as(author).settings.update({ limits })
    if ('rows' in expected) await updated
    else await expect(updated).rejects.toMatchObject({ code: expected.refused })
  }

  async take(taken: HandledStep): Promise<void> {
    const store = this.#handles[taken.handle]
    switch (taken.type) {
      case 'apply':
        await this.#applyAtOnce(store, taken.batch)
        break
      case 'limits':
        await this.#setLimits(store, taken.limits)
        break
      case 'epoch':
        this.model.commits += 1
        await store.as(author).keys.rotate()
        break
      case 'checkpoint':
        await store.maintenance.checkpoint()
        break
      case 'reopen':
        await this.#reopen(taken.losingCaches)
        break
      default:
        throw new Error('Not a step')
    }
    for (const handle of this.#handles) await this.#compareContents(handle)
  }

  /** What can be asked of the whole; closes the store. */
  async finish(): Promise<void> {
    const { model, place } = this
    const [store, other] = this.#handles
    const versions = await allVersions(store)
    expect(await allVersions(other)).toEqual(versions)
    await this.#compareHistory(store, versions)
    const report = { commits: model.commits, versions: versions.length }
    expect(await store.maintenance.verify()).toMatchObject({
      ...report,
      memories: model.paths.length,
    })
    await this.close()
    git(['fsck', '--strict'], place.directory)
  }

  async close(): Promise<void> {
    for (const handle of this.#handles) await handle.close()
  }

  /** Compares each handle with the model, after changes that another process may have made. */
  async compare(): Promise<void> {
    for (const handle of this.#handles) await this.#compareContents(handle)
  }

  async #applyAtOnce(
    store: MemoryStore,
    batch: readonly (readonly PlannedChange[])[],
  ): Promise<void> {
    const promises = batch.map((planned) => store.as(author).apply(planned.map(toChange)))
    const results = await Promise.allSettled(promises)
    for (const [index, result] of results.entries()) {
      const expected = outcomeOf(() => this.model.apply(batch[index] ?? []))
      if (result.status === 'rejected') {
        if (!(result.reason instanceof StoreError)) throw result.reason
        expect({ refused: result.reason.code }).toEqual(expected)
      } else {
        expect({ rows: result.value.versionIds.length }).toEqual(expected)
        expect(result.value.commit === undefined).toBe(result.value.versionIds.length === 0)
      }
    }
  }

  async #reopen(losingCaches: boolean): Promise<void> {
    await this.close()
    if (losingCaches) rmSync(`${this.place.directory}/gitlocket/cache`, { recursive: true })
    const open = (): Promise<MemoryStore> => reopen(this.place, this.#environment)
    this.#handles = [await open(), await open()]
  }

  async #compareContents(store: MemoryStore): Promise<void> {
    const found: [string, string | undefined][] = []
    const pending = [await store.list('/')]
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (node.type === 'file') found.push([node.path, (await store.read(node.path))?.content])
      else
        expect([node.path, node.sizeBytes]).toEqual([node.path, this.model.bytesBelow(node.path)])
      pending.push(...node.children)
    }
    expect(Object.fromEntries(found)).toEqual(this.model.contents)
  }

  async #compareHistory(store: MemoryStore, versions: readonly Version[]): Promise<void> {
    const described = new Map<string, string>()
    for (const { versionId, operation, path } of versions) {
      const { content } = await store.history.version(versionId)
      described.set(versionId, JSON.stringify([operation, path, content]))
    }
    const textOf = ({ versionId }: Version): string => described.get(versionId) ?? ''
    const oldestFirst = versions.toReversed()
    const expected = this.model.changes
    // The rows of a commit come in the order of random ids.
    const commits = groupBy(oldestFirst, ({ commit }) => commit)
    expect([...commits.values()].map((rows) => rows.map(textOf).toSorted())).toEqual(
      expected.map((rows) => rows.map(textOfRow).toSorted()),
    )
    const memories = groupBy(oldestFirst, ({ memoryId }) => memoryId)
    expect([...memories.values()].map((rows) => rows.map(textOf).join()).toSorted()).toEqual(
      [...groupBy(expected.flat(), ({ memory }) => memory).values()]
        .map((rows) => rows.map(textOfRow).join())
        .toSorted(),
    )
    for (const rows of memories.values()) expectChain(rows)
    for (const path of this.model.paths) {
      const memory = await store.read(path)
      expect(memories.get(memory?.memoryId ?? '')?.at(-1)).toMatchObject({
        versionId: memory?.versionId,
        path,
      })
    }
  }
}

/** Each version of a memory names the one before it as its base. */
function expectChain(versions: readonly Version[]): void {
  const bases = versions.map(({ baseVersionId }) => baseVersionId)
  expect(bases).toEqual([undefined, ...versions.map(({ versionId }) => versionId)].slice(0, -1))
}

function textOfRow({ operation, path, content }: ModelVersion): string {
  return JSON.stringify([operation, path, content])
}

function outcomeOf(run: () => readonly ModelVersion[]): { rows: number } | { refused: string } {
  try {
    return { rows: run().length }
  } catch (error) {
    if (error instanceof ModelRefusal) return { refused: error.code }
    throw error
  }
}

function groupBy<T, K>(values: readonly T[], keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return groups
}

/** Newest first, in pages so small that there are several. */
async function allVersions(store: MemoryStore): Promise<readonly Version[]> {
  const found: Version[] = []
  let after: string | undefined
  do {
    const page = await store.history.versions({ limit: 7, page: after })
    found.push(...page.data)
    after = page.nextPage
  } while (after !== undefined)
  return found
}

test(
  'a store agrees with the model, over handles, caches, packs and epochs',
  { tags: 'slow' },
  async () => {
    const property = fc.asyncProperty(steps, stepsOnceArchived, async (taken, last) => {
      const trial = await Trial.start()
      try {
        for (const each of taken) await trial.take(each)
        if (last !== null) await trial.archive()
        for (const each of last ?? []) await trial.take(each)
        await trial.finish()
      } finally {
        await trial.close()
        rmSync(trial.place.directory, { recursive: true })
      }
    })
    await fc.assert(property, { seed, numRuns: full ? 300 : 12 })
  },
)

const program = fileURLToPath(new URL('../support/store-writer.mjs', import.meta.url))

/** Lets another process write `count` memories below `/<name>`. */
async function writeElsewhere({ place, model }: Trial, name: string, count: number): Promise<void> {
  const identityFile = `${place.stateDirectory}/${name}.identity`
  writeFileSync(identityFile, formatIdentity(place.identity), { mode: 0o600 })
  const { directory, stateDirectory } = place
  const args = [program, directory, stateDirectory, identityFile, name, String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  expect(await once(child, 'close')).toEqual([0, null])
  for (let index = 0; index < count; index += 1) {
    const path = `/${name}/${index}.md`
    model.apply([{ type: 'create', path, content: `${name} wrote ${index}\n` }])
  }
}

test('another process writes in between, and every handle sees it', { tags: 'slow' }, async () => {
  const property = fc.asyncProperty(steps, steps, async (before, after) => {
    const trial = await Trial.start()
    try {
      for (const each of before) await trial.take(each)
      await trial.take({
        type: 'limits',
        limits: { contentBytes: 40, memories: 1000 },
        handle: 1,
      })
      await writeElsewhere(trial, 'elsewhere', 3)
      await trial.compare()
      for (const each of after) await trial.take(each)
      await trial.finish()
    } finally {
      await trial.close()
    }
  })
  await fc.assert(property, { seed, numRuns: full ? 50 : 2 })
})
