// The entry of the threads that verify-pool.ts starts: checks the batches of commits that it
// receives, one by one, until it is told to end. Reads only packs, without a lock; the main thread
// checks missing or refused commits again.

import { parentPort, workerData } from 'node:worker_threads'
import { loadSodium } from '../../crypto/sodium.ts'
import { wipe } from '../../crypto/wipe.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type EpochKeys, epochKeys, wipeEpoch } from '../../keys/epoch.ts'
import { PackedObjects } from './packed-objects.ts'
import { checkBatch, type VerifyJob } from './verify-message.ts'

// Untyped in node; verify-pool.ts alone sets it.
const job: VerifyJob = workerData
const objects = new PackedObjects(job.packDirectories)
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
  parentPort?.on('message', (oids: readonly Oid[] | undefined) => {
    if (oids === undefined) end(epochs)
    else {
      const result = checkBatch(source, signingKeys, oids)
      parentPort?.postMessage(result, [result.buffer])
    }
  })
}

function end(epochs: readonly EpochKeys[]): void {
  for (const epoch of epochs) wipeEpoch(epoch)
  if (job.signing !== undefined) wipe(job.signing.secretKey)
  objects.close()
  parentPort?.close()
}
