// A process that takes the writer lock of a store three times: `node lock-process.mjs <directory>
// <log> <go>`. Does not wait for the lock, and exits with 3 if it is held. Prints its
// process id and its namespace, each commit once it is acknowledged, and `holding` while it has the
// lock for the third time; then it continues when the file <go> exists. The log shows when it was
// inside the lock.

import { appendFileSync, existsSync, readlinkSync, writeSync } from 'node:fs'
import { argv, exit, pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDiskObjectStore } from '../../dist/git/disk-store/disk-object-store.js'
import { nextTransition } from './next-transition.mjs'

const [, , directory, log, go] = argv
writeSync(1, `${pid} ${readlinkSync('/proc/self/ns/pid')}\n`)
const store = await openDiskObjectStore({ directory, idleMs: Infinity, lockWaitMs: 0 })
try {
  for (let turn = 1; turn <= 3; turn += 1) await store.exclusive(() => write(turn === 3))
  await store.close()
} catch (error) {
  if (error.code !== 'locked') throw error
  writeSync(1, `${error.message}\n`)
  exit(3)
}

async function write(last) {
  appendFileSync(log, 'in\n')
  const transition = nextTransition(store.head)
  if (last) {
    writeSync(1, 'holding\n')
    while (!existsSync(go)) await sleep(5)
  }
  await store.commit([transition])
  // Straight to the descriptor: printed lines survive a kill.
  writeSync(1, `${transition.next}\n`)
  appendFileSync(log, 'out\n')
}
