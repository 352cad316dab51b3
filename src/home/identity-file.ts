// The files with secrets of this machine: its identity, and next to it the operator secret of a
// server, which recovers every store that it makes. A new one is durable before anything refers to
// it, so that a crash leaves either nothing or one that can be used. Never replaces a file, and
// reads none that others can read.

import { rmSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasCode, StoreError } from '../errors.ts'
import {
  decodeIdentity,
  formatIdentity,
  generateIdentity,
  type Identity,
  generateOperatorSecret,
  parseOperatorSecret,
} from '../keys/identity.ts'
import { attempt, findTextFile, writeSecretFile } from './files.ts'
import type { DefaultPlaces } from './places.ts'

type IdentityPlace = Pick<DefaultPlaces, 'identityFile' | 'identityIsNamed'>

/** Undefined if there is no such file. Throws `invalid_identity`. libsodium must be loaded. */
export function findIdentity({
  identityFile,
  identityIsNamed,
}: IdentityPlace): Identity | undefined {
  const what = 'the identity file'
  const harm = 'reads every memory and writes in the name of this machine'
  const check = (found: Stats): void => checkPrivate(what, identityFile, harm, found)
  const text = findTextFile(what, identityFile, identityIsNamed, check)
  return text === undefined ? undefined : decodeIdentity(text)
}

/** The permissions of group and others. */
const FOREIGN = 0o077

/**
 * As ssh does for its keys: refused, not mended, since the secret may be known already and only the
 * user can tell. A file of another user, such as a secret that an orchestrator mounts, is not ours
 * to judge. `harm` is what can be done by anyone who has read it.
 */
function checkPrivate(what: string, path: string, harm: string, found: Stats): void {
  const { mode, uid } = found
  if ((mode & FOREIGN) === 0 || uid !== process.geteuid?.()) return
  throw new StoreError(
    'invalid_identity',
    `Other users can open ${what} (mode ${(mode & 0o777).toString(8)}): who has read it ${harm}. ` +
      `It is used again after \`chmod 600 ${path}\``,
  )
}

/**
 * Runs `work` with the identity in the file, which is created if it is missing. If `work` fails
 * before anything could have learnt of a new identity, the file is removed again: never if it
 * `isUsed`. Another process may begin or fail here at the same time, so a success is kept.
 */
export async function withIdentityFile<T>(
  place: IdentityPlace,
  work: (identity: Identity) => Promise<T>,
  isUsed: () => boolean = () => false,
): Promise<T> {
  const existing = findIdentity(place)
  if (existing !== undefined) return keeping(place, existing, work)
  const path = place.identityFile
  const identity = await generateIdentity()
  try {
    write(path, identity)
  } catch (error) {
    const other = findIdentity(place)
    if (other === undefined) throw error
    return keeping(place, other, work)
  }
  try {
    return await work(identity)
  } catch (error) {
    if (failedBeforeWriting(error) && !isUsed()) {
      attempt('remove the identity file', path, () => rmSync(path, { force: true }))
    }
    throw error
  }
}

/** The process that made the file may have failed and removed it since. */
async function keeping<T>(
  place: IdentityPlace,
  identity: Identity,
  work: (identity: Identity) => Promise<T>,
): Promise<T> {
  const result = await work(identity)
  if (findIdentity(place) === undefined) write(place.identityFile, identity)
  return result
}

/** The identity in a file that a user has named; made if there is no such file. */
export async function ensureIdentity(
  path: string,
): Promise<{ readonly identity: Identity; readonly isNew: boolean }> {
  const found = findIdentity({ identityFile: path, identityIsNamed: false })
  if (found !== undefined) return { identity: found, isNew: false }
  const identity = await generateIdentity()
  write(path, identity)
  return { identity, isNew: true }
}

function write(path: string, identity: Identity): void {
  writeSecretFile('the identity file', path, formatIdentity(identity))
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
  const what = 'the file with the operator secret'
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
