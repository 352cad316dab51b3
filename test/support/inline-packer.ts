// Packs on a given disk in this thread, where fault tests see every operation; the product packs in
// a worker, on the real disk.

import type { Packer } from '../../src/git/checkpoint.ts'
import type { Disk } from '../../src/git/disk.ts'
import { runPackJob } from '../../src/git/pack-job.ts'

/** `repository` is the store's directory. */
export function inlinePacker(disk: Disk, repository: string): Packer {
  const directory = `${repository}/objects/pack`
  return {
    async write(objects) {
      await runPackJob(disk, { kind: 'write', directory, objects })
    },
    async merge(names) {
      await runPackJob(disk, { kind: 'merge', directory, names })
    },
    async close() {},
  }
}
