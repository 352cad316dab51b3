// Files of one user that another user made, root above all: `sudo gitlocket` is refused in the
// places of a user by the rule of disk/foreign-owner.ts, whatever the command; existing files are
// named.

import { accessSync, constants, lstatSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getegid, geteuid } from 'node:process'
import { findForeignPlace, foreignSentence } from '../../disk/foreign-owner.ts'
import { StoreError } from '../../errors.ts'
import { CommandError } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'

/** Throws `storage_denied` for root in a place of another user. */
export function refuseForeignRoot(environment: Environment): void {
  const found = findForeignPlace(...placesOf(environment))
  if (found === undefined) return
  const { place, uid } = found
  const hint = `Run it as that user: sudo -u '#${uid}' gitlocket …`
  throw new CommandError('storage_denied', foreignSentence, hint, { place })
}

export interface ForeignFiles {
  readonly paths: readonly string[]
  readonly uid: number
  readonly gid: number
}

/** Files in the places of the store that belong to another user, and that this one cannot read. */
export function findForeignFiles(environment: Environment): ForeignFiles {
  const [uid, gid] = [geteuid?.() ?? 0, getegid?.() ?? 0]
  const paths = geteuid === undefined ? [] : placesOf(environment).flatMap((at) => below(at, uid))
  return { paths: [...new Set(paths)], uid, gid }
}

function below(path: string, uid: number): readonly string[] {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink()) return []
  // A directory that cannot be listed is one entry: `chown -R` includes its contents.
  if (found.uid !== uid && !isReadable(path)) return [path]
  return found.isDirectory()
    ? readdirSync(path).flatMap((name) => below(join(path, name), uid))
    : []
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Without a home directory there may be no place, and the command reports that if it needs one. */
function placesOf(environment: Environment): readonly string[] {
  try {
    const { storeDirectory, stateDirectory, identityFile } = environment
    return [storeDirectory, stateDirectory, dirname(identityFile)]
  } catch (error) {
    if (error instanceof StoreError) return []
    throw error
  }
}
