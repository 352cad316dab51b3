// T33: a member dates its records ahead or back. Versions of other members remain visible by time,
// nothing is deleted or erased for its age, and every clone reports the same times as doubtful. A
// record that is dated far back makes earlier ones older: a revert by time never changes nothing
// for that reason without a word.

import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../src/index.ts'
import { bareRemote, type Clone, firstClone, joinClone, put, sync } from '../support/clones.ts'
import { hold, holderPlace } from '../support/grant-holders.ts'
import { author, newStore, reopen } from '../support/stores.ts'

const DAY = 24 * 60 * 60 * 1000
const agent = { actor: { type: 'session', id: 'agent-2' } } as const

async function liar(first: Clone, url: string, clock: () => number): Promise<Clone> {
  const { store, place } = await joinClone(first, url)
  await store.close()
  return { place, store: await reopen(place, { clock }) }
}

async function doubtsOf({ store }: Clone): Promise<readonly unknown[]> {
  const { data: versions } = await store.history.versions({})
  return versions.map(({ versionId, createdAt, placedAt }) => [versionId, createdAt, placedAt])
}

describe('T33: a member that lies about the time', () => {
  test.each([
    ['ahead', Date.UTC(2099, 0, 1)],
    ['back', 5000],
  ])('%s hides and deletes nothing', { tags: 'slow' }, async (_, lie) => {
    const url = bareRemote()
    const honest = await firstClone(url)
    await put(honest, '/kept', 'one')
    await sync(honest)
    const lying = await liar(honest, url, () => lie)
    await put(lying, '/kept', 'two')
    await put(lying, '/theirs')
    await sync(lying)
    await sync(honest)
    await put(honest, '/new')
    await sync(honest)
    await sync(lying)
    expect(await doubtsOf(lying)).toEqual(await doubtsOf(honest))
    const then = await honest.store.at({ time: Date.now() })
    for (const path of ['/kept', '/theirs', '/new']) expect(await then.read(path)).toBeDefined()
    expect((await honest.store.as(author).expire({ unchangedFor: DAY })).expired).toEqual([])
    const select = { before: Date.now() - DAY }
    const { versions } = await honest.store.history.planRedaction({ select, reason: 'retention' })
    expect(versions).toEqual([])
    await honest.store.maintenance.verify()
    await Promise.all([honest.store.close(), lying.store.close()])
  })
})

describe('T33: a device or a grant that dates one record back, after an edit of today', () => {
  test.each(['device', 'grant'] as const)('a %s', { tags: 'slow' }, async (kind) => {
    const { owner, writer, lie } = await poisoned(kind)
    // A holder cannot date a record long before its grant.
    const dated = kind === 'device' ? 5000 : Date.now() - 4 * DAY
    await lie(dated)
    const time = Date.now() - DAY
    const me = owner.store.as(author)
    const then = await owner.store.at({ time })
    expect((await then.read('/rules.md'))?.content).toBe('poison\n')
    const byGrant = kind === 'grant'
    const cause = { deviceId: writer, byGrant, session: 'agent-2', time: dated }
    const doubtful = { stampedLater: 1, datedBack: 1, causes: [cause] }
    expect(then.doubtful).toMatchObject(doubtful)
    const rolledBack = me.rollback({ to: { time } })
    await expect(rolledBack).rejects.toMatchObject({ code: 'time_doubtful', details: { doubtful } })
    await expect(rolledBack).rejects.toThrow(
      `the ${kind} ${writer} has dated a record ${new Date(dated).toISOString().slice(0, 10)}`,
    )
    const restored = me.restore({ memory: '/rules.md', to: { time } })
    await expect(restored).rejects.toMatchObject({ code: 'time_doubtful' })
    const undo = { session: 'agent-2', since: time }
    await expect(me.undo(undo)).rejects.toMatchObject({
      code: 'time_doubtful',
      details: { doubtful: { leftOut: 2, causes: [cause] } },
    })
    const { steps } = await me.rollback({ to: { stampedTime: time } })
    expect(steps.map(({ after, before }) => [before?.path, after?.content])).toEqual([
      ['/innocent.md', undefined],
      ['/rules.md', 'the rule of five days ago\n'],
    ])
    await owner.store.close()
  })

  test('the poisoned edit itself is dated back', { tags: 'slow' }, async () => {
    const { owner } = await poisoned('device', 5000)
    const time = Date.now() - DAY
    const me = owner.store.as(author)
    await expect(me.rollback({ to: { time } })).rejects.toMatchObject({
      code: 'time_doubtful',
      details: { doubtful: { stampedLater: 0, datedBack: 1 } },
    })
    const undo = { session: 'agent-2', since: time }
    await expect(me.undo(undo)).rejects.toMatchObject({
      code: 'time_doubtful',
      details: { doubtful: { leftOut: 1 } },
    })
    await me.undo({ session: 'agent-2' })
    expect((await owner.store.read('/rules.md'))?.content).toBe('the rule of five days ago\n')
    await owner.store.close()
  })

  test('its honest twin is rolled back without a doubt', { tags: 'slow' }, async () => {
    const { owner } = await poisoned('device')
    const to = { time: Date.now() - DAY }
    const { steps, doubtful } = await owner.store.as(author).rollback({ to })
    expect([steps.length, doubtful]).toEqual([1, undefined])
    expect((await owner.store.read('/rules.md'))?.content).toBe('the rule of five days ago\n')
    await owner.store.close()
  })
})

interface Poisoned {
  readonly owner: Clone
  /** The author of the poisoned edit, `dev_…`. */
  readonly writer: string
  /** It writes another memory with this clock, and both sync. */
  readonly lie: (time: number) => Promise<void>
}

/** A rule of ten and of five days ago, which another author has replaced at a time. */
async function poisoned(kind: 'device' | 'grant', time: number = Date.now()): Promise<Poisoned> {
  let [now, clock] = [Date.now() - 10 * DAY, time]
  const { store, place } = await newStore({ clock: () => now })
  const owner = { store, place }
  const url = bareRemote()
  await store.remotes.add('origin', url)
  await put(owner, '/rules.md', 'the rule of ten days ago\n')
  await sync(owner)
  now += 5 * DAY
  await put(owner, '/rules.md', 'the rule of five days ago\n')
  await sync(owner)
  const other = kind === 'device' ? await joinedWriter() : await holder()
  const write = async (path: string, content: string): Promise<void> => {
    await other.as(agent).write(path, content)
    await other.as(agent).sync()
    now = Date.now()
    await sync(owner)
  }
  await write('/rules.md', 'poison\n')
  const [version] = (await store.history.versions({ limit: 1 })).data
  const lie = async (dated: number): Promise<void> => {
    clock = dated
    await write('/innocent.md', 'nothing\n')
    await other.close()
  }
  return { owner, writer: version?.deviceId ?? '', lie }

  async function joinedWriter(): Promise<MemoryStore> {
    return (await liar(owner, url, () => clock)).store
  }

  async function holder(): Promise<MemoryStore> {
    const { text } = await store
      .as(author)
      .grants.give({ role: 'writer', label: 'ci', lastsMs: 80 * DAY })
    return hold({ url, grant: text }, { ...holderPlace(), clock: () => clock })
  }
}
