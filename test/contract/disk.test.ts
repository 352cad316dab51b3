// The contract of Disk, on each implementation.

import { MemoryDisk } from '../../src/disk/memory-disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { unsyncedDisk } from '../../src/disk/unsynced-disk.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { describeDisk } from './disk.contract.ts'

describeDisk('of the system', () => ({ disk: systemDisk, root: temporaryDirectory() }))
describeDisk('that syncs nothing', () => ({ disk: unsyncedDisk, root: temporaryDirectory() }))
describeDisk('in RAM', () => {
  const disk = new MemoryDisk()
  disk.makeDirectory('/root')
  return { disk, root: '/root' }
})
