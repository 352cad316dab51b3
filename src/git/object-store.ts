// The port between the domain and the bytes: a git object database with one branch,
// refs/heads/main, and an atomic, durable commit. Knows nothing of encryption; that blobs hold
// sealed bytes is the business of the type `Sealed`. docs/FORMAT.md §2.

import type { StoreError } from '../errors.ts'
import type { GitObject, NewObject, Oid } from './object.ts'
import type { ProcessOwner } from './process-owner.ts'

/** One move of the branch and every object that the new commit needs and the store lacks. */
export interface Transition {
  readonly objects: readonly NewObject[]
  /** The commit before; undefined if the branch does not exist yet. */
  readonly expected: Oid | undefined
  readonly next: Oid
}

export interface PackStatus {
  readonly name: string
  readonly objects: number
  readonly bytes: number
}

export interface StorageStatus {
  /** What is in the journal only. */
  readonly journalBytes: number
  readonly journalFrames: number
  readonly packs: readonly PackStatus[]
  /** Loose objects that another git program wrote. */
  readonly looseObjects: number
  /** Who holds the writer lock at this moment. */
  readonly lockOwner: ProcessOwner | undefined
  /** Why the last checkpoint in the background failed. Nothing is lost by it. */
  readonly checkpointError: StoreError | undefined
}

export interface ObjectStore {
  /** Verified against its oid (`object_corrupt`). Undefined if there is no such object. */
  read(oid: Oid): GitObject | undefined
  /** The commit of refs/heads/main as of the last refresh or commit, the journal included. */
  readonly head: Oid | undefined
  /** Notices what other processes did. Takes microseconds if that is nothing. */
  refresh(): void
  /**
   * Runs `work` as the only writer of the store, among all processes, after a refresh. Throws
   * `locked` if another writer does not finish in time. Not re-entrant: a call from inside `work`
   * waits for itself until then.
   */
  exclusive<T>(work: () => Promise<T>): Promise<T>
  /**
   * Only inside `exclusive`. All transitions are durable when it resolves; a crash meanwhile may
   * keep the first of them. Throws `ref_conflict`, with nothing written, unless each starts at the
   * head before it.
   */
  commit(transitions: readonly Transition[]): Promise<void>
  /** Afterwards stock git sees all that was committed before the call. Not inside `exclusive`. */
  checkpoint(): Promise<void>
  status(): StorageStatus
  /** Checkpoints and leaves no lock, no journal and no descriptor. Idempotent. */
  close(): Promise<void>
}
