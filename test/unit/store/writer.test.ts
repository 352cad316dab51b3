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
