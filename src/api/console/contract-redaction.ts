// Questions about erasing. Types alone.

import type { RedactReason } from '../../format/change-record.ts'
import type { Version } from '../../store/history/versions.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import type { Question } from './question.ts'

/** All that are given must hold; at least one is. */
export interface Selection {
  readonly versionIds?: readonly string[] | undefined
  readonly memoryId?: string | undefined
  readonly path?: string | undefined
  readonly session?: string | undefined
  readonly actorId?: string | undefined
  /** Occurs in the content, the path or the reason; with `regex` a regular expression. */
  readonly text?: string | undefined
  readonly regex?: boolean | undefined
  /** Copies of what the rest selects, too. */
  readonly withCopies?: boolean | undefined
}

export interface ErasePlan {
  /** Newest first. Texts are asked for one by one, with `version.show`. */
  readonly versions: readonly Version[]
  /** Those that are current in live memories. */
  readonly current: readonly Version[]
  readonly already: number
  readonly sameText: readonly Version[]
  readonly builtOn: readonly Version[]
  /** Commits that would be made again, of how many. */
  readonly rewritten: number
  readonly commits: number
  /** Other devices, whose copies hold the texts until they sync. */
  readonly pendingDevices: readonly PendingDevice[]
  readonly remotes: readonly string[]
}

/** What becomes of selected versions that are current in live memories. */
export type WayOut = 'delete' | 'overwrite' | 'keep'

export interface EraseInput {
  readonly select: Selection
  readonly why: RedactReason
  readonly current?: WayOut | undefined
  /** The versions that were shown: if more are selected by now, nothing is erased. */
  readonly confirmed: readonly string[]
}

export interface Erased {
  readonly versions: readonly string[]
  /** The text of the certificate, to be downloaded; undefined if there was nothing to erase. */
  readonly certificate?: string | undefined
  readonly newHead?: string | undefined
  /** False if the versions are redacted, and what held them is not erased from the disk yet. */
  readonly isErased: boolean
}

/** Whether erased texts are found in any place, and who has not shown yet that they erased. */
export interface ErasureProof {
  readonly versions: number
  readonly objects: number
  readonly journalBytes: number
  readonly cached: number
  readonly pending: number
  readonly putAside: number
  readonly found: readonly { readonly place: 'object' | 'evidence' | 'cache' }[]
  readonly builtOnRedacted: readonly BuiltOnRedacted[]
  /** Directories here with a text that an editor has open, or that was left when it was killed. */
  readonly textsOutside: readonly string[]
  readonly pendingDevices: readonly PendingDevice[]
  /** Remotes that lack commits of this store. */
  readonly behindRemotes: readonly string[]
}

export interface RedactionApi {
  'redaction.plan': Question<{ readonly select: Selection }, ErasePlan>
  'redaction.run': Question<EraseInput, Erased>
  /** Of all redactions of the store, or of what a certificate names. */
  'redaction.proof': Question<{ readonly certificate?: string | undefined }, ErasureProof>
}
