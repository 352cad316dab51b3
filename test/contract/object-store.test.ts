// The contract of ObjectStore, on each implementation.

import { createDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import { openReplicatedStore } from '../../src/git/replica/replicated-store.ts'
import { testSecret } from '../support/erasure.ts'
import { FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { VolatileLog } from '../support/volatile-shared-log.ts'
import { describeObjectStore } from './object-store.contract.ts'

describeObjectStore('in memory', async () => createMemoryObjectStore())

describeObjectStore('on disk', () => {
  return createDiskObjectStore({ directory: temporaryDirectory(), secret: testSecret })
})

describeObjectStore('on a disk that counts operations', () => {
  const disk = new FaultyDisk()
  const directory = temporaryDirectory()
  return createDiskObjectStore({
    directory,
    disk,
    packer: inlinePacker(disk, directory),
    secret: testSecret,
  })
})

describeObjectStore('over a shared log', () => {
  const log = new VolatileLog().server()
  return openReplicatedStore({ directory: temporaryDirectory(), log, secret: testSecret })
})
