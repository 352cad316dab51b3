// Several servers on one shared log: what one commits, the others read, and the loser of a race
// learns that it has lost.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { unsyncedDisk } from '../../../src/disk/unsynced-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import { LostRace, type ObjectStore, type Transition } from '../../../src/git/object-store.ts'
import { openReplicatedStore } from '../../../src/git/replica/replicated-store.ts'
import { expectAllReadable } from '../../contract/object-store.contract.ts'
import { testSecret } from '../../support/erasure.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { receivePack } from '../../support/transfer.ts'
import { TestHistory } from '../../support/transitions.ts'
import { VolatileLog } from '../../support/volatile-shared-log.ts'

function open(log: VolatileLog, directory: string = temporaryDirectory()): Promise<ObjectStore> {
  return openReplicatedStore({ directory, log: log.server(), secret: testSecret })
}

async function commit(store: ObjectStore, ...transitions: readonly Transition[]): Promise<void> {
  await store.exclusive(() => store.commit(transitions))
}

/** More than fits into one entry. */
function largeTransition(history: TestHistory): Transition {
  return history.next(900_000)
}

describe('two servers', () => {
  test('read what the other one has committed once they renew', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(1)
    for (let round = 0; round < 6; round += 1) {
      const [writer, reader] = round % 2 === 0 ? [a, b] : [b, a]
      const transitions = history.take(3)
      await writer.renew?.()
      await commit(writer, ...transitions)
      await reader.renew?.()
      expect(reader.head).toBe(history.head)
      expectAllReadable(reader, transitions)
    }
    await a.close()
    await b.close()
  })

  test('one of two concurrent commits loses, and then has the state of the other', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const [first, second] = [new TestHistory(2).next(), new TestHistory(3).next()]
    const results = await Promise.allSettled([commit(a, first), commit(b, second)])
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const lost = results.find((result) => result.status === 'rejected')
    expect(lost?.reason).toBeInstanceOf(LostRace)
    const [winner, loser] = results[0].status === 'fulfilled' ? [a, b] : [b, a]
    await loser.exclusive(async () => expect(loser.head).toBe(winner.head))
    await a.close()
    await b.close()
  })

  test('the loser of a race claims the log, so that the winner waits', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(4)
    await b.exclusive(async () => {
      await commit(a, history.next())
      await expect(b.commit(new TestHistory(5).take(1))).rejects.toThrow(LostRace)
    })
    await b.exclusive(async () => {
      expect(b.head).toBe(history.head)
      expect(log.holder).toBeDefined()
      const attempt = commit(a, new TestHistory(6, history.head).next())
      await expect(attempt).rejects.toThrow(LostRace)
      await b.commit([history.next()])
    })
    expect(log.holder).toBeUndefined()
    await commit(a, history.next())
    // A claim without a commit is released.
    await b.exclusive(async () => {
      await commit(a, history.next())
      await expect(b.commit(new TestHistory(7).take(0))).resolves.toBeUndefined()
    })
    expect(log.holder).toBeUndefined()
    expect(log.number).toBe(4)
    await a.close()
    await b.close()
  })

  test('a commit that is too large for an entry arrives whole', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(7)
    const transitions = [history.next(), largeTransition(history), history.next()]
    await commit(a, ...transitions)
    expect(log.parts.size).toBe(1)
    expect(log.rows.get(1)?.body.length).toBeLessThan(100_000)
    await b.renew?.()
    expect(b.head).toBe(history.head)
    expectAllReadable(b, transitions)
    await a.close()
    await b.close()
  })

  test('an entry whose parts a base removes while they are read comes with that base', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(15)
    await commit(a, history.next(), largeTransition(history))
    let parts = 0
    log.before = async (operation) => {
      if (operation !== 'parts') return
      parts += 1
      if (parts !== 2) return
      log.before = async () => undefined
      for (let base = 0; base < 2; base += 1) {
        await commit(a, history.next())
        await a.compact()
      }
    }
    await b.renew?.()
    expect(b.head).toBe(history.head)
    expectAllReadable(b, history.transitions)
    await a.close()
    await b.close()
  })

  test('staged parts of a turn without a commit are removed', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const large = largeTransition(new TestHistory(8))
    await a.exclusive(() => a.stage(large.objects))
    expect(log.parts.size).toBe(0)
    await commit(a, new TestHistory(9).next())
    expect(log.rows.get(1)?.parts).toBeUndefined()
    await a.close()
  })

  test('remotes, tracking refs and accepted packs are those of all servers', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(10)
    const transitions = history.take(12)
    const source = await open(new VolatileLog())
    await commit(source, ...transitions)
    const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
    const pack = await source.exchange.pack(oids)
    await a.exchange.addRemote({ name: 'origin', url: 'https://example.com/x.git' })
    await receivePack(a.exchange, pack.chunks(), { tip: history.head })
    await a.exchange.track('origin', history.head)
    await b.renew?.()
    expectAllReadable(b, transitions)
    expect(b.exchange.remotes()).toEqual([{ name: 'origin', url: 'https://example.com/x.git' }])
    expect(b.exchange.tracked('origin')).toBe(history.head)
    await b.exchange.removeRemote('origin')
    await a.renew?.()
    expect(a.exchange.remotes()).toEqual([])
    expect(a.exchange.tracked('origin')).toBeUndefined()
    for (const store of [a, b, source]) await store.close()
  })

  test('a remote that the rules refuse is refused before the log has it', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const attempt = a.exchange.addRemote({ name: '../x', url: 'https://example.com' })
    await expect(attempt).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(a.exchange.removeRemote('x')).rejects.toMatchObject({ code: 'not_found' })
    expect(log.number).toBe(0)
    await a.close()
  })
})

