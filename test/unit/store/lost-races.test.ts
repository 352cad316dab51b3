// A store whose writer loses races: another session, of the same directory, writes between the
// moment a batch is planned and the moment it would be written.

import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import { LostRace, type ObjectStore } from '../../../src/git/object-store.ts'
import { MemoryStore } from '../../../src/store/memory-store.ts'
import { storageOf, type StoreEnvironment } from '../../../src/store/session/open-options.ts'
import { openSession } from '../../../src/store/session/open-session.ts'
import { author, contentsOf, newStore, reopen } from '../../support/stores.ts'

interface Races {
  /** What others write while a batch is on its way; each makes one batch lose. */
  readonly writes: (() => Promise<unknown>)[]
  /** Whether each turn of the writer had to keep others out. */
  readonly turns: boolean[]
}

/** The lock must be free for another session, so the race is decided at the end of the turn. */
function loseRaces(objects: ObjectStore): Races {
  const races: Races = { writes: [], turns: [] }
  const lost: (() => Promise<unknown>)[] = []
  const exclusive = objects.exclusive.bind(objects)
  const commit = objects.commit.bind(objects)
  objects.exclusive = async (work, isLong = false) => {
    races.turns.push(isLong)
    try {
      return await exclusive(work, isLong)
    } finally {
      await lost.pop()?.()
    }
  }
  objects.commit = async (transitions) => {
    const other = races.writes.shift()
    if (other === undefined) return commit(transitions)
    lost.push(other)
    throw new LostRace()
  }
  return races
}

/** Two sessions of one store, of which the first loses races. */
async function twoSessions(environment: StoreEnvironment = {}) {
  const { store: other, place } = await newStore()
  const { directory, stateDirectory, identity } = place
  const objects = await openDiskObjectStore({ directory, ...storageOf({ identity }) })
  const races = loseRaces(objects)
  const { session } = await openSession(objects, {
    directory,
    stateDirectory,
    identity,
    ...environment,
  })
  const store = new MemoryStore(session)
  const close = async (): Promise<void> => {
    await store.close()
    await other.close()
    const again = await reopen(place)
    await again.maintenance.verify()
    await again.close()
  }
  return { store, me: store.as(author), other, them: other.as(author), races, close }
}

const create = (path: string, content: string) => [{ type: 'create', path, content }] as const

async function codesOf(work: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  const results = await Promise.allSettled(work)
  return results.map((one) => (one.status === 'rejected' ? one.reason.code : 'done'))
}

test('a batch that loses races is made again in its order, and nothing is lost', async () => {
  const { store, me, other, them, races, close } = await twoSessions()
  await me.write('/log.md', '')
  for (const n of [1, 2, 3]) races.writes.push(() => them.append('/log.md', `other ${n}\n`))
  await Promise.all([1, 2, 3, 4].map((n) => me.append('/log.md', `own ${n}\n`)))
  const lines = [...[1, 2, 3].map((n) => `other ${n}`), ...[1, 2, 3, 4].map((n) => `own ${n}`)]
  const expected = { '/log.md': `${lines.join('\n')}\n` }
  expect(await contentsOf(store)).toEqual(expected)
  expect(await contentsOf(other)).toEqual(expected)
  await close()
})

test('refusals are about the state that is kept', async () => {
  const { store, me, them, races, close } = await twoSessions()
  await me.write('/gone.md', 'text')
  races.writes.push(async () => {
    await them.apply(create('/taken.md', 'theirs'))
    await them.apply(create('/later.md', 'theirs'))
    await them.delete('/gone.md')
  })
  const codes = await codesOf([
    me.apply(create('/taken.md', 'ours')),
    // Refused because of the one before it, in the batch that is lost.
    me.apply(create('/taken.md', 'ours again')),
    // Refused on the state before the race, and possible after it.
    me.edit('/later.md', (text) => `${text}, and ours`),
    // The reverse.
    me.edit('/gone.md', (text) => `${text}, longer`),
  ])
  expect(codes).toEqual(['path_conflict', 'path_conflict', 'done', 'not_found'])
  const expected = { '/taken.md': 'theirs', '/later.md': 'theirs, and ours' }
  expect(await contentsOf(store)).toEqual(expected)
  await close()
})

test('a batch is refused as locked when it has lost races for ten seconds', async () => {
  let now = Date.now()
  const { store, me, them, races, close } = await twoSessions({ clock: () => now })
  await me.write('/a.md', 'ours')
  const lose = (n: number) => async () => {
    now += 4000
    await them.write(`/other/${n}.md`, 'theirs')
  }
  races.writes.push(...[1, 2, 3, 4].map(lose))
  const codes = await codesOf([
    // Refused on a state that is kept, whatever becomes of the batch.
    me.edit('/missing.md', (text) => `${text}!`),
    me.write('/a.md', 'never written'),
    me.apply(create('/b.md', 'never written')),
  ])
  expect(codes).toEqual(['not_found', 'locked', 'locked'])
  // Waits for the end of that turn, and with it for the last of the other writes.
  await store.maintenance.checkpoint()
  expect(races.writes).toEqual([])
  const others = [1, 2, 3, 4].map((n) => [`/other/${n}.md`, 'theirs'])
  expect(await contentsOf(store)).toEqual({ '/a.md': 'ours', ...Object.fromEntries(others) })
  // The next batch has ten seconds of its own.
  races.writes.push(lose(5))
  await me.write('/a.md', 'ours again')
  expect((await store.read('/a.md'))?.content).toBe('ours again')
  await close()
})

test('long work keeps other servers out, and is made again if it loses a race', async () => {
  const { store, me, them, races, close } = await twoSessions()
  await me.write('/secret.md', 'a secret text')
  await me.write('/kept.md', 'kept')
  expect(races.turns).not.toContain(true)
  races.writes.push(() => them.append('/kept.md', 'and theirs'))
  await me.redact({ select: { path: '/secret.md' }, reason: 'legal', current: 'delete' })
  expect(races.writes).toEqual([])
  expect(races.turns).toContain(true)
  expect(await contentsOf(store)).toEqual({ '/kept.md': 'kept\nand theirs' })
  await close()
})
