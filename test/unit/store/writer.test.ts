// The queue of writers: a checkpoint waits for what was submitted before it, not for what comes
// meanwhile.

import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import { openSession } from '../../../src/store/session/open-session.ts'
import { newStore } from '../../support/stores.ts'

test('submitted commands finish while others keep submitting', async () => {
  const { store, place } = await newStore()
  await store.close()
  const { directory, stateDirectory, identity } = place
  const objects = await openDiskObjectStore({ directory })
  const { session } = await openSession(objects, { directory, stateDirectory, identity })
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

test('where others write too, what arrives in the same turn shares a batch', async () => {
  const { store, place } = await newStore()
  await store.close()
  const { directory, stateDirectory, identity } = place
  const objects = await openDiskObjectStore({ directory })
  const { session } = await openSession(objects, { directory, stateDirectory, identity })
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
  expect(batches, 'after nobody else').toBe(2)
  await Promise.all([submit(), submit()])
  await twoOfOneTurn()
  expect(batches).toBe(4)
  await session.close()
})
