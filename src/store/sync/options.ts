// The options of a sync, and the choice of its remote. Every start of the library loads this file,
// so it must not import modules that only a sync needs.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import { unknownRemoteError } from '../../git/refs/remotes.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'

/** What an owner can repeat of the line of keyrings that a repair drops. */
export type Redo = 'redactions' | 'members'

export interface SyncOptions extends WorkOptions {
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  /** Runs one half only: `pull` sends nothing, `push` adopts no other head. */
  readonly only?: 'pull' | 'push' | undefined
  /**
   * Repairs the remote from this store: a head that was rolled back is merged and then replaced, a
   * head that does not verify is replaced if the remote had shown ours before, and all objects are
   * sent.
   */
  readonly repair?: boolean | undefined
  /** With `repair`, by an owner: what to repeat of the line that is dropped. */
  readonly redo?: readonly Redo[] | undefined
  /**
   * Follows the remote where this device and others have changed the keyring without knowing of
   * each other, or where a merge is held: what this device wrote since is written again on top.
   */
  readonly takeTheirs?: boolean | undefined
  /**
   * The commit, 40 hex digits, that an error `merge_held` has named: as an owner, this device
   * merges what a former owner has redacted or set there.
   */
  readonly mergeHeld?: string | undefined
  /** @internal Called before the first byte of a pack is sent. */
  readonly willSend?: (() => void) | undefined
  /** @internal The most rows of a merge; tests lower it. */
  readonly rowsMax?: number | undefined
  /** @internal A larger push, in bytes, is sent in steps; tests lower it. */
  readonly stepBytes?: number | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

export interface StoreSyncOptions extends SyncOptions {
  /** The name of a remote; optional if there is only one. */
  readonly remote?: string | undefined
}

/** This machine's own choice: others may have chosen another one. */
export interface MembershipRemote {
  readonly remotes: readonly Remote[]
  /** The name that a user has chosen. */
  readonly chosen: string | undefined
}

/**
 * The remote that changes of the keyring are pushed to: the chosen one, else `origin`, else the
 * only one. Undefined without remotes. Throws `invalid_input` if a user has to choose.
 */
export function membershipRemote({ remotes, chosen }: MembershipRemote): Remote | undefined {
  const named = (name: string | undefined): Remote | undefined =>
    remotes.find((remote) => remote.name === name)
  const found = named(chosen) ?? named('origin') ?? (remotes.length === 1 ? remotes[0] : undefined)
  if (found !== undefined || remotes.length === 0) return found
  throw new StoreError(
    'invalid_input',
    'The store has several remotes: choose the one that changes of its members go to first, with ' +
      '`gitlocket remote set-membership`',
  )
}

/** The named remote, or the only one. Throws `not_found`, or `invalid_input` for several. */
export function chooseRemote(remotes: readonly Remote[], name: string | undefined): Remote {
  const found = name === undefined ? remotes : remotes.filter((remote) => remote.name === name)
  if (found.length > 1) {
    throw new StoreError(
      'invalid_input',
      'The store has several remotes: name the one to sync with',
    )
  }
  if (found[0] !== undefined) return found[0]
  if (name !== undefined) throw unknownRemoteError(name)
  throw new StoreError('not_found', 'The store has no remote')
}
