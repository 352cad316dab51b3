// A process that compacts a store for a while: `node slow-compact.mjs <directory> <ms>`. Prints
// `compacting` once it holds the lock. Loads the compiled product.

import { writeSync } from 'node:fs'
import { argv } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { openDiskObjectStore } from '../../dist/git/disk-store/disk-object-store.js'
import { workerPacker } from '../../dist/git/maintenance/pack-worker.js'

const [, , directory, ms] = argv
const packer = workerPacker(`${directory}/objects/pack`)
const slow = {
  ...packer,
  async compact(...job) {
    writeSync(1, 'compacting\n')
    await delay(Number(ms))
    return packer.compact(...job)
  },
}
const store = await openDiskObjectStore({ directory, packer: slow })
await store.compact()
await store.close()
