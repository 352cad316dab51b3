// Makes the identity of this machine: the file is durable before anything refers to it, so that a
// crash leaves either nothing or a device that can be used. It never replaces a file.

import { rmSync } from 'node:fs'
import { hasCode } from '../errors.ts'
import { formatIdentity, generateIdentity, type Identity } from '../keys/identity.ts'
import type { Environment } from './environment.ts'
import { attempt, writeSecretFile } from './files.ts'
import { findIdentity } from './open-store.ts'

/**
 * Runs `work` with the identity in the file, made if it is missing. If `work` fails before the
 * store could have learnt of a new identity, its file is removed again.
 */
export async function withIdentityFile<T>(
  environment: Environment,
  work: (identity: Identity) => Promise<T>,
): Promise<T> {
  const existing = findIdentity(environment)
  if (existing !== undefined) return work(existing)
  const path = environment.identityFile
  const identity = await generateIdentity()
  writeSecretFile('the identity file', path, formatIdentity(identity))
  try {
    return await work(identity)
  } catch (error) {
    if (failedBeforeWriting(error)) {
      attempt('remove the identity file', path, () => rmSync(path, { force: true }))
    }
    throw error
  }
}

function failedBeforeWriting(error: unknown): boolean {
  return hasCode(
    error,
    'invalid_input',
    'wrong_key',
    'invalid_identity',
    'not_a_store',
    'store_exists',
    'unsupported_repository',
    'upgrade_required',
    'incomplete_clone',
    'weak_key_parameters',
  )
}
