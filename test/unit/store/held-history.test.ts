// Queries share one history, which is released when unused, unless it cannot be stored.

import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../src/errors.ts'
import { History, type HistorySource } from '../../../src/store/history/history.ts'
import { HeldHistory, type HistoryShelf } from '../../../src/store/session/held-history.ts'
import { commitsOf, makeHistory, oidAt, versionAt } from '../../support/histories.ts'

const length = 300
const head = oidAt(length - 1)
/** Reads nothing: the held history reaches the head. */
const source: HistorySource = {
  objects: { read: () => undefined },
  storeId: '5'.repeat(32),
  epochs: new Map(),
}

function made(): History {
  const rows = [{ memory: 'a' }]
  return makeHistory(Array.from({ length }, (_, position) => ({ rows: position > 0 ? rows : [] })))
}

/** Without versions, and long enough to be stored while it is in use. */
function long(): History {
  return makeHistory(Array.from({ length: 4096 }, () => ({ rows: [] })))
}

function shelf(changes: Partial<HistoryShelf> = {}): HistoryShelf {
  return {
    begin: () => new History(),
    read: async (history) => history.become(made()),
    alone: (work) => work(),
    write: async (history) => {
      history.cachedCommits = history.commits.length
    },
    ...changes,
  }
}

async function fill(held: HeldHistory, to: string = head): Promise<History> {
  return (await held.upTo(source, to, {}, () => true)) ?? new History()
}

describe('a held history', () => {
  test('that was released is unchanged for a caller that still holds it', async () => {
    const held = new HeldHistory(shelf())
    const history = await fill(held)
    await held.letGo()
    expect(held.now).toBe(history)
    const ids = new Set([versionAt(7, 'a')])
    await held.forget(head, new Map([[7, oidAt(7, 'new')]]), ids)
    expect(history.find(versionAt(7, 'a'))?.path).toBeUndefined()
    expect(history.commits.at(7)?.oid).toBe(oidAt(7, 'new'))
    held.close()
  })

  test('keeps the history if it cannot be stored', async () => {
    const denied = () => Promise.reject(new StoreError('storage_denied', 'May not write'))
    const held = new HeldHistory(shelf({ alone: denied }))
    await fill(held)
    await expect(held.letGo()).rejects.toMatchObject({ code: 'storage_denied' })
    expect(held.now.commits).toHaveLength(length)
    held.close()
  })

  test('is read from storage when it is needed again', async () => {
    const held = new HeldHistory(shelf())
    expect(commitsOf(await fill(held))).toEqual(commitsOf(made()))
    held.close()
  })

  test('is stored while in use once much of it is new', async () => {
    const written: number[] = []
    const write = async (what: History): Promise<void> => {
      written.push(what.commits.length - what.cachedCommits)
      what.cachedCommits = what.commits.length
    }
    const read = async (into: History) => into.become(long())
    const held = new HeldHistory(shelf({ read, write }))
    const ask = () => fill(held, oidAt(4095))
    const history = await ask()
    await expect.poll(() => written).toEqual([4096])
    await ask()
    history.cachedCommits = 1
    await ask()
    expect(written).toEqual([4096])
    history.cachedCommits = 0
    await ask()
    await expect.poll(() => written).toEqual([4096, 4096])
    expect(held.now).toBe(history)
    held.close()
  })

  test('is not stored again after a failure', async () => {
    let tries = 0
    const alone = (): Promise<void> => {
      tries += 1
      return Promise.reject(new StoreError('storage_denied', 'May not write'))
    }
    const read = async (into: History) => into.become(long())
    const held = new HeldHistory(shelf({ read, alone }))
    for (let n = 0; n < 3; n += 1) await fill(held, oidAt(4095))
    expect(tries).toBe(1)
    held.close()
  })

  test('is not changed by a query that is no longer wanted', async () => {
    const held = new HeldHistory(shelf())
    expect(await held.upTo(source, head, {}, () => false)).toBeUndefined()
    expect(held.now.commits).toHaveLength(0)
    held.close()
  })
})
