// The law of redaction (FORMAT §10): for random histories and random sets R1 and R2, rewriting by
// R1 then R2, by R2 then R1 and by their union gives the same commits. Records are kept byte for
// byte, remaining versions read as before, erased versions read as erased, and stock git and the
// reference decoder accept the result.

import { writeFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatIdentity, type MemoryStore, type Version } from '../../src/index.ts'
import { alone, bareRemote, firstClone, joinClone, sync, syncAll } from '../support/clones.ts'
import { readStore } from '../support/reference/store.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore, reopen, type TestPlace } from '../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { changes, toChange } from './store-commands.ts'
import type { PlannedChange } from './store-model.ts'

type Step =
  | { readonly type: 'apply'; readonly planned: readonly PlannedChange[] }
  /** Enough memories for the radix tree to split, and to flatten when some go. */
  | { readonly type: 'fill'; readonly count: number }
  | { readonly type: 'epoch' }
  | { readonly type: 'rename' }
  | { readonly type: 'checkpoint' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({ type: fc.constant('apply' as const), planned: changes }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('fill' as const),
      count: fc.integer({ min: 14, max: 20 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'epoch' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'rename' as const }) },
  { weight: 2, arbitrary: fc.constant({ type: 'checkpoint' as const }) },
)

interface CloneStep {
  readonly second: boolean
  readonly taken: Step | 'sync'
}

const cloneStep: fc.Arbitrary<CloneStep> = fc.record({
  second: fc.boolean(),
  taken: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ type: fc.constant('apply' as const), planned: changes }),
    },
    { weight: 3, arbitrary: fc.constant('sync' as const) },
  ),
})

/** Which of the versions that may be erased are: one bit for each, repeated. */
const choice = fc.array(fc.boolean(), { minLength: 1, maxLength: 24 })

async function takeStep(store: MemoryStore, taken: Step): Promise<void> {
  switch (taken.type) {
    case 'apply':
      await store
        .as(author)
        .apply(taken.planned.map(toChange))
        .catch(() => undefined)
      return
    case 'fill': {
      const content = 'filler'
      const paths = Array.from({ length: taken.count }, (_, n) => `/fill/${n}`)
      const made = paths.map((path) => ({ type: 'create' as const, path, content }))
      await store
        .as(author)
        .apply(made)
        .catch(() => undefined)
      return
    }
    case 'epoch':
      await store.as(author).keys.rotate(alone)
      return
    case 'rename':
      await store.as(author).settings.update({ name: 'another name' })
      return
    case 'checkpoint':
      await store.maintenance.checkpoint()
      return
    default:
      throw new Error('Not a step')
  }
}

async function allVersions(store: MemoryStore): Promise<Version[]> {
  const found: Version[] = []
  for (let after: string | undefined; ;) {
    const page = await store.history.versions({ limit: 1000, page: after })
    found.push(...page.data)
    after = page.nextPage
    if (after === undefined) return found
  }
}

/** Versions that are not the current one of a live memory. */
async function redactable(store: MemoryStore): Promise<string[]> {
  const plan = await store.history.planRedaction({ select: { path: '/' }, reason: 'unspecified' })
  const current = new Set(plan.current.map((version) => version.versionId))
  return plan.versions.map(({ versionId }) => versionId).filter((id) => !current.has(id))
}

function copyOf(place: TestPlace): TestPlace {
  const root = temporaryDirectory()
  copyDirectory(place.directory, `${root}/store`)
  copyDirectory(place.stateDirectory, `${root}/state`)
  return { ...place, directory: `${root}/store`, stateDirectory: `${root}/state` }
}

async function redactAll(place: TestPlace, sets: readonly string[][]): Promise<string[]> {
  const store = await reopen(place)
  for (const versionIds of sets) {
    if (versionIds.length === 0) continue
    await store.as(author).redact({ select: { versionIds }, reason: 'legal' })
  }
  await store.close()
  return commitsOf(place)
}

/** Oldest first. */
function commitsOf(place: TestPlace): string[] {
  return git(['rev-list', '--reverse', '--topo-order', 'main'], place.directory).trim().split('\n')
}

function recordsOf(place: TestPlace, commits: readonly string[]): string[] {
  return commits.map((commit) => {
    const text = git(['cat-file', 'commit', commit], place.directory)
    return (
      /-----BEGIN GITLOCKET RECORD-----[^]*-----END GITLOCKET RECORD-----/.exec(text)?.[0] ?? ''
    )
  })
}

