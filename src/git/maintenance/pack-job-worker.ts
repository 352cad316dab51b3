// Entry point of the worker thread that pack-worker.ts starts: runs one job, reports progress,
// replies once and ends. Must import nothing that loads libsodium, which would more than double its
// start time.

import { parentPort, workerData } from 'node:worker_threads'
import { systemDisk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { runPackJob } from './pack-job.ts'
import { decodeRequest, type PackReply, type PackThreadData } from './pack-message.ts'

const { request, cancelled }: PackThreadData = workerData
post(await reply())

async function reply(): Promise<PackReply> {
  try {
    const job = decodeRequest(request)
    const pack = await runPackJob(systemDisk, job, {
      isCancelled: () => Atomics.load(cancelled, 0) !== 0,
      progress: (done, total) => post({ done, total }),
    })
    return { pack }
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message }
    return { code: undefined, message: String(error) }
  }
}

function post(message: PackReply): void {
  parentPort?.postMessage(message)
}
