// The queue of writers: a checkpoint waits for work submitted before it, not for later work;
// and a sync holds writes back.

import { expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import { openStore } from '../../../src/store/open.ts'
import { openSession } from '../../../src/store/session/open-session.ts'
import { author, newStore } from '../../support/stores.ts'

/** The session of a store, and the objects below it. */
async function newSession() {
  const { store, place } = await newStore()
  await store.close()
  const { directory, stateDirectory, identity } = place
  const objects = await openDiskObjectStore({ directory })
  return { objects, ...(await openSession(objects, { directory, stateDirectory, identity })) }
}

test('submitted commands finish while others keep submitting', async () => {
  const { objects, session } = await newSession()
  let done = 0
  let doneAtCheckpoint = Infinity
  const checkpoint = objects.checkpoint.bind(objects)
  objects.checkpoint = () => {
    doneAtCheckpoint = done
    return checkpoint()
  }
  const keepBusy = async (): Promise<void> => {
    while (done < 100) {
      await session.writing(async () => ({ built: undefined, result: undefined }))
      done += 1
    }
  }
  // Two, so that the queue is never empty.
  const busy = Promise.all([keepBusy(), keepBusy()])
  await session.checkpoint()
  expect(doneAtCheckpoint).toBeLessThan(10)
  await busy
  await session.close()
})

test('commands of the same turn of the event loop share a batch', async () => {
  const { objects, session } = await newSession()
  let batches = 0
  const exclusive = objects.exclusive.bind(objects)
  objects.exclusive = (work, ...others) => {
    batches += 1
    return exclusive(work, ...others)
  }
  const submit = (): Promise<unknown> =>
    session.writing(async () => ({ built: undefined, result: undefined }))
  const twoOfOneTurn = (): Promise<unknown> => {
    const second = new Promise((resolve) => setImmediate(() => resolve(submit())))
    return Promise.all([submit(), second])
  }
  await twoOfOneTurn()
  await Promise.all([submit(), submit()])
  await twoOfOneTurn()
  expect(batches).toBe(3)
  await session.close()
})

test('a caller that writes one change after another leaves turns to other work', async () => {
  const { session } = await newSession()
  let turns = 0
  const turn = (): void => {
    turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  // None of them has to wait for the device.
  for (let n = 0; n < 20; n += 1) {
    await session.writing(async () => ({ built: undefined, result: undefined }))
  }
  clearImmediate(next)
  expect(turns).toBeGreaterThanOrEqual(20)
  await session.close()
})

const never = 2 ** 31 - 1

/** Submits commands by name; returns the names of those that are done, in order. */
function submitInto({ session }: Awaited<ReturnType<typeof newSession>>) {
  const done: string[] = []
  const submit = async (name: string, alone = false): Promise<void> => {
    await session.writing(async () => ({ built: undefined, result: undefined }), alone)
    done.push(name)
  }
  return { done, submit }
}

test('held writes wait in their order, and exclusive work does not wait', async () => {
  const opened = await newSession()
  const { done, submit } = submitInto(opened)
  const goOn = opened.session.holdBack(never)
  const held = Promise.all([submit('first'), submit('second')])
  await submit('alone', true)
  await opened.session.checkpoint()
  expect(done).toEqual(['alone'])
  const later = submit('later')
  goOn()
  await Promise.all([held, later])
  expect(done).toEqual(['alone', 'first', 'second', 'later'])
  await opened.session.close()
})

test('held writes continue after the limit', async () => {
  const opened = await newSession()
  const { done, submit } = submitInto(opened)
  opened.session.holdBack(1)
  await submit('held')
  expect(done).toEqual(['held'])
  await opened.session.close()
})

test('held writes are done before the store closes', async () => {
  const opened = await newSession()
  const { done, submit } = submitInto(opened)
  opened.session.holdBack(never)
  const held = submit('held')
  await opened.session.close()
  await held
  expect(done).toEqual(['held'])
})

test('a refusal on a batch that is not written has the reason of that failure', async () => {
  const { store, place } = await newStore()
  await store.close()
  let isFull = false
  const disk: Disk = {
    ...systemDisk,
    write(fd, bytes, position) {
      if (isFull) {
        // Only once: the journal takes back what it may have written.
        isFull = false
        throw new StoreError('storage_full', 'The disk is full')
      }
      systemDisk.write(fd, bytes, position)
    },
  }
  const full = await openStore({ ...place, disk })
  await full.as(author).write('/kept.md', 'kept')
  const create = (path: string): Promise<unknown> =>
    full.as(author).apply([{ type: 'create', path, content: 'new' }])
  isFull = true
  const results = await Promise.allSettled([
    create('/kept.md'),
    create('/new.md'),
    create('/new.md'),
  ])
  const codes = results.map((result) => result.status === 'rejected' && result.reason.code)
  // The third would be refused because of the second, which was never made.
  expect(codes).toEqual(['path_conflict', 'storage_full', 'storage_full'])
  await create('/new.md')
  await full.close()
})
