// Entry of the worker thread that passphrase.ts starts: one Argon2id hash, then the end. The only
// importer of the larger libsodium build.

import { parentPort, workerData } from 'node:worker_threads'
import sumo, { ready } from 'libsodium-wrappers-sumo'
import type { StretchJob } from './passphrase.ts'

await ready
// The type is lost on the way; passphrase.ts alone sets it.
const job: StretchJob = workerData
parentPort?.postMessage(stretch(job))

/** Undefined if the memory cannot be had, the one way in which checked parameters can fail. */
function stretch({ password, salt, passes, memoryKiB }: StretchJob): Uint8Array | undefined {
  const algorithm = sumo.crypto_pwhash_ALG_ARGON2ID13
  try {
    return sumo.crypto_pwhash(32, password, salt, passes, memoryKiB * 1024, algorithm)
  } catch {
    return undefined
  } finally {
    password.fill(0)
  }
}