interface Before {
  readonly place: TestPlace
  readonly versions: readonly Version[]
  readonly contents: ReadonlyMap<string, string | undefined>
  readonly candidates: readonly string[]
}

async function randomStore(steps: readonly Step[]): Promise<Before> {
  const { store, place } = await newStore()
  for (const one of steps) await takeStep(store, one)
  return closed(store, place)
}

/** Two clones that went apart and were merged, again and again. */
async function mergedStore(steps: readonly CloneStep[]): Promise<Before> {
  const remote = bareRemote()
  const first = await firstClone(remote)
  await sync(first)
  const second = await joinClone(first, remote)
  for (const { second: isSecond, taken } of steps) {
    const clone = isSecond ? second : first
    if (taken === 'sync') await sync(clone)
    else await takeStep(clone.store, taken)
  }
  await syncAll([first, second])
  await second.store.close()
  return closed(first.store, first.place)
}

async function closed(store: MemoryStore, place: TestPlace): Promise<Before> {
  const versions = await allVersions(store)
  const contents = new Map<string, string | undefined>()
  for (const { versionId } of versions) {
    contents.set(versionId, (await store.history.version(versionId)).content)
  }
  const candidates = await redactable(store)
  await store.close()
  return { place, versions, contents, candidates }
}

async function checkReads(before: Before, place: TestPlace, erased: Set<string>): Promise<void> {
  const store = await reopen(place)
  await store.maintenance.verify()
  for (const old of before.versions) {
    const now = await store.history.version(old.versionId)
    const gone = erased.has(old.versionId)
    expect(now.content).toBe(gone ? undefined : before.contents.get(old.versionId))
    expect(now.path).toBe(gone ? undefined : old.path)
    expect(now.sha256).toBe(gone ? undefined : old.sha256)
    expect(now.redactedAt !== undefined).toBe(gone)
    const { operation, createdAt, createdBy, deviceId, memoryId } = old
    expect(now).toMatchObject({ operation, createdAt, createdBy, deviceId, memoryId })
  }
  const signers = `${place.stateDirectory}/signers`
  writeFileSync(signers, await store.maintenance.allowedSigners())
  await store.close()
  git(['fsck', '--strict', '--full'], place.directory)
  const setting = `gpg.ssh.allowedSignersFile=${signers}`
  if (!requires('ssh-keygen').missing) {
    git(['-c', setting, 'verify-commit', ...commitsOf(place)], place.directory)
  }
}

async function checkLaw(
  before: Before,
  first: readonly boolean[],
  second: readonly boolean[],
): Promise<void> {
  const pick = (bits: readonly boolean[]): string[] =>
    before.candidates.filter((_, index) => bits[index % bits.length] === true)
  const [r1, r2] = [pick(first), pick(second)]
  const union = [...new Set([...r1, ...r2])]
  const length = commitsOf(before.place).length
  const places = [copyOf(before.place), copyOf(before.place), copyOf(before.place)] as const
  const one = (await redactAll(places[0], [r1, r2])).slice(0, length)
  const other = (await redactAll(places[1], [r2, r1])).slice(0, length)
  const both = (await redactAll(places[2], [union])).slice(0, length)
  expect(other).toEqual(one)
  expect(both).toEqual(one)
  const records = recordsOf(before.place, commitsOf(before.place))
  expect(recordsOf(places[0], one)).toEqual(records)
  await checkReads(before, places[0], new Set(union))
  const { directory, identity } = places[0]
  const reference = readStore(directory, { identity: formatIdentity(identity) })
  expect(reference.commits.length).toBe(commitsOf(places[0]).length)
}

test(
  'rewriting commutes, keeps records and survivors, and verifies',
  { tags: 'slow', timeout: 1_800_000 },
  async () => {
    const steps = fc.array(step, { minLength: 4, maxLength: 30 })
    const property = fc.asyncProperty(steps, choice, choice, async (taken, first, second) => {
      await checkLaw(await randomStore(taken), first, second)
    })
    await fc.assert(property, { seed, numRuns: full ? 150 : 3 })
  },
)

test(
  'the same for clones that diverged and were merged',
  { tags: 'slow', timeout: 1_800_000 },
  async () => {
    const steps = fc.array(cloneStep, { minLength: 6, maxLength: 24 })
    const property = fc.asyncProperty(steps, choice, choice, async (taken, first, second) => {
      await checkLaw(await mergedStore(taken), first, second)
    })
    await fc.assert(property, { seed, numRuns: full ? 80 : 2 })
  },
)
