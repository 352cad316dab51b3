// The fields of a record (FORMAT §6) as TypeScript types.

export type RecordKind = 'genesis' | 'change' | 'redact' | 'keyring' | 'settings' | 'grants'

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

/** A row as it is signed, without what follows from the record's hash (FORMAT §6.1). */
export interface SignedRow {
  /** `zeroId` for a memory that the row creates. */
  readonly memoryId: string
  /** The previous version, `zeroId` for the first; in redactions the version to redact. */
  readonly base: string
  readonly secondBase: string
  /** Undefined in redactions. */
  readonly operation: Operation | undefined
  /** The hiding commitment to the row's detail (FORMAT §6.2). */
  readonly commitment: Uint8Array
  /** So that no row with its ids is taken for one without. */
  readonly versionId?: never
}

/** A row with its ids: one version of one memory; in a redaction, the version to redact. */
export interface RecordRow extends Omit<SignedRow, 'versionId'> {
  readonly versionId: string
}

/** One row of a record of kind 6: a grant that begins or ends (FORMAT §12). */
export type GrantRow =
  | {
      /** The grant's Ed25519 public key. */
      readonly key: Uint8Array
      readonly begins: GrantTerms
    }
  | {
      /** The grant that ends, 32 hex digits. */
      readonly grantId: string
      readonly begins: undefined
    }

/** What a grant lets its holder do, and until when, ms since 1970. */
export interface GrantTerms {
  readonly role: GrantRole
  readonly notAfter: number
}

/** A proposer reads, and no record of it is valid: its changes wait outside of the history. */
export type GrantRole = 'writer' | 'reader' | 'proposer'

/** A record whose hash is known, and by it the ids of its rows (`nameRows`). */
export interface ChangeRecord extends Omit<RecordBody, 'rows'> {
  readonly rows: readonly RecordRow[]
}

/** What a device signs. Ids in hex, hashes of 32 bytes, times in milliseconds since 1970. */
export interface RecordBody {
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
  readonly rows: readonly SignedRow[]
  /** Of kind 6, which has no other rows. */
  readonly grants: readonly GrantRow[]
}
