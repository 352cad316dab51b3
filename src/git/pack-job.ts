// The two kinds of packing as values, so that the same job runs here, on a given disk, or in the
// worker thread. Must not decide when either is due.

import type { Disk } from './disk.ts'
import type { PackStatus } from './object-store.ts'
import { mergePacks } from './pack-merge.ts'
import { orderForPack } from './pack-order.ts'
import { writePack, type PackObject } from './pack-writer.ts'

export type PackJob =
  | {
      readonly kind: 'write'
      /** `objects/pack`, absolute. */
      readonly directory: string
      /** Oldest first, the objects of a commit before it. */
      readonly objects: readonly PackObject[]
    }
  | { readonly kind: 'merge'; readonly directory: string; readonly names: readonly string[] }

/** The new pack; undefined if there was nothing left to merge. */
export async function runPackJob(disk: Disk, job: PackJob): Promise<PackStatus | undefined> {
  if (job.kind === 'write') return writePack(disk, job.directory, orderForPack(job.objects))
  return mergePacks(disk, job.directory, job.names)
}
