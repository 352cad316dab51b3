// Entry of the worker thread that pack-worker.ts starts: one job, one reply, then the end. Must
// import nothing that loads libsodium, which would more than double its start.

import { parentPort, workerData } from 'node:worker_threads'
import { StoreError } from '../errors.ts'
import { systemDisk } from './disk.ts'
import { runPackJob } from './pack-job.ts'
import { decodeRequest, type PackReply, type PackRequest } from './pack-message.ts'

const request: PackRequest = workerData
parentPort?.postMessage(await reply())

async function reply(): Promise<PackReply> {
  try {
    return { pack: await runPackJob(systemDisk, decodeRequest(request)) }
  } catch (error) {
    if (error instanceof StoreError) return { code: error.code, message: error.message }
    return { code: undefined, message: String(error) }
  }
}
