// The port between the domain and the bytes: a git object database with one branch,
// refs/heads/main, and an atomic, durable commit. Knows nothing of encryption; that blobs hold
// sealed bytes is the business of the type `Sealed`. docs/FORMAT.md §2.

import type { ProcessOwner } from '../disk/process-owner.ts'
import { assert, StoreError } from '../errors.ts'
import type { PackExchange } from './exchange.ts'
import type { GitObject, NewObject, Oid, SizeLimit } from './objects/object.ts'
import type { Oids } from './objects/oid-list.ts'

/** One move of the branch and every object that the new commit needs and the store lacks. */
export interface Transition {
  readonly objects: readonly NewObject[]
  /** The commit before; undefined if the branch does not exist yet. */
  readonly expected: Oid | undefined
  readonly next: Oid
  /**
   * Objects that this move erases: after the next checkpoint nothing of the store holds them
   * (FORMAT §10), and no later transition brings one back. Empty if the move brings redactions of
   * objects that are not stored: packs that remotes have sent may hold them, and are removed first.
   * A transition that erases is committed alone.
   */
  readonly dead?: Oids
}

export interface PackStatus {
  readonly name: string
  readonly objects: number
  readonly bytes: number
}

/** A number of objects, and their size as stored, without their indexes. */
export interface ObjectAmount {
  readonly objects: number
  readonly bytes: number
}

export const noObjects: ObjectAmount = { objects: 0, bytes: 0 }

/** Stored objects that are not needed, as far as that shows without reading the history. */
export interface Reclaimable {
  /** Of redacted versions, all copies: the next checkpoint erases them. */
  readonly erased: ObjectAmount
  /** Further copies of other objects, in another pack or loose: a repack keeps one of each. */
  readonly repeated: ObjectAmount
}

export interface StorageStatus {
  /** Size of the transitions that only the journal holds. */
  readonly journalBytes: number
  readonly journalFrames: number
  readonly packs: readonly PackStatus[]
  /** Loose objects that another git program wrote. */
  readonly looseObjects: number
  /** The current holder of the writer lock. */
  readonly lockOwner: ProcessOwner | undefined
  /** Why the last checkpoint in the background failed. Nothing is lost by it. */
  readonly checkpointError: StoreError | undefined
  /** Dead objects of committed transitions that the next checkpoint has to erase. */
  readonly purgePending: number
  /**
   * Lists of objects to erase that this device has not written: another one's, or planted. They are
   * not obeyed; a repair replaces them by lists made from the history.
   */
  readonly foreignPurges: number
  /** Damaged files that repairs have moved aside: the next purge erases them. */
  readonly putAside: number
}

export interface CompactOptions {
  readonly signal?: AbortSignal | undefined
  /** In objects: of the new pack, or that were found. */
  readonly progress?: ((done: number, total: number) => void) | undefined
}

/** A ref that a served repository shows. */
export interface ServedRef {
  readonly name: string
  readonly oid: Oid
  /** Whether the object is a blob of the served repository, which the store does not have. */
  readonly isOwn: boolean
  /** That blob; it may be left out if it was given before. */
  readonly blob?: Uint8Array | undefined
}

