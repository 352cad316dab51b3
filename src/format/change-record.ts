// The fields of a record (FORMAT §6) as TypeScript types.

export type RecordKind = 'genesis' | 'change' | 'redact' | 'keyring' | 'settings'

export type Operation = 'created' | 'modified' | 'deleted'

export type ActorType = 'api' | 'user' | 'service_account' | 'session'

/** The actor that requested a change, as claimed by the signing device. */
export interface Actor {
  readonly type: ActorType
  readonly id: string
}

export type RedactReason =
  | 'unspecified'
  | 'leaked_secret'
  | 'personal_data'
  | 'legal'
  | 'poisoned'
  | 'retention'

/** One version of one memory; in a redaction, the version to redact and zeros. */
export interface RecordRow {
  readonly memoryId: string
  readonly versionId: string
  /** The previous version; `zeroId` if there is none. */
  readonly base: string
  readonly secondBase: string
  /** Undefined in redactions. */
  readonly operation: Operation | undefined
  /** The hiding commitment to the row's detail (FORMAT §6.2). */
  readonly commitment: Uint8Array
}

/** Ids in hex, hashes of 32 bytes, times in milliseconds since 1970. */
export interface ChangeRecord {
  readonly kind: RecordKind
  readonly height: number
  readonly deviceId: string
  readonly sequence: number
  /** Hash of the device's previous record, or `zeroHash`. */
  readonly previous: Uint8Array
  /** Hash of the newest keyring record in the causal past, or `zeroHash` in genesis. */
  readonly keyring: Uint8Array
  /** Record hashes, ascending. */
  readonly parents: readonly Uint8Array[]
  readonly time: number
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  readonly directoryNumber: number
  /** H of the keyring blob, or `zeroHash`. */
  readonly keyringHash: Uint8Array
  /** H of the settings blob, or `zeroHash`. */
  readonly settingsHash: Uint8Array
  readonly rows: readonly RecordRow[]
}
