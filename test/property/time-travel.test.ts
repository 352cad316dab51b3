// Random changes and redactions on a real store, compared with a plain list of every state that it
// had: the store at any earlier point, the difference between any two, and where each line came
// from.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MemoryStore, Version } from '../../src/index.ts'
import { blameLines } from '../../src/store/history/blame.ts'
import { comparePoints, type Difference } from '../../src/store/history/history-diff.ts'
import { openPast, type PastView } from '../../src/store/history/past.ts'
import type { Point } from '../../src/store/history/points.ts'
import { atOnce } from '../../src/time-slice.ts'
import { commitsOf, historyOf, type ReadHistory } from '../support/histories.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore } from '../support/stores.ts'
import { changes, smallLimits, toChange } from './store-commands.ts'
import { ModelRefusal, type PlannedChange, StoreModel } from './store-model.ts'

type State = Record<string, string>

type Step =
  | { readonly type: 'apply'; readonly planned: readonly PlannedChange[] }
  /** A change of one of the memories that there are. */
  | { readonly type: 'touch'; readonly place: number; readonly text: string }
  /** One of the versions that can be redacted, if there are any. */
  | { readonly type: 'redact'; readonly place: number }
  | { readonly type: 'checkpoint' }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: changes.map((planned): Step => ({ type: 'apply', planned })) },
    {
      weight: 12,
      arbitrary: fc.record({
        type: fc.constant('touch' as const),
        place: fc.nat({ max: 30 }),
        text: fc.constantFrom('x\n', 'é\r\n', 'tail', '\n\n', ''),
      }),
    },
    { weight: 4, arbitrary: fc.nat({ max: 30 }).map((place): Step => ({ type: 'redact', place })) },
    { weight: 1, arbitrary: fc.constant<Step>({ type: 'checkpoint' }) },
  ),
  { minLength: 10, maxLength: full ? 100 : 40, size: 'max' },
)

/** A store, and what it held after each of its commits. */
class Trial {
  readonly #store: MemoryStore
  readonly #read: ReadHistory
  readonly #model = new StoreModel(smallLimits)
  readonly #states: State[] = [{}]
  /** Paths at which a state has lost a memory to a redaction. */
  readonly #lost: Set<string>[] = [new Set()]

  private constructor(store: MemoryStore, read: ReadHistory) {
    this.#store = store
    this.#read = read
  }

  static async start(): Promise<Trial> {
    let now = 1_000_000
    const { store, place } = await newStore({ limits: smallLimits, clock: () => (now += 7) })
    return new Trial(store, await historyOf(store, place))
  }

  async take(step: Step): Promise<void> {
    if (step.type === 'checkpoint') await this.#store.maintenance.checkpoint()
    else if (step.type === 'redact') await this.#redact(step.place)
    else if (step.type === 'touch') await this.#touch(step.place, step.text)
    else await this.#apply(step.planned)
  }

  /** Every state by commit and time, and by version; differences and lines between some. */
  async finish(): Promise<void> {
    const { commits, versions } = await this.#read.loadHistory()
    expect(commits).toHaveLength(this.#states.length)
    for (const { oid, time, height } of commits) {
      await this.#compare({ commit: oid }, height)
      await this.#compare({ time: time + 6 }, height)
    }
    const page = await this.#store.history.versions({ order: 'oldest', limit: 1000 })
    for (const [index, { versionId }] of page.data.entries()) {
      await this.#compare({ versionId }, versions.at(index)?.commit.height ?? -1)
    }
    for (let height = 0; height < commits.length; height += 5) {
      const other = (height * 7 + 3) % commits.length
      await this.#compareDifference(height, other)
      await this.#compareLines(height, page.data)
    }
  }

  async close(): Promise<void> {
    await this.#read.close()
    await this.#store.close()
  }

  async #apply(planned: readonly PlannedChange[]): Promise<void> {
    const expected = wasRefused(() => this.#model.apply(planned))
    const refused = await this.#store
      .as(author)
      .apply(planned.map(toChange))
      .then(
        ({ commit }) => commit === undefined,
        () => true,
      )
    expect(refused).toBe(expected)
    if (!refused) this.#addState()
  }

  /** Adds a line in front or at the end, moves it, or deletes it. */
  async #touch(place: number, text: string): Promise<void> {
    const { paths, contents } = this.#model
    const path = paths[place % paths.length]
    if (path === undefined) return
    const change: Readonly<Record<string, PlannedChange>> = {
      '': { type: 'delete', path },
      tail: { type: 'rename', path, to: `/moved ${place}` },
      '\n\n': { type: 'edit', path, content: text + (contents[path] ?? '') },
    }
    await this.#apply([change[text] ?? { type: 'append', path, text }])
  }

