// The inputs of a new commit other than its changes: author, signing device, and the other parent
// of a merge.

import type { Random } from '../../crypto/random.ts'
import type { SigningKeyPair } from '../../crypto/signature.ts'
import type { Actor } from '../../format/change-record.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type {
  DeviceState,
  GrantState,
  Head,
  KeyringState,
  SettingsState,
} from '../snapshot/snapshot.ts'
import type { ContentGuard } from './content-guard.ts'

/** The author of a change, and the reason. */
export interface Author {
  readonly actor: Actor
  readonly session?: string | undefined
  /** Free text of at most 4,096 bytes, stored encrypted and removed with a redaction. */
  readonly reason?: string | undefined
  /** Asked about each text of this author, in addition to the guard of the store. */
  readonly guard?: ContentGuard | undefined
}

/** The device that signs. `sequence` is the number of the new record. */
export interface Signer {
  readonly deviceId: string
  readonly pair: SigningKeyPair
  readonly sequence: number
  readonly previous: Uint8Array
}

export interface CommitContext {
  readonly storeId: string
  readonly epoch: EpochKeys
  readonly signer: Signer
  readonly time: number
  readonly random: Random
}

/** The other parent of a merge, as its differences from the merging side's snapshot. */
export interface OtherParent {
  readonly head: Head
  /** Memories whose settled version (FORMAT §6.4) is the other side's. */
  readonly memories: ReadonlyMap<string, CurrentVersion>
  /** Devices whose newest record is the other side's, and forked ones. */
  readonly devices: ReadonlyMap<string, DeviceState>
  /** Grants that the other side has begun or ended. */
  readonly grants: ReadonlyMap<string, GrantState | undefined>
  /** The other side's keyring, if it is the later one. */
  readonly keyring: KeyringState | undefined
  /** Whether both sides have changed the keyring, which nothing merges (FORMAT §7.2). */
  readonly areKeyringsApart: boolean
  readonly settings: SettingsState | undefined
  /** The versions that redact records name only on the other side. */
  readonly redacted: ReadonlySet<string>
}
