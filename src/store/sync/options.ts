// What whoever asks for a sync can decide, and which remote that means. Every start of the library
// loads this file.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import { unknownRemoteError } from '../../git/refs/remotes.ts'
import type { RemoteAccess, TransferProgress } from '../../transport/remote-access.ts'

export type RemoteOptions = Omit<RemoteAccess, 'url'>

export interface SyncOptions extends WorkOptions {
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  /** Only one half: `pull` sends nothing, `push` takes nothing over. */
  readonly only?: 'pull' | 'push' | undefined
  /**
   * Heals a remote with what is here: a head that was put back is merged and then replaced, one
   * that does not verify is replaced if the remote had shown ours before, and all objects are sent.
   */
  readonly repair?: boolean | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

export interface StoreSyncOptions extends SyncOptions {
  /** The name of a remote; may be left out if there is one. */
  readonly remote?: string | undefined
}

/** The remote of that name, or the only one. Throws `not_found`, or `invalid_input` for several. */
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