  /** A current version is not redacted, so the newest state has lost nothing. */
  #addState(): void {
    this.#states.push(this.#model.contents)
    this.#lost.push(new Set())
  }

  async #redact(place: number): Promise<void> {
    const { data: versions } = await this.#store.history.versions({ limit: 1000, redacted: false })
    const newest = new Map(versions.toReversed().map((version) => [version.memoryId, version]))
    const erasable = versions.filter((version) => {
      return version.operation === 'deleted' || newest.get(version.memoryId) !== version
    })
    const chosen = erasable[place % erasable.length]
    if (chosen === undefined) return
    const heights = await this.#heightsOf(chosen)
    const { versionId, path = '' } = chosen
    await this.#store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'legal' })
    if (chosen.operation !== 'deleted') {
      for (const height of heights) this.#lost[height]?.add(path)
    }
    this.#addState()
  }

  /** The heights at which a version was the current one of its memory. */
  async #heightsOf({ memoryId, versionId }: Version): Promise<readonly number[]> {
    const commits = commitsOf(await this.#read.loadHistory())
    const { data: versions } = await this.#store.history.versions({
      memoryId,
      order: 'oldest',
      limit: 1000,
    })
    const index = versions.findIndex((version) => version.versionId === versionId)
    const [from, next] = [versions[index], versions[index + 1]].map((version) => {
      return commits.findIndex(({ oid }) => oid === version?.commit)
    })
    return commits
      .map(({ height }) => height)
      .filter((height) => height >= (from ?? 0) && (next === -1 || height < (next ?? 0)))
  }

  #stateAt(height: number): State {
    const lost = this.#lost[height]
    const entries = Object.entries(this.#states[height] ?? {})
    return Object.fromEntries(entries.filter(([path]) => lost?.has(path) !== true))
  }

  async #compare(point: Point, height: number): Promise<void> {
    const view = await openPast(this.#read, point, {})
    expect(await contentsOf(view)).toEqual(this.#stateAt(height))
    expect(view.redacted).toBe(this.#lost[height]?.size)
  }

  async #compareDifference(from: number, to: number): Promise<void> {
    const { history, contents } = this.#read
    const pointAt = (height: number) => ({ commit: history.commits.at(height)?.oid ?? '' })
    const points = { from: pointAt(from), to: pointAt(to) }
    const found = atOnce(comparePoints(history, contents, points, {}))
    const lost = [this.#lost[from], this.#lost[to]]
    if (lost.every((paths) => paths?.size === 0)) {
      expect(found.redacted).toBe(0)
      expect(applied(this.#stateAt(from), found)).toEqual(this.#stateAt(to))
    }
  }

  /** Each line is in the version that it came from, which was there by then. */
  async #compareLines(height: number, versions: readonly Version[]): Promise<void> {
    const { history, contents } = this.#read
    const at = { commit: history.commits.at(height)?.oid ?? '' }
    for (const [path, content] of Object.entries(this.#stateAt(height))) {
      const lines = atOnce(blameLines(history, contents, path, at))
      expect(lines.map(({ line }) => line)).toEqual(linesOf(content))
      for (const { line, version } of lines) {
        const { content: origin } = await this.#store.history.version(version.versionId)
        expect(linesOf(origin ?? '')).toContain(line)
        expect(versions.map(({ versionId }) => versionId)).toContain(version.versionId)
      }
    }
  }
}

function wasRefused(apply: () => readonly unknown[]): boolean {
  try {
    return apply().length === 0
  } catch (error) {
    if (error instanceof ModelRefusal) return true
    throw error
  }
}

async function contentsOf(view: PastView): Promise<State> {
  const found: [string, string][] = []
  const pending = [await view.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found.push([node.path, (await view.read(node.path))?.content ?? ''])
    pending.push(...node.children)
  }
  return Object.fromEntries(found)
}

function applied(state: State, { changes: differences }: Difference): State {
  const removed = new Set(differences.map(({ before }) => before?.path))
  const kept = Object.entries(state).filter(([path]) => !removed.has(path))
  const added = differences.flatMap(({ after }) =>
    after === undefined ? [] : [[after.path, after.content] as const],
  )
  return Object.fromEntries([...kept, ...added])
}

function linesOf(content: string): readonly string[] {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''))
  // After a last line feed there is no line; before a missing one a carriage return is text.
  if (content === '' || content.endsWith('\n')) lines.pop()
  else lines.push(`${lines.pop() ?? ''}${content.endsWith('\r') ? '\r' : ''}`)
  return lines
}

test('every earlier state can be read, compared and traced', { tags: 'slow' }, async () => {
  const property = fc.asyncProperty(steps, async (taken) => {
    const trial = await Trial.start()
    try {
      for (const step of taken) await trial.take(step)
      await trial.finish()
    } finally {
      await trial.close()
    }
  })
  await fc.assert(property, { seed, numRuns: full ? 200 : 10 })
})
