// Packs on a given disk in this thread, where fault tests see every operation; the product packs in
// a worker, on the real disk.

import type { Packer } from '../../src/git/checkpoint.ts'
import type { Disk } from '../../src/git/disk.ts'
import { asHalfPack } from '../../src/git/pack-file.ts'
import { runPackJob } from '../../src/git/pack-job.ts'

/** `repository` is the store's directory. */
export function inlinePacker(disk: Disk, repository: string): Packer {
  const directory = `${repository}/objects/pack`
  return {
    async write(objects) {
      await runPackJob(disk, { kind: 'write', directory, objects })
    },
    async stage(objects) {
      return asHalfPack(await runPackJob(disk, { kind: 'stage', directory, objects }))
    },
    async merge(names) {
      await runPackJob(disk, { kind: 'merge', directory, names })
    },
    async index(token, { signal, progress }) {
      const watch = {
        isCancelled: () => signal?.aborted === true,
        progress: (done: number, total: number) => progress?.(done, total),
      }
      return asHalfPack(await runPackJob(disk, { kind: 'index', directory, token }, watch))
    },
    async filter(dead) {
      await runPackJob(disk, { kind: 'filter', directory, dead: dead.bytes })
    },
    async compact(names, heads, { signal, progress }) {
      const watch = {
        isCancelled: () => signal?.aborted === true,
        progress: (done: number, total: number) => progress?.(done, total),
      }
      await runPackJob(disk, { kind: 'compact', directory, names, heads }, watch)
    },
    async close() {},
  }
}
