// Every kind of store with an exchange of packs, for the tests of its contract.

import { join } from 'node:path'
import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { openReplicatedStore } from '../../src/git/replica/replicated-store.ts'
import { FaultyDisk } from './faulty-disk.ts'
import { inlinePacker } from './inline-packer.ts'
import { temporaryDirectory } from './temporary.ts'
import { VolatileLog } from './volatile-shared-log.ts'

export const kinds: readonly (readonly [string, () => Promise<ObjectStore>])[] = [
  ['in memory', async () => createMemoryObjectStore()],
  ['on disk', () => createDiskObjectStore({ directory: join(temporaryDirectory(), 's') })],
  [
    'over a shared log',
    () => {
      const log = new VolatileLog().server()
      return openReplicatedStore({ directory: join(temporaryDirectory(), 's'), log })
    },
  ],
  [
    'on a disk that counts operations',
    () => {
      const disk = new FaultyDisk()
      const directory = join(temporaryDirectory(), 's')
      return createDiskObjectStore({ directory, disk, packer: inlinePacker(disk, directory) })
    },
  ],
]
