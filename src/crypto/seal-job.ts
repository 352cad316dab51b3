// Seals one large plaintext: the job that seal-thread.ts sends to its thread.

import type { OwnedBytes, Sealed } from '../bytes.ts'
import { deriveSalt, type SaltInput, sealBytes, type SealInput } from './aead.ts'
import { gitHash } from './sha1.ts'
import { wipe } from './wipe.ts'

export interface SealJob extends SaltInput, Omit<SealInput, 'salt'> {
  readonly plaintext: OwnedBytes
}

/** The envelope, and its oid as a git blob. */
export interface SealedBlob {
  readonly body: Sealed
  readonly oid: string
}

/** Wipes the plaintext. */
export function sealJob(job: SealJob): SealedBlob {
  const body = sealBytes({ ...job, salt: deriveSalt(job) })
  wipe(job.plaintext)
  return { body, oid: gitHash('blob', body) }
}
