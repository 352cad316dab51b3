// Restore, rollback and undo over random histories: a store gets the states that it had, and
// memories that it leaves alone are reported with the true reason.

import { rmSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import type { Author, Change, MemoryStore, Version } from '../../src/index.ts'
import type { Revert } from '../../src/store/revert/restore.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore, type TestPlace } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import {
  allVersions,
  isAtOrBelow,
  isReallyTaken,
  Observed,
  type ObservedCommit,
  type State,
  textKey,
} from './revert-model.ts'

const actors: readonly Author[] = [
  { actor: { type: 'user', id: 'ada' }, session: 'sess_1' },
  { actor: { type: 'user', id: 'ada' }, session: 'sess_2' },
  { actor: { type: 'session', id: 'sess_3' }, session: 'sess_3' },
]
const healer: Author = { actor: { type: 'user', id: 'healer' } }

/** A change of the memory that `memory` picks, or of a new one. */
type Deed =
  | { readonly type: 'create' | 'rename'; readonly memory: number; readonly path: string }
  | { readonly type: 'edit'; readonly memory: number; readonly line: number; readonly text: string }
  | { readonly type: 'delete'; readonly memory: number }

type Step =
  | { readonly type: 'apply'; readonly who: number; readonly deeds: readonly Deed[] }
  | { readonly type: 'rollback'; readonly to: number; readonly path: string; readonly by: string }
  | { readonly type: 'restore'; readonly memory: number; readonly to: number }
  | { readonly type: 'undo'; readonly who: number }
  | { readonly type: 'redact'; readonly version: number }
  | { readonly type: 'back' }

// Few names, so that they meet.
const anyMemory = fc.nat(30)
const anyPath = fc.constantFrom('/a', '/b', '/c', '/a/x', '/b/x', '/d/1', '/d/2', '/d/1/z')
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('create' as const),
      memory: anyMemory,
      path: anyPath,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('rename' as const),
      memory: anyMemory,
      path: anyPath,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('edit' as const),
      memory: anyMemory,
      line: fc.nat(8),
      text: fc.constantFrom('', 'x\n', 'y\n', 'x\ny\n'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), memory: anyMemory }) },
)

/** Nine lines, more or less. */
const FRESH = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'

