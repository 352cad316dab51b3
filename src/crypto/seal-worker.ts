// Entry point of the thread that seal-thread.ts starts: seals one job after another and keeps
// nothing.

import { doJobs } from '../worker-threads.ts'
import { type SealedBlob, type SealJob, sealJob } from './seal-thread.ts'
import { loadSodium, wipe } from './sodium.ts'

void loadSodium().then(serve)

function serve(): void {
  doJobs(seal, ({ body: { buffer } }) => (buffer instanceof ArrayBuffer ? [buffer] : []))
}

function seal(job: SealJob): SealedBlob {
  const blob = sealJob(job)
  wipe(job.key, job.saltKey)
  return blob
}
