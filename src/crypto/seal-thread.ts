// Seals large plaintexts in a worker thread: hashing and encrypting a megabyte would block the
// event loop for ten milliseconds. The plaintext is transferred, not copied, and never leaves the
// process. The thread ends after some idle time.

import type { OwnedBytes, Sealed } from '../bytes.ts'
import { findWorker, JobPool } from '../worker-threads.ts'
import { deriveSalt, type SaltInput, sealBytes, type SealInput } from './aead.ts'
import { gitHash } from './sha1.ts'
import { wipe } from './sodium.ts'

export interface SealJob extends SaltInput, Omit<SealInput, 'salt'> {
  readonly plaintext: OwnedBytes
}

export interface SealedBlob {
  readonly body: Sealed
  readonly oid: string
}

const idleMs = 2000
const pool = new JobPool<SealJob, SealedBlob>(1, idleMs)

/**
 * Like `sealBytes` with the salt of `deriveSalt`. The plaintext must not share its buffer, and is
 * empty or zero afterwards. Rejects with `storage_failed` if the thread dies.
 */
export async function sealInThread(job: SealJob): Promise<SealedBlob> {
  const entry = findWorker(import.meta.url, 'seal-worker')
  if (entry === undefined) return sealJob(job)
  return pool.run(entry, job, { transfer: [job.plaintext.buffer] })
}

/** Wipes the plaintext. */
export function sealJob(job: SealJob): SealedBlob {
  const body = sealBytes({ ...job, salt: deriveSalt(job) })
  wipe(job.plaintext)
  return { body, oid: gitHash('blob', body) }
}