describe('a base', () => {
  /** Enough for a base of more than one pack, with a remote and its tracking ref. */
  async function filled(log: VolatileLog): Promise<Transition[]> {
    const a = await open(log)
    const history = new TestHistory(20)
    const transitions = [...history.take(20), largeTransition(history), ...history.take(5)]
    await commit(a, ...transitions)
    await a.exchange.addRemote({ name: 'origin', url: 'https://example.com/x.git' })
    await a.exchange.track('origin', transitions[3]?.next)
    await a.compact()
    await commit(a, history.next())
    await a.close()
    return history.transitions
  }

  test('is where a new server starts, with the entries since then', async () => {
    const log = new VolatileLog()
    const transitions = await filled(log)
    expect(log.base?.number).toBe(3)
    const b = await open(log)
    expect(b.head).toBe(transitions.at(-1)?.next)
    expectAllReadable(b, transitions)
    expect(b.exchange.remotes()).toEqual([{ name: 'origin', url: 'https://example.com/x.git' }])
    expect(b.exchange.tracked('origin')).toBe(transitions[3]?.next)
    await b.close()
  })

  test('is made once the log has grown, and the next one removes old entries', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const history = new TestHistory(21)
    for (let n = 0; n < 30; n += 1) await commit(a, largeTransition(history))
    await expect.poll(() => log.base?.number).toBeGreaterThan(4)
    expect(log.rows.has(1)).toBe(true)
    await commit(a, history.next())
    await a.compact()
    await a.close()
    expect(log.rows.has(1)).toBe(false)
    expect([...log.parts.keys()]).toEqual([log.base?.id])
    const b = await open(log)
    expectAllReadable(b, history.transitions)
    await b.close()
  })

  test('takes in a server that is behind what the log still has', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(22)
    const first = history.take(5)
    await commit(a, ...first)
    await b.renew?.()
    const { erasures } = b
    for (let n = 0; n < 3; n += 1) {
      await commit(a, history.next())
      await a.compact()
    }
    expect(log.rows.has(2)).toBe(false)
    await b.renew?.()
    expect(b.head).toBe(history.head)
    expect(b.erasures).toBeGreaterThan(erasures)
    expectAllReadable(b, history.transitions)
    await a.close()
    await b.close()
  })

  test('that another server has replaced in the meantime is left', async () => {
    const log = new VolatileLog()
    const [a, b] = [await open(log), await open(log)]
    const history = new TestHistory(23)
    await commit(a, ...history.take(5))
    await Promise.all([a.compact(), b.compact()])
    expect(log.base?.number).toBe(1)
    expect([...log.parts.keys()]).toEqual([log.base?.id])
    await a.close()
    await b.close()
  })

  test('leaves entries that come while it is sent in the log', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const history = new TestHistory(26)
    await commit(a, ...history.take(3))
    log.before = async (operation) => {
      if (operation !== 'putPart') return
      log.before = async () => undefined
      await commit(a, history.next())
    }
    await a.compact()
    expect(log.base?.number).toBe(1)
    expect([...log.rows.keys()]).toContain(2)
    await a.close()
    const b = await open(log)
    expect(b.head).toBe(history.head)
    expectAllReadable(b, history.transitions)
    await b.close()
  })

  test('with a missing part is refused, and so is a missing entry', async () => {
    const log = new VolatileLog()
    await filled(log)
    log.parts.get(log.base?.id ?? '')?.delete(2)
    await expect(open(log)).rejects.toMatchObject({ code: 'journal_corrupt' })
    const other = new VolatileLog()
    const a = await open(other)
    const history = new TestHistory(24)
    for (let n = 0; n < 4; n += 1) await commit(a, history.next())
    other.rows.delete(2)
    await expect(open(other)).rejects.toMatchObject({ code: 'journal_corrupt' })
    await a.close()
  })
})

