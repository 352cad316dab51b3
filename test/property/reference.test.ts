// Random stores, read by the reference decoder, which is another program written from FORMAT.md
// alone: it accepts them, and reads the same as the store itself. Devices that join,
// new epochs and changed settings among them; recovery keys rather than passphrases, since the
// reference's Argon2id is slow.

import { rmSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { hasCode } from '../../src/errors.ts'
import { parseId } from '../../src/format/id.ts'
import {
  type Author,
  formatIdentity,
  generateIdentity,
  type MemoryStore,
  type Settings,
  type Version,
} from '../../src/index.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import {
  type CommitView,
  type MemoryView,
  readStore,
  type RowView,
  type StoreView,
} from '../support/reference/store.ts'
import { full, seed } from '../support/seed.ts'
import { newStore, reopen, type TestPlace } from '../support/stores.ts'
import { changes, toChange } from './store-commands.ts'
import type { PlannedChange } from './store-model.ts'

type Step =
  | { readonly type: 'apply'; readonly planned: readonly PlannedChange[]; readonly by: Author }
  | { readonly type: 'fill'; readonly count: number }
  | { readonly type: 'settings'; readonly change: Partial<Settings> }
  | { readonly type: 'epoch' }
  | { readonly type: 'join' }

const unitText = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', '"', '\\', 'é', '\u{1f600}', '\u2028', '9'), maxLength })
const callerId = fc.string({
  unit: fc.constantFrom(...'aZ0._:@-'),
  minLength: 1,
  maxLength: 64,
})
const by: fc.Arbitrary<Author> = fc
  .record({
    type: fc.constantFrom('api' as const, 'user' as const, 'service_account' as const),
    id: callerId,
    session: fc.option(callerId, { nil: undefined }),
    reason: fc.option(unitText(40), { nil: undefined }),
  })
  .map(({ type, id, session, reason }) => {
    const author = { actor: { type, id } }
    const said = reason === undefined ? author : { ...author, reason }
    return session === undefined ? said : { ...said, session }
  })
const settings: fc.Arbitrary<Partial<Settings>> = fc.record(
  {
    name: unitText(20).map((name) => `n${name.replace('\u2028', '')}`),
    description: unitText(40),
    metadata: fc.dictionary(
      fc.oneof(
        unitText(8).filter((key) => key !== ''),
        fc.constantFrom('10', '9', 'b', '__proto__'),
      ),
      unitText(8),
      { maxKeys: 5, noNullPrototype: true },
    ),
  },
  { requiredKeys: [] },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({ type: fc.constant('apply' as const), planned: changes, by }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('fill' as const), count: fc.constantFrom(16, 17) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('settings' as const), change: settings }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('epoch' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('join' as const) }) },
)

const founder: Author = { actor: { type: 'user', id: 'founder' } }

/** A store that devices join, each writing from then on. */
class Trial {
  readonly founderPlace: TestPlace
  place: TestPlace
  store: MemoryStore
  #filled = 0

  constructor(place: TestPlace, store: MemoryStore) {
    this.founderPlace = place
    this.place = place
    this.store = store
  }

  async take(taken: Step): Promise<unknown> {
    switch (taken.type) {
      case 'apply':
        // What the store refuses is model.test.ts's.
        return this.store.as(taken.by).apply(taken.planned.map(toChange)).catch(expectRefusal)
      case 'fill':
        this.#filled += 1
        return this.store.as(founder).apply(
          Array.from({ length: taken.count }, (_, index) => {
            return { type: 'create', path: `/fill-${this.#filled}/${index}`, content: '' } as const
          }),
        )
      case 'settings':
        return this.store.as(founder).settings.update(taken.change)
      case 'epoch':
        return this.store.as(founder).keys.rotate()
      case 'join':
        return this.#join()
      default:
        throw new Error('Not a step')
    }
  }

