// The queue of writers: who waits for what was submitted does not wait for what comes meanwhile.

import { expect, test } from 'vitest'
import type { ObjectStore } from '../../../src/git/object-store.ts'
import { Writer } from '../../../src/store/session/writer.ts'
import { createVolatileObjectStore } from '../../support/volatile-object-store.ts'

function writerOn(objects: ObjectStore): Writer {
  return new Writer({
    objects,
    locked: (work) => work(),
    catchUp: async () => undefined,
    head: () => '',
    written: () => undefined,
  })
}

test('what was submitted is done while others go on submitting', async () => {
  const writer = writerOn(createVolatileObjectStore())
  let done = 0
  const keepBusy = async (): Promise<void> => {
    while (done < 100) {
      await writer.submit(async () => ({ built: undefined, result: undefined }))
      done += 1
    }
  }
  // Two, so that the queue is never empty.
  const busy = Promise.all([keepBusy(), keepBusy()])
  await writer.settled()
  expect(done).toBeLessThan(10)
  await busy
})
