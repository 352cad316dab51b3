// The entry of the threads that verify-pool.ts starts: checks the batches of commits that it
// receives, one by one, until it is told to end. Reads only packs, without a lock; the main thread
// checks again what is missing there or refused.

import { parentPort, workerData } from 'node:worker_threads'
import { loadSodium } from '../../crypto/sodium.ts'
import { systemDisk } from '../../disk/disk.ts'
import type { GitObject, Oid } from '../../git/objects/object.ts'
import { PackSet } from '../../git/pack/pack-set.ts'
import { epochKeys, wipeEpoch } from '../../keys/epoch.ts'
import { checkBatch, type VerifyJob } from './verify-message.ts'

await loadSodium()
// Untyped in node; verify-pool.ts alone sets it.
const job: VerifyJob = workerData
const { packDirectories, storeId, signingKeys } = job
const packs = packDirectories.map((directory) => new PackSet(systemDisk, directory))
for (const set of packs) set.rescan()
const epochs = job.epochs.map(({ auditKey, contentKey }) => {
  return epochKeys(storeId, auditKey, contentKey)
})
const objects = { read: findObject, has: (oid: Oid) => packs.some((set) => set.has(oid)) }
const source = { objects, storeId, epochs: new Map(epochs.map((one) => [one.kid, one])) }

parentPort?.on('message', (oids: readonly Oid[] | undefined) => {
  if (oids === undefined) end()
  else {
    const result = checkBatch(source, signingKeys, oids)
    parentPort?.postMessage(result, [result.buffer])
  }
})

function end(): void {
  for (const epoch of epochs) wipeEpoch(epoch)
  for (const set of packs) set.close()
  parentPort?.close()
}

function findObject(oid: Oid): GitObject | undefined {
  for (const set of packs) {
    const found = set.read(oid)
    if (found !== undefined) return found
  }
  return undefined
}
