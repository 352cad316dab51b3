// A process that compacts a store: `node slow-compact.mjs <directory>`. Prints `compacting` once it
// holds the lock, which it keeps until its input ends. Loads the compiled product.

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { argv, stdin } from 'node:process'
import { openDiskObjectStore } from '../../dist/git/disk-store/disk-object-store.js'
import { workerPacker } from '../../dist/git/maintenance/pack-worker.js'

const [, , directory] = argv
const packer = workerPacker(`${directory}/objects/pack`)
const slow = {
  ...packer,
  async compact(...job) {
    writeSync(1, 'compacting\n')
    await once(stdin.resume(), 'end')
    return packer.compact(...job)
  },
}
const store = await openDiskObjectStore({ directory, packer: slow })
await store.compact()
await store.close()