export interface ObjectStore {
  /**
   * Verified against its oid (`object_corrupt`). Undefined if there is no such object. Throws the
   * refusal of `limit` if a pack has it larger.
   */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined
  /** Whether `read` would find it, without reading it. */
  has?(oid: Oid): boolean
  /** The commit of refs/heads/main as of the last refresh or commit, the journal included. */
  readonly head: Oid | undefined
  /** Where packs are, absolute, for threads that read them next to this one; else undefined. */
  readonly packDirectories?: readonly string[] | undefined
  /**
   * Grows with everything that may have erased dead objects, in this handle or another one: until
   * then, an unreachable object that was found still exists.
   */
  readonly erasures: number
  /** Notices what other processes did. Takes microseconds if that is nothing. */
  refresh(): void
  /**
   * Where several servers share the store: resolves once all is here that any of them had
   * acknowledged when it was called. Throws `not_found` if the store was deleted, and
   * `storage_failed` if the engine does not answer.
   */
  renew?(): Promise<void>
  /**
   * Runs `work` as the only writer of the store, among all processes, after a refresh. Throws
   * `locked` if another writer does not finish in time. Not re-entrant: a call from inside `work`
   * waits for itself until then. Where several servers share the store, another one may commit in
   * the meantime, unless the work `isLong`: then they wait.
   */
  exclusive<T>(work: () => Promise<T>, isLong?: boolean): Promise<T>
  /**
   * Only inside `exclusive`. All transitions are durable when it resolves; a crash in the meantime
   * may keep the first of them. Throws `ref_conflict`, with nothing written, unless each starts at
   * the head before it, and a `LostRace` if another server was faster.
   */
  commit(transitions: readonly Transition[]): Promise<void>
  /**
   * Only inside `exclusive`. Keeps objects for the transition that is committed next, on the disk
   * already, so that a long rewrite need not hold them in RAM. They are written while the caller
   * continues; a failure is thrown by the next call or by `commit`. Dropped if `exclusive` ends, or
   * the process dies, without that commit.
   */
  stage(objects: readonly NewObject[]): Promise<void>
  /**
   * Afterwards stock git sees all that was committed before the call, and erased objects no longer
   * exist. Throws the code of what stood in the way of either; if there is something to erase, it
   * waits minutes for another process that packs. Not inside `exclusive`.
   */
  checkpoint(): Promise<void>
  /**
   * Checkpoints, then makes one pack of all that is packed or loose, each object once. Drops
   * nothing; writers go on in the meantime. Throws `cancelled`, with all objects where they were,
   * if the signal is aborted or the store closed before the new pack is whole. Not inside
   * `exclusive`.
   */
  compact(options?: CompactOptions): Promise<void>
  /** Looks at indexes alone: milliseconds, unless several large packs hold the same objects. */
  reclaimable(): Reclaimable
  /**
   * Stored objects that no ref reaches; no command of this store removes them, `git gc` does.
   * Checkpoints first, and reads every commit and tree. Throws `cancelled`, `locked`, or the code
   * of the damage. Not inside `exclusive`.
   */
  findUnreachable(options?: CompactOptions): Promise<ObjectAmount>
  /**
   * Every object that is stored, of any kind and in any place, each once, also unreachable ones:
   * for proofs. Throws `pack_corrupt` if there is a pack that cannot be looked into.
   */
  objectIds(): Iterable<Oid>
  /** Packs and refs of other repositories. */
  readonly exchange: PackExchange
  /**
   * Has stock git find exactly these refs in a repository of its own, whose directory is returned,
   * until a purge removes it. The commits must be packed. Undefined if a blob must be given again.
   */
  serve?(refs: readonly ServedRef[]): string | undefined
  /** Whether no purge has removed such a directory. */
  serves?(directory: string): boolean
  status(): StorageStatus
  /** Checkpoints and leaves no lock, no journal and no descriptor. Idempotent. */
  close(): Promise<void>
}

/**
 * Another server has written to a shared store first: the commit was not made, and may be tried
 * again on the new state. A store in a directory never throws it.
 */
export class LostRace extends StoreError {
  constructor() {
    super('locked', 'Another server has written to the store first: try again')
  }
}

/**
 * What every implementation checks before it commits. Throws `ref_conflict` unless each transition
 * starts at the head before it.
 */
export function checkTransitions(head: Oid | undefined, transitions: readonly Transition[]): void {
  let at = head
  for (const { expected, next } of transitions) {
    if (expected !== at) {
      throw new StoreError('ref_conflict', 'The store has moved on: refresh and try again')
    }
    at = next
  }
  for (const { objects, expected, dead } of transitions) {
    if (dead === undefined) continue
    assert(transitions.length === 1, 'a transition that erases is committed alone')
    assert(expected !== undefined, 'the first transition has nothing to erase')
    assert(!objects.some(({ oid }) => dead.has(oid)), 'a transition erases what it brings')
  }
}
