// Entry of the thread that seal-thread.ts starts: seals what it is given, one after another, and
// keeps nothing of it.

import { parentPort } from 'node:worker_threads'
import { deriveSalt, sealBytes } from './aead.ts'
import type { SealedBlob, SealJob } from './seal-thread.ts'
import { gitHash } from './sha1.ts'
import { wipe } from './wipe.ts'

parentPort?.on('message', (job: SealJob) => {
  const blob = seal(job)
  wipe(job.plaintext, job.key, job.saltKey)
  const { buffer } = blob.body
  parentPort?.postMessage(blob, buffer instanceof ArrayBuffer ? [buffer] : [])
})

function seal(job: SealJob): SealedBlob {
  const body = sealBytes({ ...job, salt: deriveSalt(job) })
  return { body, oid: gitHash('blob', body) }
}
