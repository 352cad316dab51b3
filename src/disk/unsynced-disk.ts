// The disk of files that can be made again after a power loss: nothing is synced.

import type { Disk } from './disk.ts'
import { systemDisk } from './system-disk.ts'

export const unsyncedDisk: Disk = {
  ...systemDisk,
  sync: async () => undefined,
  syncDirectory: async () => undefined,
}

/** Whether its paths are those of the system, so that threads reach the same files. */
export function isOfSystem(disk: Disk): boolean {
  return disk === systemDisk || disk === unsyncedDisk
}
