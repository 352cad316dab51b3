// What whoever asks for a sync can decide. Plain values.

import type { RemoteAccess, TransferProgress } from '../../transport/remote-access.ts'
import type { VerifyOptions } from '../verify.ts'

export type RemoteOptions = Omit<RemoteAccess, 'url'>

export interface SyncOptions extends VerifyOptions {
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
