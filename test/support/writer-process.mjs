// A process that writes to a store as fast as it can: `node writer-process.mjs <directory>
// <count>`. Prints each commit once it is acknowledged. Loads the compiled product.

import { writeSync } from 'node:fs'
import { argv } from 'node:process'
import { openDiskObjectStore } from '../../dist/git/disk-store/disk-object-store.js'
import { nextTransition } from './next-transition.mjs'

const [, , directory, count] = argv
const store = await openDiskObjectStore({ directory, idleMs: 5 })
for (let written = 0; written < Number(count); written += 1) {
  await store.exclusive(async () => {
    const transition = nextTransition(store.head)
    await store.commit([transition])
    // Straight to the descriptor: printed lines survive a kill.
    writeSync(1, `${transition.next}\n`)
  })
  // Every so often long enough for a checkpoint.
  if (written % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 10))
}
await store.close()
