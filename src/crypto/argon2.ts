// One Argon2id hash. The only importer of the larger libsodium build, whose memory never shrinks:
// argon2-worker.ts runs it in a thread that ends; passphrase.ts calls it only without threads.

import sumo, { ready } from 'libsodium-wrappers-sumo'
import type { StretchParameters } from '../limits.ts'

export interface StretchJob extends StretchParameters {
  /** UTF-8 of the passphrase in NFC. */
  readonly password: Uint8Array
  readonly salt: Uint8Array
}

/** Undefined if the memory cannot be allocated, the only failure of checked parameters. */
export async function stretch(job: StretchJob): Promise<Uint8Array | undefined> {
  await ready
  const { password, salt, passes, memoryKiB } = job
  const algorithm = sumo.crypto_pwhash_ALG_ARGON2ID13
  try {
    return sumo.crypto_pwhash(32, password, salt, passes, memoryKiB * 1024, algorithm)
  } catch {
    return undefined
  } finally {
    password.fill(0)
  }
}
