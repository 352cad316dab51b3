// Entry point of the thread that seal-thread.ts starts: seals one job after another and keeps
// nothing.

import { parentPort } from 'node:worker_threads'
import { type SealJob, sealJob } from './seal-job.ts'
import { loadSodium } from './sodium.ts'
import { wipe } from './wipe.ts'

void loadSodium().then(() => parentPort?.on('message', seal))

function seal(job: SealJob): void {
  const blob = sealJob(job)
  wipe(job.key, job.saltKey)
  const { buffer } = blob.body
  parentPort?.postMessage(blob, buffer instanceof ArrayBuffer ? [buffer] : [])
}
