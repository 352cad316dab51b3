// Packs in a worker thread: in the main thread, a large checkpoint would block a write. A job of a
// few milliseconds runs in the main thread all the same, because a thread takes 40 to start. Must
// not choose the objects of a pack.

import { systemDisk } from '../../disk/system-disk.ts'
import { KIBIBYTE } from '../../limits.ts'
import { findWorker, type JobOptions, JobPool } from '../../worker-threads.ts'
import type { CompactOptions } from '../object-store.ts'
import { asIndexedPack, asTemporaryPack, temporaryPath } from '../pack/pack-file.ts'
import type { Packer } from '../pack/packer.ts'
import {
  asAmount,
  encodeRequest,
  type PackJob,
  type PackRequest,
  type PackResult,
  runPackJob,
  transferOf,
} from './pack-job.ts'

/** A thread takes some twenty megabytes: a server that packs many stores at once has them wait. */
const packThreadsMax = 2

/** The young generation of a thread, which works on buffers; the default is 48. */
const youngMegabytes = 6

/**
 * How long a thread that has written or merged packs waits for the next job: a busy store packs
 * again within a second, and a new thread takes 40 ms to start and compiles again all that it runs.
 */
const idleMs = 10_000

/** How long a cancelled check may go on; a single object takes longer only if it is hostile. */
const cancelMsMax = 50

const pool = new JobPool<PackRequest, PackResult>(packThreadsMax, idleMs, {
  maxYoungGenerationSizeMb: youngMegabytes,
})

/** Less than this is packed faster than a thread starts. */
const inlineBytesMax = 512 * KIBIBYTE

/** A hostile pack takes up to half a second however small it is, so fewer are checked here. */
const inlineIndexBytesMax = 64 * KIBIBYTE

/** A packer for the system's disk. `directory` is `objects/pack`. */
export function workerPacker(directory: string): Packer {
  return {
    async write(objects) {
      await runWhereFaster({ kind: 'write', directory, objects })
    },
    async stage(objects) {
      return asTemporaryPack(await runWhereFaster({ kind: 'stage', directory, objects }))
    },
    async merge(names) {
      await runWhereFaster({ kind: 'merge', directory, names })
    },
    async index(place, token, options) {
      const job = { kind: 'index', directory: place, token } as const
      return asIndexedPack(await runWhereFaster(job, options))
    },
    async filter(dead, heads) {
      await runWhereFaster({ kind: 'filter', directory, dead: dead.bytes, heads })
    },
    async compact(names, options) {
      await runWhereFaster({ kind: 'compact', directory, names }, options)
    },
    async measureUnreachable(names, from, options) {
      return asAmount(
        await runWhereFaster({ kind: 'unreachable', directory, names, ...from }, options),
      )
    },
  }
}

/**
 * Like `runPackJob` on the system's disk, in a worker thread if possible. Keeps the process alive
 * until it resolves.
 */
export async function packInWorker(
  job: PackJob,
  options: CompactOptions = {},
): Promise<PackResult> {
  const entry = findEntry()
  if (entry === undefined) return packHere(job, options)
  const request = encodeRequest(job)
  const isKept = job.kind === 'write' || job.kind === 'stage' || job.kind === 'merge'
  return pool.run(entry, request, optionsOf(request, options), isKept)
}

function optionsOf(request: PackRequest, options: CompactOptions): JobOptions {
  // Not before that: the thread removes its temporary files first. Those of a received pack are
  // removed by its receiver.
  const cancelMs = request.kind === 'index' ? cancelMsMax : undefined
  return { ...options, cancelMs, transfer: transferOf(request) }
}

function findEntry(): URL | undefined {
  return findWorker(import.meta.url, 'pack-job-worker')
}

function runWhereFaster(job: PackJob, options: CompactOptions = {}): Promise<PackResult> {
  const bytesMax = job.kind === 'index' ? inlineIndexBytesMax : inlineBytesMax
  return bytesOf(job) > bytesMax ? packInWorker(job, options) : packHere(job, options)
}

function packHere(job: PackJob, { signal, progress }: CompactOptions): Promise<PackResult> {
  return runPackJob(systemDisk, job, {
    isCancelled: () => signal?.aborted === true,
    progress: (done, total) => progress?.(done, total),
  })
}

function bytesOf(job: PackJob): number {
  let bytes = 0
  if ('objects' in job) {
    for (const { body } of job.objects) bytes += body.length
    return bytes
  }
  for (const path of packsOf(job)) bytes += systemDisk.stat(path)?.size ?? 0
  return bytes
}

function packsOf(job: Exclude<PackJob, { objects: unknown }>): readonly string[] {
  const { directory } = job
  if (job.kind === 'index') return [temporaryPath(directory, 'pack', job.token)]
  const names =
    job.kind === 'filter'
      ? systemDisk.list(directory).filter((file) => file.endsWith('.pack'))
      : job.names.map((name) => `${name}.pack`)
  return names.map((name) => `${directory}/${name}`)
}