function changeFor(state: State, given: Deed): Change | undefined {
  if (given.type === 'create') return { type: 'create', path: given.path, content: FRESH }
  const [, found] = pick([...state], given.memory) ?? []
  if (found === undefined) return undefined
  if (given.type === 'delete') return { type: 'delete', path: found.path }
  if (given.type !== 'edit') return { type: 'rename', path: found.path, to: given.path }
  const { line, text } = given
  const edit = (content: string): string => {
    const lines = content.match(/.*\n/g) ?? []
    return [...lines.slice(0, line), text, ...lines.slice(line + 1)].join('')
  }
  return { type: 'edit', path: found.path, edit }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant('apply' as const),
      who: fc.nat(2),
      deeds: fc.oneof(fc.tuple(deed), fc.array(deed, { maxLength: 4 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('rollback' as const),
      to: fc.nat(1000),
      path: fc.constantFrom('/', '/', '/a', '/b', '/d', '/d/1'),
      by: fc.constantFrom('time', 'commit'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('restore' as const),
      memory: anyMemory,
      to: fc.nat(1000),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('undo' as const), who: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('redact' as const), version: fc.nat(1000) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('back' as const) }) },
)
const steps = fc.array(step, { minLength: 20, maxLength: full ? 80 : 40, size: 'max' })

/** A store, and all states that it has been in. */
class Trial {
  readonly place: TestPlace
  readonly store: MemoryStore
  readonly observed = new Observed()
  readonly #clock: { now: number }
  #redacted: Set<string> = new Set()

  private constructor(store: MemoryStore, place: TestPlace, clock: { now: number }) {
    this.store = store
    this.place = place
    this.#clock = clock
  }

  static async start(): Promise<Trial> {
    const clock = { now: 1_000_000 }
    const { store, place } = await newStore({ clock: () => clock.now })
    const trial = new Trial(store, place, clock)
    await trial.#look()
    return trial
  }

  async take(taken: Step): Promise<void> {
    this.#clock.now += 1000
    switch (taken.type) {
      case 'apply':
        await this.#apply(taken.deeds, writerOf(taken.who))
        break
      case 'rollback':
        await this.#rollback(taken)
        break
      case 'restore':
        await this.#restore(taken)
        break
      case 'undo':
        await this.#undo(writerOf(taken.who).session ?? '')
        break
      case 'redact':
        await this.#redact(taken.version)
        break
      case 'back':
        await this.#rollBackTheLast()
        break
      default:
        throw new Error('Not a step')
    }
  }

  async finish(): Promise<void> {
    await this.store.maintenance.verify()
    await this.store.close()
    git(['fsck', '--strict'], this.place.directory)
  }

  async #apply(deeds: readonly Deed[], by: Author): Promise<void> {
    const changes = deeds.flatMap((each) => changeFor(this.observed.state, each) ?? [])
    try {
      await this.store.as(by).apply(changes)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
    await this.#look()
  }

  async #rollback({ to, path, by }: Extract<Step, { type: 'rollback' }>): Promise<void> {
    const then = this.#pick(to)
    const before = this.observed.state
    const point = by === 'time' ? { time: then.time } : { commit: then.commit }
    const made = await this.store.as(writerOf(to)).rollback({ to: point, path })
    await this.#look()
    this.#expectReport(made, before)
    const left = new Set(made.left.map(({ memoryId }) => memoryId))
    for (const id of new Set([...before.keys(), ...then.state.keys()])) {
      const [was, old] = [before.get(id), then.state.get(id)]
      const isErased = old !== undefined && this.#redacted.has(old.versionId)
      const concerned = isAtOrBelow(was?.path, path) || isAtOrBelow(old?.path, path)
      const now = textKey(this.observed.state.get(id))
      if (left.has(id)) expect(now).toBe(textKey(was))
      else if (!concerned || (isErased && old.versionId === was?.versionId)) {
        expect(now).toBe(textKey(was))
      } else if (!isErased) expect(now).toBe(textKey(old))
      if (concerned && isErased && path === '/' && textKey(was) !== textKey(old)) {
        expect(made.left).toContainEqual(expect.objectContaining({ memoryId: id }))
      }
    }
    // Without erased versions a whole state can always be had again.
    if (path === '/' && this.#redacted.size === 0) expect(made.left).toEqual([])
  }

  async #restore({ memory, to }: Extract<Step, { type: 'restore' }>): Promise<void> {
    const then = this.#pick(to)
    const [memoryId, old] = pick([...then.state], memory) ?? []
    if (memoryId === undefined || old === undefined) return
    const before = this.observed.state
    const point = { versionId: old.versionId }
    const taken = { memoryId, path: old.path, reason: 'path_taken' as const }
    let made: Revert | undefined
    try {
      made = await this.store.as(writerOf(to)).restore({ memory: memoryId, to: point })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (this.#redacted.has(old.versionId)) expect(error.code).toBe('redacted')
      else expect([error.code, isReallyTaken(taken, before, [])]).toEqual(['path_conflict', true])
    }
    await this.#look()
    if (made === undefined) return expect(this.observed.changedSince(before).size).toBe(0)
    this.#expectReport(made, before)
    expect(textKey(this.observed.state.get(memoryId))).toBe(textKey(old))
  }

  async #undo(session: string): Promise<void> {
    const before = this.observed.state
    const chains = chainsOf(await allVersions(this.store))
    const planned = await this.store.as(healer).undo({ session }, { dryRun: true })
    const made = await this.store.as(healer).undo({ session })
    const { plan } = planned
    expect({ ...made, commit: undefined, versionIds: [], plan }).toEqual(planned)
    await this.#look()
    this.#expectReport(made, before)
    for (const [id, chain] of chains) await this.#expectUndone(id, chain, session, made, before)
    // Undone changes remain undone; memories left alone are left alone again, or have a free path
    // by now.
    const left = new Set(made.left.map(({ memoryId }) => memoryId))
    const again = await this.store.as(healer).undo({ session }, { dryRun: true })
    for (const { memoryId } of [...again.steps, ...again.left]) expect(left).toContain(memoryId)
  }

  /** What can be said without replaying: of who took no part, or wrote all the newest versions. */
  async #expectUndone(
    id: string,
    chain: readonly Version[],
    session: string,
    made: Revert,
    before: State,
  ): Promise<void> {
    const now = textKey(this.observed.state.get(id))
    const left = made.left.find(({ memoryId }) => memoryId === id)
    const last = chain.findLastIndex((version) => version.session !== session)
    if (!chain.some((version) => version.session === session)) {
      expect([now, left]).toEqual([textKey(before.get(id)), undefined])
    }
    const isSuffix = chain.slice(0, last + 1).every((version) => version.session !== session)
    if (!isSuffix) return
    const kept = chain[last]
    if (kept?.redactedAt !== undefined && kept.operation !== 'deleted') {
      if (last < chain.length - 1) expect(left?.reason).toBe('redacted')
    } else if (left === undefined) {
      const old = kept === undefined ? undefined : await this.store.history.version(kept.versionId)
      const isLive = old !== undefined && old.operation !== 'deleted'
      expect(now).toBe(isLive ? textKey({ path: old.path ?? '', content: old.content }) : 'none')
    } else expect(left.reason).toBe('path_taken')
  }

  async #redact(which: number): Promise<void> {
    const chosen = pick(await allVersions(this.store), which)
    if (chosen === undefined) return
    const { versionId } = chosen
    const select = { versionIds: [versionId] }
    await this.store.as(author).redact({ select, reason: 'poisoned', current: 'keep' })
    const { redactedAt } = await this.store.history.version(versionId)
    if (redactedAt !== undefined) this.#redacted.add(versionId)
    // The past has other commit ids now; times name them still.
    const before = this.observed.state
    await this.#look()
    expect(this.observed.changedSince(before).size).toBe(0)
    await this.#renameCommits()
  }

  async #rollBackTheLast(): Promise<void> {
    const last = this.observed.commits.at(-2)
    if (last === undefined || this.#redacted.size > 0) return
    await this.store.as(healer).rollback({ to: { commit: last.commit } })
    await this.#look()
    expect(keysOf(this.observed.state)).toEqual(keysOf(last.state))
  }

  /** Steps list the changed memories; those left alone have not changed, and for a true reason. */
  #expectReport(made: Revert, before: State): void {
    const { state } = this.observed
    const changed = this.observed.changedSince(before)
    expect(new Set(made.steps.map(({ memoryId }) => memoryId))).toEqual(changed)
    expect(made.versionIds).toHaveLength(made.steps.length)
    expect(made.commit === undefined).toBe(made.steps.length === 0)
    for (const each of made.steps) {
      expect(textKey(each.before)).toBe(textKey(before.get(each.memoryId)))
      expect(textKey(each.after)).toBe(textKey(state.get(each.memoryId)))
    }
    for (const each of made.left) {
      expect(changed).not.toContain(each.memoryId)
      if (each.reason === 'path_taken') expect(isReallyTaken(each, state, made.left)).toBe(true)
    }
  }

  async #look(): Promise<void> {
    await this.observed.look(this.store, this.#clock.now)
  }

  async #renameCommits(): Promise<void> {
    const { commits } = this.observed
    const oids = git(['rev-list', '--reverse', 'main'], await this.#checkpointed()).split('\n')
    const renamed = commits.map((each, index) => ({ ...each, commit: oids[index] ?? '' }))
    commits.splice(0, commits.length, ...renamed)
  }

  async #checkpointed(): Promise<string> {
    await this.store.maintenance.checkpoint()
    return this.place.directory
  }

  #pick(index: number): ObservedCommit {
    const found = pick(this.observed.commits, index)
    if (found === undefined) throw new Error('Nothing was observed')
    return found
  }
}

function writerOf(who: number): Author {
  return pick(actors, who) ?? author
}

function pick<T>(values: readonly T[], index: number): T | undefined {
  return values[index % values.length]
}

function chainsOf(versions: readonly Version[]): ReadonlyMap<string, readonly Version[]> {
  const chains = new Map<string, Version[]>()
  for (const version of versions) {
    chains.set(version.memoryId, [...(chains.get(version.memoryId) ?? []), version])
  }
  return chains
}

function keysOf(state: State): readonly string[] {
  return [...state].map(([id, text]) => `${id} ${textKey(text)}`).toSorted()
}

test(
  'a store gets its earlier states, and reports memories left alone',
  { tags: 'slow' },
  async () => {
    const property = fc.asyncProperty(steps, async (taken) => {
      const trial = await Trial.start()
      try {
        for (const each of taken) await trial.take(each)
        await trial.finish()
      } finally {
        await trial.store.close()
        rmSync(trial.place.directory, { recursive: true })
      }
    })
    await fc.assert(property, { seed, numRuns: full ? 500 : 20 })
  },
)
