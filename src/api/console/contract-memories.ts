// Questions about memories: now, and as they were. Types alone.

import type { Page } from '../../page.ts'
import type { Version, VersionWithInputs } from '../../store/history/versions.ts'
import type { SearchHit } from '../../store/search/search-query.ts'
import type { MergePart } from '../../text/text-merge.ts'
import type { Access } from '../actions.ts'
import type { AtMoment, Changed, PageInput, Question, WithReason } from './question.ts'

/** Times are ms since 1970, here and everywhere in the contract. */
export interface Overview {
  readonly storeId: string
  readonly name: string
  readonly description: string
  /** Of an auditor the name is empty, and so is what cannot be seen. */
  readonly audience: 'member' | 'auditor'
  readonly access: Access
  readonly archivedAt?: number | undefined
  readonly deviceId: string
  readonly deviceName: string
  /** Undefined for a device that was removed. */
  readonly role?: 'owner' | 'writer' | 'reader' | 'auditor' | undefined
  /** The newest commit, 40 hex digits, and its twelve words. All up to it is verified. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /** Undefined as long as the history has not been asked for. */
  readonly commits?: number | undefined
  readonly memories: number
  readonly contentBytes: number
  readonly remotes: readonly {
    readonly name: string
    readonly url: string
    /** Commits that it lacked when it was last seen; undefined if it was never seen. */
    readonly unsent?: number | undefined
  }[]
  /** Whether texts with what seems to be a secret are refused. */
  readonly guard: boolean
}

/** A row of the tree. */
export interface TreeRow {
  readonly memoryId: string
  readonly path: string
  readonly sizeBytes: number
  readonly updatedAt: number
}

/** A memory that is deleted at that moment, with the path that it had last. */
export interface DeletedRow {
  readonly memoryId: string
  readonly path: string
  readonly deletedAt: number
}

export interface Tree {
  /** In no order. */
  readonly memories: readonly TreeRow[]
  /** Only if they were asked for. Those whose path is redacted are not in it. */
  readonly deleted: readonly DeletedRow[]
  /** Live memories that are not listed: their version is redacted, or see `PastView`. */
  readonly redacted: number
  readonly displaced: number
}

/** A memory at a moment. */
export type MemoryView =
  | {
      readonly state: 'live'
      readonly memoryId: string
      readonly path: string
      readonly content: string
      readonly sha256: string
      readonly version: Version
      /** How many versions it has had up to that moment. */
      readonly number: number
      readonly createdAt: number
    }
  | {
      /** `redacted`: its version at that moment is erased. `absent`: it did not exist yet. */
      readonly state: 'deleted' | 'redacted' | 'absent' | 'displaced'
      readonly memoryId: string
      /** The path that it had last, if that is known. */
      readonly path?: string | undefined
      /** The version of that moment: a deletion, or one that is redacted. */
      readonly version?: Version | undefined
      readonly number: number
    }

export interface VersionRow extends Version {
  /** Counted from the memory's first version, 1. */
  readonly number: number
  /** Lines, against the version that it replaced; undefined where one of both is redacted. */
  readonly added?: number | undefined
  readonly removed?: number | undefined
  /** For people; may be empty. */
  readonly deviceName: string
}

export interface Blame {
  readonly lines: readonly {
    readonly line: string
    /** Index in `versions`. */
    readonly version: number
    /** A redacted version is between: the line may be older. */
    readonly uncertain: boolean
  }[]
  readonly versions: readonly Version[]
}

export interface SearchInput extends AtMoment, PageInput {
  readonly query: string
  readonly regex?: boolean | undefined
  readonly fuzzy?: boolean | undefined
  readonly path?: string | undefined
  /** Not with `at`. */
  readonly allVersions?: boolean | undefined
}

export interface UpdateInput extends WithReason {
  readonly memoryId: string
  readonly content?: string | undefined
  readonly path?: string | undefined
  /** Of the content that the edit began from: if another is there, nothing is written. */
  readonly expectedSha256: string
}

/** A text of an editor, merged into what was written since it was opened. Nothing is saved. */
export interface MergedEdit {
  /** What is there: a save of the merged text expects its hash. */
  readonly theirs: Extract<MemoryView, { readonly state: 'live' }>
  /** In order; `ours` is the editor's. */
  readonly parts: readonly MergePart[]
}

/** What a change of one memory left. */
export interface Written extends Changed {
  readonly memoryId: string
  readonly versionId: string
  readonly sha256: string
}

export interface MemoriesApi {
  'store.overview': Question<object, Overview>
  'memories.tree': Question<AtMoment & { readonly deleted?: boolean | undefined }, Tree>
  'memories.search': Question<SearchInput, Page<SearchHit>>
  'memory.show': Question<AtMoment & { readonly memoryId: string }, MemoryView>
  /** Newest first; up to the moment, if one is given. */
  'memory.versions': Question<
    AtMoment & PageInput & { readonly memoryId: string },
    Page<VersionRow> & { readonly total: number }
  >
  'memory.blame': Question<AtMoment & { readonly memoryId: string }, Blame>
  /** With its text, and those that a merge made it of. */
  'version.show': Question<{ readonly versionId: string }, VersionWithInputs>
  'memory.create': Question<
    WithReason & { readonly path: string; readonly content: string },
    Written
  >
  /** Content, path, or both. */
  'memory.update': Question<UpdateInput, Written>
  /** Refused with `not_found` for a memory that is deleted. */
  'memory.merge': Question<
    { readonly memoryId: string; readonly base: string; readonly content: string },
    MergedEdit
  >
  'memory.delete': Question<
    WithReason & { readonly memoryId: string; readonly expectedSha256: string },
    Changed
  >
}
