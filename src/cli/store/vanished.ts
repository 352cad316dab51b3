// Which store this machine has had at which directory, kept outside of it, so that one that has
// vanished can be named, and the way to get it back shown. No more than a hint: a lost or wrong
// entry changes no command.

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { toHex, utf8 } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { StoreError, hasCode } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import { attempt, errnoOf, findTextFile, writeSecretFile } from '../../home/files.ts'
import { findIdentity } from '../../home/identity-file.ts'
import { listSeenRemotes } from '../../store/clone-remotes.ts'
import { CommandError } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'

/** What to do where no store ever was. */
export const firstStore =
  '`gitlocket init` creates a store; `gitlocket join <url>` gets one from a remote'

export interface Vanished {
  readonly storeId: string
  /** What this machine last synced it with. */
  readonly remotes: readonly Remote[]
}

/** The id of the store that was last opened here. libsodium must be loaded. */
function findKnownStore(environment: Environment): string | undefined {
  try {
    // A pipe in its place is refused without waiting.
    const text = findTextFile('the note of a store', noteOf(environment), false) ?? ''
    return /^(memstore_[0-7][0-9a-hjkmnp-tv-z]{25})\n$/.exec(text)?.[1]
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Remembers which store is here. */
export function noteStoreHere(environment: Environment, storeId: string): void {
  if (findKnownStore(environment) === storeId) return
  const file = noteOf(environment)
  try {
    rmSync(file, { force: true })
    writeSecretFile('the note of a store', file, `${storeId}\n`)
  } catch (error) {
    // A state directory that is full or read-only, or another process that was first.
    if (!(error instanceof StoreError) && errnoOf(error) === undefined) throw error
  }
}

/** Named by a hash, since a path may be longer than a name can be. */
function noteOf({ storeDirectory, stateDirectory }: Environment): string {
  return join(stateDirectory, 'places', toHex(hash256(utf8(storeDirectory))))
}

/** Whether the directory of the store is absent or empty. Throws `store_exists` for a file. */
export function isNothingHere({ storeDirectory }: Environment): boolean {
  return attempt('look for a store', storeDirectory, () => {
    try {
      return readdirSync(storeDirectory).length === 0
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return true
      if (errnoOf(error) !== 'ENOTDIR') throw error
      throw new StoreError('store_exists', `There is a file at ${storeDirectory}, not a directory`)
    }
  })
}

/**
 * Whether a store is here, or is being made. Another process may have given it the identity that
 * this one has just made.
 */
export function hasStoreBegun({ storeDirectory }: Environment): boolean {
  return existsSync(join(storeDirectory, 'gitlocket'))
}

/** The store that was here; undefined if one may be here, or none is known. */
export async function findVanished(environment: Environment): Promise<Vanished | undefined> {
  const storeId = findKnownStore(environment)
  if (storeId === undefined || !isNothingHere(environment)) return undefined
  return { storeId, remotes: await remotesOf(environment, storeId) }
}

/** The error for a command that looks for the store. */
export function vanishedError(
  { storeDirectory }: Environment,
  { storeId, remotes }: Vanished,
  alternative = '',
): CommandError {
  const message = `The store ${storeId} was at ${storeDirectory}, and no longer exists`
  const facts = { memory_store_id: storeId, remotes: remotes.map(({ url }) => url) }
  const hint = joinAgain({ storeId, remotes }) + alternative
  return new CommandError('not_a_store', message, hint, { place: '', facts })
}

/** How to get it back. */
function joinAgain({ storeId, remotes }: Vanished): string {
  const [first, ...others] = remotes
  const command = `\`gitlocket join '${first?.url ?? '<url>'}#${storeId}'\``
  if (first === undefined) return `${command} gets it from a remote, or restore a backup`
  const more = others.length === 0 ? '' : ', or another of its remotes'
  return `${command} gets back everything that was synced there${more}; a backup has the rest`
}

/** None without the identity, which they are sealed for. */
async function remotesOf(environment: Environment, storeId: string): Promise<readonly Remote[]> {
  const { storeDirectory: directory, stateDirectory } = environment
  try {
    const identity = findIdentity(environment)
    if (identity === undefined) return []
    return await listSeenRemotes({ directory, stateDirectory, identity }, storeId)
  } catch (error) {
    if (hasCode(error, 'invalid_identity', 'upgrade_required')) return []
    throw error
  }
}
