// The file with the operator secret of a server, which recovers every store that it makes. It lies
// next to the identity file; a new one is durable before a store depends on it.

import type { Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreError } from '../errors.ts'
import { generateOperatorSecret, parseOperatorSecret } from '../keys/identity.ts'
import { findTextFile, writeSecretFile } from './files.ts'
import { checkPrivate } from './identity-file.ts'
import type { DefaultPlaces } from './places.ts'

const what = 'the file with the operator secret'

export interface OperatorSecretFile {
  readonly path: string
  readonly operatorSecret: string
  /** It is new: a copy must be kept elsewhere. */
  readonly isNew: boolean
}

/** The operator secret next to an identity file; created if it is missing. */
export async function ensureOperatorSecret({
  identityFile,
}: Pick<DefaultPlaces, 'identityFile'>): Promise<OperatorSecretFile> {
  const path = join(dirname(identityFile), 'operator-secret')
  const check = (file: Stats): void => checkPrivate(what, path, 'recovers every store', file)
  const found = findTextFile(what, path, false, check)?.trim()
  if (found !== undefined) return { path, operatorSecret: checked(found, path), isNew: false }
  const operatorSecret = await generateOperatorSecret()
  writeSecretFile(what, path, `${operatorSecret}\n`)
  return { path, operatorSecret, isNew: true }
}

function checked(secret: string, path: string): string {
  try {
    parseOperatorSecret(secret)
    return secret
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const sentence = `The file ${path} does not hold an operator secret; restore it from a copy`
    throw new StoreError('invalid_identity', sentence, { cause: error })
  }
}