describe('a replica', () => {
  test('that was closed in order is used again', async () => {
    const log = new VolatileLog()
    const directory = temporaryDirectory()
    const a = await open(log, directory)
    const history = new TestHistory(30)
    await commit(a, ...history.take(5))
    await a.close()
    const repositories = readdirSync(directory).filter((name) => name.startsWith('repository-'))
    const other = await open(log)
    await commit(other, history.next())
    await other.close()
    const again = await open(log, directory)
    expect(readdirSync(directory)).toEqual(repositories)
    expectAllReadable(again, history.transitions)
    await again.close()
  })

  test('that a process left as it died is made anew, and so is one without its note', async () => {
    const log = new VolatileLog()
    const directory = temporaryDirectory()
    const a = await open(log, directory)
    const history = new TestHistory(31)
    await commit(a, ...history.take(5))
    const left = readdirSync(directory)
    const again = await open(log, directory)
    expect(readdirSync(directory)).not.toEqual(left)
    expectAllReadable(again, history.transitions)
    await again.close()
    await a.close().catch(() => undefined)
  })

  test('of an engine that was restored follows it back', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const history = new TestHistory(32)
    const [kept, lost] = [history.next(), history.next()]
    await commit(a, kept)
    await commit(a, lost)
    log.rows.delete(2)
    log.number = 1
    await a.renew?.()
    expect(a.head).toBe(kept.next)
    expect(a.read(lost.next)).toBeUndefined()
    await commit(a, new TestHistory(33, kept.next).next())
    await a.close()
  })

  test('of an engine with another history instead follows that', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    const history = new TestHistory(34)
    const [kept, lost] = [history.next(), history.next()]
    await commit(a, kept)
    await commit(a, lost)
    log.rows.delete(2)
    log.number = 1
    const b = await open(log)
    const others = new TestHistory(35, kept.next).take(2)
    for (const one of others) await commit(b, one)
    await a.renew?.()
    expect(a.head).toBe(others.at(-1)?.next)
    expect(a.read(lost.next)).toBeUndefined()
    await a.close()
    await b.close()
  })

  test('of a deleted store reports it', async () => {
    const log = new VolatileLog()
    const a = await open(log)
    log.isDeleted = true
    await expect(a.renew?.()).rejects.toMatchObject({ code: 'not_found' })
    await a.close()
    const directory = join(temporaryDirectory(), 'r')
    await expect(open(log, directory)).rejects.toMatchObject({ code: 'not_found' })
    expect(existsSync(directory) ? readdirSync(directory) : []).toEqual([])
  })

  test('that fails after an append is made anew, and the write stands', async () => {
    const log = new VolatileLog()
    let isFull = false
    const disk: Disk = {
      ...unsyncedDisk,
      write(fd, bytes, position) {
        if (isFull) throw new StoreError('storage_full', 'The disk is full')
        unsyncedDisk.write(fd, bytes, position)
      },
    }
    const place = { directory: temporaryDirectory(), secret: testSecret, disk }
    const a = await openReplicatedStore({ ...place, log: log.server() })
    const history = new TestHistory(36)
    const [first, second, third] = [history.next(), history.next(), history.next()]
    await commit(a, first)
    await a.exclusive(async () => {
      isFull = true
      await a.commit([second])
      isFull = false
    })
    expect(log.number).toBe(2)
    expect(a.head).toBe(first.next)
    await a.renew?.()
    expect(a.head).toBe(second.next)
    await commit(a, third)
    expectAllReadable(a, [first, second, third])
    await a.close()
  })
})
