// Entry of the threads that verify-pool.ts starts: checks the batches of commits that it is given,
// one by one, until it is told to end. Reads packs only, without any lock; what is not there, and
// whatever it refuses, is for the other side to judge.

import { parentPort, workerData } from 'node:worker_threads'
import { loadSodium } from '../../crypto/sodium.ts'
import { systemDisk } from '../../disk/disk.ts'
import type { Oid } from '../../git/objects/object.ts'
import { PackSet } from '../../git/pack/pack-set.ts'
import { epochKeys, wipeEpoch } from '../../keys/epoch.ts'
import { checkBatch, type VerifyJob } from './verify-message.ts'

await loadSodium()
// The type is lost on the way; verify-pool.ts alone sets it.
const job: VerifyJob = workerData
const { packDirectory, storeId, signingKeys } = job
const packs = new PackSet(systemDisk, packDirectory)
packs.rescan()
const epochs = job.epochs.map(({ auditKey, contentKey }) => {
  return epochKeys(storeId, auditKey, contentKey)
})
const source = { objects: packs, storeId, epochs: new Map(epochs.map((one) => [one.kid, one])) }

parentPort?.on('message', (oids: readonly Oid[] | undefined) => {
  if (oids === undefined) end()
  else {
    const found = checkBatch(source, signingKeys, oids)
    parentPort?.postMessage(found, [found.buffer])
  }
})

function end(): void {
  for (const epoch of epochs) wipeEpoch(epoch)
  packs.close()
  parentPort?.close()
}
