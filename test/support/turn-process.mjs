// A process that has a store open and writes when it is told to: `node turn-process.mjs
// <directory>`. For each line `write` on standard input it commits once and prints the commit once
// that is acknowledged; for `hold` it takes the writer lock, prints `holding` and keeps it. Does
// not wait for the lock. Loads the compiled product.

import { writeSync } from 'node:fs'
import { argv, stdin } from 'node:process'
import { createInterface } from 'node:readline'
import { openDiskObjectStore } from '../../dist/git/disk-store/disk-object-store.js'
import { nextTransition } from './next-transition.mjs'

const [, , directory] = argv
const store = await openDiskObjectStore({ directory, idleMs: Infinity, lockWaitMs: 0 })
writeSync(1, 'open\n')
for await (const order of createInterface({ input: stdin })) {
  const commit = await store.exclusive(async () => {
    if (order === 'hold') {
      writeSync(1, 'holding\n')
      await new Promise(() => {})
    }
    const transition = nextTransition(store.head)
    await store.commit([transition])
    return transition.next
  })
  writeSync(1, `${commit}\n`)
}
await store.close()
