// Packing off the write path: inline, a large checkpoint would hold up one write for as long as it
// takes. A job of a few milliseconds runs here all the same, because a thread takes 40 to start.
// Must not decide what is packed. One thread per job: it gives all its memory back, and none has to
// be kept, unreferenced and ended.

import { Worker } from 'node:worker_threads'
import { StoreError } from '../errors.ts'
import { KIBIBYTE } from '../limits.ts'
import { workerUrl } from '../worker-url.ts'
import type { Packer } from './checkpoint.ts'
import { systemDisk } from './disk.ts'
import type { PackStatus } from './object-store.ts'
import { runPackJob, type PackJob } from './pack-job.ts'
import { encodeRequest, type PackReply } from './pack-message.ts'

/** What is packed in less time than a thread takes to start. */
const inlineBytesMax = 512 * KIBIBYTE

/** Packs of the real disk in `directory`, `objects/pack`. */
export function workerPacker(directory: string): Packer {
  return {
    async write(objects) {
      await runWhereFaster({ kind: 'write', directory, objects })
    },
    async merge(names) {
      await runWhereFaster({ kind: 'merge', directory, names })
    },
    async close() {},
  }
}

/** As `runPackJob` on the real disk, in a thread of its own. Keeps the process alive meanwhile. */
export function packInWorker(job: PackJob): Promise<PackStatus | undefined> {
  const request = encodeRequest(job)
  const worker = new Worker(workerUrl(import.meta.url, 'pack-job-worker'), {
    workerData: request,
    transferList: request.kind === 'write' ? [request.bodies.buffer] : [],
  })
  return new Promise((resolve, reject) => {
    worker.once('message', (reply: PackReply) => {
      if ('pack' in reply) resolve(reply.pack)
      else reject(failureOf(reply.code, reply.message))
    })
    worker.once('error', (cause) => reject(stopped(cause)))
    worker.once('exit', () => reject(stopped()))
  })
}

function runWhereFaster(job: PackJob): Promise<PackStatus | undefined> {
  return bytesOf(job) > inlineBytesMax ? packInWorker(job) : runPackJob(systemDisk, job)
}

function bytesOf(job: PackJob): number {
  let bytes = 0
  if (job.kind === 'write') {
    for (const { body } of job.objects) bytes += body.length
  } else {
    for (const name of job.names) {
      bytes += systemDisk.stat(`${job.directory}/${name}.pack`)?.size ?? 0
    }
  }
  return bytes
}

function failureOf(code: StoreError['code'] | undefined, message: string): Error {
  return code === undefined ? new Error(message) : new StoreError(code, message)
}

function stopped(cause?: unknown): StoreError {
  return new StoreError('storage_failed', 'The packing thread stopped before its work was done', {
    cause,
  })
}
