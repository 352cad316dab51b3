// Packs on a given disk in this thread, where fault tests see every operation; the product packs in
// a worker, on the real disk.

import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Disk } from '../../src/disk/disk.ts'
import { asAmount, runPackJob } from '../../src/git/maintenance/pack-job.ts'
import { asIndexedPack, asTemporaryPack } from '../../src/git/pack/pack-file.ts'
import type { Packer } from '../../src/git/pack/packer.ts'

/** `repository` is the store's directory. */
export function inlinePacker(disk: Disk, repository: string): Packer {
  const directory = `${repository}/objects/pack`
  return {
    async write(objects) {
      await runPackJob(disk, { kind: 'write', directory, objects })
    },
    async stage(objects) {
      return asTemporaryPack(await runPackJob(disk, { kind: 'stage', directory, objects }))
    },
    async merge(names) {
      await runPackJob(disk, { kind: 'merge', directory, names })
    },
    async index(place, token, { signal, progress }) {
      const watch = {
        isCancelled: () => signal?.aborted === true,
        progress: (done: number, total: number) => progress?.(done, total),
      }
      const job = { kind: 'index', directory: place, token } as const
      return asIndexedPack(await runPackJob(disk, job, watch))
    },
    async filter(dead, heads) {
      await runPackJob(disk, { kind: 'filter', directory, dead: dead.bytes, heads })
    },
    async compact(names, { signal, progress }) {
      const watch = {
        isCancelled: () => signal?.aborted === true,
        progress: (done: number, total: number) => progress?.(done, total),
      }
      await runPackJob(disk, { kind: 'compact', directory, names }, watch)
    },
    async measureUnreachable(names, from) {
      return asAmount(await runPackJob(disk, { kind: 'unreachable', directory, names, ...from }))
    },
  }
}

/** The same for a repository that a join makes, in a staging directory until it is complete. */
export function joiningPacker(disk: Disk, repository: string): Packer {
  const packer = (): Packer => inlinePacker(disk, placeNow(repository))
  return {
    write: (objects) => packer().write(objects),
    stage: (objects) => packer().stage(objects),
    merge: (names) => packer().merge(names),
    index: (directory, token, options) => packer().index(directory, token, options),
    filter: (dead, heads) => packer().filter(dead, heads),
    compact: (names, options) => packer().compact(names, options),
    measureUnreachable: (names, from, options) => packer().measureUnreachable(names, from, options),
  }
}

function placeNow(repository: string): string {
  if (existsSync(repository)) return repository
  const start = `${basename(repository)}.join-`
  const names = readdirSync(dirname(repository))
  const name = names.find((one) => one.startsWith(start) && !one.endsWith('.state'))
  return name === undefined ? repository : join(dirname(repository), name)
}
