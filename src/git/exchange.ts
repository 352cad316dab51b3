// The part of the object store that deals with other repositories: packs that come in and go out,
// and the refs that record where a remote was. Knows nothing of networks. Incoming bytes are
// untrusted: they are bounded, parsed and hashed before they are readable, and apart from the store
// until its caller accepts them (decision 0035).

import type { GitObject, Oid, SizeLimit } from './objects/object.ts'
import type { OidColumns } from './objects/oid-table.ts'

/** The limits of a received pack. */
export interface ReceiveLimits {
  /** Size of the pack. */
  readonly bytes: number
  readonly objects: number
}

export interface ReceiveOptions {
  readonly limits?: Partial<ReceiveLimits> | undefined
  /** The commit that the pack was asked for: refused if neither the pack nor the store has it. */
  readonly tip?: Oid | undefined
  /** Other objects that it was asked for: refused in the same way. */
  readonly also?: readonly Oid[] | undefined
  /**
   * For a pack without all of the history: refused unless every line of it, from the tip on, ends
   * where this allows.
   */
  readonly boundary?: ReceivedBoundary | undefined
  readonly signal?: AbortSignal | undefined
  /** In objects, while the pack is checked. */
  readonly progress?: ((done: number, total: number) => void) | undefined
}

/** How a fetch moves the boundary, the commits that are stored without their parents. */
export interface BoundaryChange {
  /** Commits that have joined it. */
  readonly shallow: readonly Oid[]
  /** Commits that have left it: their parents have been sent. */
  readonly unshallow: readonly Oid[]
}

/** Where the history behind a pack may end. */
export interface ReceivedBoundary extends BoundaryChange {
  /** The boundary until then. */
  readonly before: readonly Oid[]
  /** Commits of the store that have all of their history up to that boundary. */
  readonly haves: readonly Oid[]
}

export interface ReceivedPack {
  readonly objects: number
  readonly bytes: number
}

/** A pack to send, generated while it is read. */
export interface OutgoingPack {
  readonly objects: number
  /** Size of the pack, including header and trailer. */
  readonly bytes: number
  /** The pack, from its start each time. */
  chunks(): AsyncIterable<Uint8Array>
  /** Closes its files. */
  close(): void
}

/**
 * Objects of a received pack in RAM (decision 0064). Can be posted to a thread, which then reads
 * the same memory.
 */
export interface HashedColumns {
  readonly oids: OidColumns
  /** By row: 0 for an object that is not kept. */
  readonly types: Uint8Array
  /** Where its bytes begin, counted over all chunks, and how many there are. */
  readonly starts: Uint32Array
  readonly lengths: Uint16Array
  /** The row of the tree that the bytes are a delta of; -1 if they are the object. */
  readonly bases: Int32Array
  readonly chunks: readonly Uint8Array[]
}

/**
 * The objects that a remote has sent and no one has accepted yet. Only the holder of this value
 * reads them, together with those of the store. Once it is accepted or dropped, it reads the store
 * alone.
 */
export interface Incoming {
  /**
   * Adds the objects of a pack, durable when it resolves. Throws `pack_refused`, with nothing
   * added, unless every byte of it is sound and every delta has its base in it; what `chunks`
   * throws, with nothing added; `cancelled`. Not inside `exclusive`.
   */
  receive(chunks: AsyncIterable<Uint8Array>, options?: ReceiveOptions): Promise<ReceivedPack>
  /** Whether nothing waits here: none has come, or it was accepted or dropped. */
  readonly isEmpty: boolean
  /** Size of the packs that wait. */
  readonly bytes: number
  /** The objects that wait, each once. */
  ids(): Iterable<Oid>
  /** An object that waits, or else one of the store. Throws as `ObjectStore.read`. */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined
  has(oid: Oid): boolean
  /** Where threads read the packs of both; see `ObjectStore`. */
  readonly packDirectories?: readonly string[] | undefined
  /** The commits and trees of the pack that came last, for a verification right after. */
  readonly hashed?: HashedColumns | undefined
  /**
   * Makes all of it part of the store, durable when it resolves. Throws `ref_conflict` if a
   * redaction has removed it in the meantime: fetch again. Not inside `exclusive`. Moves the
   * boundary as the packs have: a crash leaves commits on it that have their parents, never one
   * that lacks them and is not on it.
   */
  accept(): Promise<void>
  /**
   * Moves it out of reach of the store, into the one repository that keeps a refused head of this
   * remote. Nothing is kept if a redaction has removed it in the meantime. Only inside `exclusive`.
   */
  keep(remote: string, head: Oid): Promise<void>
  /** Removes what waits; what the disk does not let go, a checkpoint removes later. */
  drop(): void
}

/** Objects of refused heads. */
export interface Evidence {
  /** Throws `pack_corrupt` if there is a pack that cannot be looked into. */
  ids(): Iterable<Oid>
  read(oid: Oid): GitObject | undefined
  close(): void
}

export interface PackExchange {
  /** A place for packs of a remote, until the head is verified that they were sent for. */
  incoming(): Incoming
  /**
   * The repository that keeps the refused head of a remote, as a path from the store's directory;
   * undefined without one. Throws `invalid_input` for a name git refuses.
   */
  refused(remote: string): string | undefined
  /** Removes that repository, or its remains. Not inside `exclusive`. */
  forgetRefused(remote: string): Promise<void>
  /** The kept objects of the refused head of a remote, or of all, without those of the store. */
  evidence(remote?: string): Evidence
  /**
   * A pack of exactly these objects, which must be stored and may be named twice; given oldest
   * first, those of a commit before it, it is smallest. Where one is undefined, other work may
   * run. With `atReceiver`, a commit here that the receiver has with all that it reaches, trees
   * may be deltas of trees there. Throws `object_missing`. Not inside `exclusive`.
   */
  pack(oids: Iterable<Oid | undefined>, atReceiver?: Oid): Promise<OutgoingPack>
  /**
   * The commit of refs/remotes/<remote>/main, or of evidence (`leftOutName`). Throws
   * `invalid_input` for a name git refuses.
   */
  tracked(remote: string): Oid | undefined
  /**
   * Moves that ref, durably; undefined removes it, and so does a commit that is not stored, which a
   * redaction may have erased a moment ago. Not inside `exclusive`.
   */
  track(remote: string, next: Oid | undefined): Promise<void>
  /**
   * The boundary: commits that are stored without their parents; empty for a complete store. Throws
   * `ref_corrupt` if the file is damaged.
   */
  shallow(): readonly Oid[]
  /**
   * Replaces the boundary, durably; `accept` moves it by itself. Throws `incomplete_clone` where
   * several servers share the store. Not inside `exclusive`.
   */
  setShallow(commits: readonly Oid[]): Promise<void>
  /** The remotes that the repository's config names, in its order. */
  remotes(): readonly Remote[]
  /** Throws `invalid_input` for a name that is taken or refused. Not inside `exclusive`. */
  addRemote(remote: Remote): Promise<void>
  /** With its tracking ref and refused head. Throws `not_found`. Not inside `exclusive`. */
  removeRemote(name: string): Promise<void>
}

export interface Remote {
  readonly name: string
  readonly url: string
}
