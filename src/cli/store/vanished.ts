// A store that vanished from a directory of this machine: its id, and the way to get it back.

import { readdirSync } from 'node:fs'
import { hasCode, StoreError } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import { attempt, errnoOf } from '../../home/files.ts'
import { findIdentity } from '../../home/identity-file.ts'
import { findKnownStore, noteKnownStore } from '../../home/known-stores.ts'
import { listSeenRemotes } from '../../store/clone-remotes.ts'
import { CommandError } from '../call/command-error.ts'
import type { Environment } from '../call/environment.ts'

/** What to do where no store ever was. */
export const firstStore =
  '`gitlocket init` creates a store; `gitlocket join <url>` gets one from a remote'

export interface Vanished {
  readonly storeId: string
  /** What this machine last synced it with. */
  readonly remotes: readonly Remote[]
}

/** Remembers which store is here. */
export function noteStoreHere(environment: Environment, storeId: string): void {
  noteKnownStore(placesOf(environment), storeId)
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

/** The store that was here; undefined if one may be here, or none is known. */
export function findVanished(environment: Environment): Vanished | undefined {
  const storeId = findKnownStore(placesOf(environment))
  if (storeId === undefined || !isNothingHere(environment)) return undefined
  return { storeId, remotes: remotesOf(environment, storeId) }
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
function remotesOf(environment: Environment, storeId: string): readonly Remote[] {
  const { storeDirectory: directory, stateDirectory } = environment
  try {
    const identity = findIdentity(environment)
    if (identity === undefined) return []
    return listSeenRemotes({ directory, stateDirectory, identity }, storeId)
  } catch (error) {
    if (hasCode(error, 'invalid_identity', 'upgrade_required')) return []
    throw error
  }
}

function placesOf({ storeDirectory, stateDirectory }: Environment): {
  readonly directory: string
  readonly stateDirectory: string
} {
  return { directory: storeDirectory, stateDirectory }
}
