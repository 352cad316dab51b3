// The entry of the threads that commit-checkers.ts starts: checks the batches of commits that it
// receives, one by one, until it is told to end. Reads only packs, without a lock; the main thread
// checks missing or refused commits again.

import { workerData } from 'node:worker_threads'
import { loadSodium, wipe } from '../../crypto/sodium.ts'
import { type EpochKeys, epochKeys, wipeEpoch } from '../../keys/epoch.ts'
import { doJobs } from '../../worker-threads.ts'
import { PackedObjects } from './packed-objects.ts'
import { checkBatch, type VerifyBatch, type VerifyJob } from './verify-message.ts'

// Untyped in node; commit-checkers.ts alone sets it.
const job: VerifyJob = workerData
const objects = new PackedObjects(job.packDirectories, undefined, job.hashed)
// Not awaited: a bundle in CommonJS has no top-level await.
void loadSodium().then(listen)

function listen(): void {
  const { storeId, signing, signingKeys } = job
  const epochs = job.epochs.map(({ seed, auditKey, contentKey }) => {
    return epochKeys(seed, auditKey, contentKey)
  })
  const identity = signing && { signing }
  const source = {
    objects,
    storeId,
    epochs: new Map(epochs.map((one) => [one.kid, one])),
    identity,
  }
  doJobs(
    (oids: VerifyBatch) => {
      if (oids === undefined) wipeAll(epochs)
      return checkBatch(source, signingKeys, oids ?? [])
    },
    ({ buffer }) => [buffer],
  )
}

function wipeAll(epochs: readonly EpochKeys[]): void {
  for (const epoch of epochs) wipeEpoch(epoch)
  if (job.signing !== undefined) wipe(job.signing.secretKey)
  objects.close()
}
