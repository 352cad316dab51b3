// What a new commit is made from, beside what it changes: who asks for it, who signs it, what it
// joins.

import type { Random } from '../../crypto/random.ts'
import type { SigningKeyPair } from '../../crypto/signature.ts'
import type { Actor } from '../../format/change-record.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type { DeviceState, Head, KeyringState, SettingsState } from '../snapshot/snapshot.ts'

/** Who asked for a change, and why. */
export interface Author {
  readonly actor: Actor
  readonly session?: string | undefined
  /** Free text of at most 4,096 bytes, stored encrypted and removed with a redaction. */
  readonly reason?: string | undefined
}

/** The device that signs. `sequence` is the number of the record to be made. */
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

/** The other parent of a merge: what differs there from the snapshot that the merge is made on. */
export interface OtherParent {
  readonly head: Head
  /** Memories whose settled version (FORMAT §6.4) is the other side's, as they are there. */
  readonly memories: ReadonlyMap<string, CurrentVersion>
  /** Of devices whose newest record is the other side's, and of those that are forked. */
  readonly devices: ReadonlyMap<string, DeviceState>
  /** If the other side's is the later one. */
  readonly keyring: KeyringState | undefined
  /** The other side's, if neither is the later one: the merge has to join them (FORMAT §7.2). */
  readonly concurrent: KeyringState | undefined
  readonly settings: SettingsState | undefined
  /** What redact records name there and not here. */
  readonly redacted: ReadonlySet<string>
}