  async #join(): Promise<void> {
    await this.store.close()
    const identity = await generateIdentity()
    const stateDirectory = `${this.place.stateDirectory}+`
    this.place = { ...this.place, identity, stateDirectory }
    const { recoveryKey, directory } = this.place
    const packer = inlinePacker(systemDisk, directory)
    this.store = await reopen(this.place, { recoveryKey, packer })
  }
}

function expectRefusal(error: unknown): void {
  const codes = ['invalid_input', 'invalid_path', 'not_found', 'path_conflict'] as const
  if (!hasCode(error, ...codes)) throw error
}

test(
  'the reference decoder reads all memories, with the key of any device',
  { tags: 'slow' },
  async () => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: full ? 40 : 16, size: 'max' }),
      async (steps) => {
        const { store, place } = await newStore()
        const trial = new Trial(place, store)
        try {
          for (const each of steps) await trial.take(each)
          const said = await describeStore(trial.store)
          await trial.store.close()
          const identity = formatIdentity(trial.place.identity)
          const view = readStore(place.directory, { identity })
          expect(describeView(view)).toEqual(said)
          const others = [
            { identity: formatIdentity(place.identity) },
            { recoveryKey: place.recoveryKey },
          ]
          for (const secret of others) expect(readStore(place.directory, secret)).toEqual(view)
        } finally {
          await trial.store.close()
          rmSync(place.directory, { recursive: true })
        }
      },
    )
    await fc.assert(property, { seed, numRuns: full ? 300 : 6 })
  },
)

/** What both sides can say about a store, in one shape. */
interface Description {
  readonly settings: unknown
  /** By path. */
  readonly memories: readonly unknown[]
  /** Oldest first. */
  readonly versions: readonly unknown[]
  readonly commits: number
}

async function describeStore(store: MemoryStore): Promise<Description> {
  const { settings: current, commits } = await store.status()
  const { data: versions } = await store.history.versions({ limit: 1000 })
  const memories: ({ readonly path: string } & MemoryView)[] = []
  const pending = [await store.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    pending.push(...node.children)
    const memory = node.type === 'file' ? await store.read(node.path) : undefined
    if (memory === undefined) continue
    const { path, content, createdAt: created } = memory
    const memoryId = parseId('memory', memory.memoryId)
    memories.push({
      path,
      memoryId,
      versionId: parseId('version', memory.versionId),
      content,
      created,
    })
  }
  return {
    settings: { ...current, metadata: new Map(Object.entries(current.metadata)) },
    memories: memories.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    versions: versions.toReversed().map(describeVersion),
    commits,
  }
}

function describeVersion(version: Version): unknown {
  const { baseVersionId, operation, path, reason, session, commit } = version
  return {
    versionId: parseId('version', version.versionId),
    memoryId: parseId('memory', version.memoryId),
    base: baseVersionId === undefined ? undefined : parseId('version', baseVersionId),
    operation,
    path,
    size: version.sizeBytes,
    sha256: version.sha256,
    reason,
    actor: version.createdBy,
    session,
    deviceId: parseId('device', version.deviceId),
    time: version.createdAt,
    commit,
  }
}

function describeView({ settings: current, memories, commits }: StoreView): Description {
  const changed = commits.filter(({ kind }) => kind === 'change')
  return {
    settings: current,
    memories: [...memories]
      .map(([path, memory]) => ({ path, ...memory }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    versions: changed.flatMap((commit) => commit.rows.map((row) => describeRow(commit, row))),
    commits: commits.length,
  }
}

function describeRow(commit: CommitView, row: RowView): unknown {
  const { versionId, memoryId, base, operation, path } = row
  const deleted = operation === 'deleted'
  const { actor, session, deviceId, time, oid } = commit
  // The reason stands in the first row, for all of them.
  const [first] = commit.rows
  return {
    versionId,
    memoryId,
    base: /^0+$/.test(base) ? undefined : base,
    operation,
    path,
    size: deleted ? undefined : row.size,
    sha256: deleted ? undefined : row.sha256,
    reason: first?.note === '' ? undefined : first?.note,
    actor,
    session,
    deviceId,
    time,
    commit: oid,
  }
}
