// A disk that counts the reads of packs, so that tests see if something is read again.

import type { Disk } from '../../src/disk/disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'

export function countedDisk(): { readonly disk: Disk; readonly counts: { reads: number } } {
  const counts = { reads: 0 }
  const packs = new Set<number>()
  const opened = <Fd extends number | undefined>(path: string, fd: Fd): Fd => {
    if (fd !== undefined && path.endsWith('.pack')) packs.add(fd)
    return fd
  }
  const disk: Disk = {
    ...systemDisk,
    open: (path, mode) => opened(path, systemDisk.open(path, mode)),
    openExisting: (path, mode) => opened(path, systemDisk.openExisting(path, mode)),
    read(fd, into, position) {
      if (packs.has(fd)) counts.reads += 1
      return systemDisk.read(fd, into, position)
    },
  }
  return { disk, counts }
}
