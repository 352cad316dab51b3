// The part of the object store that deals with other repositories: packs that come in and go out,
// and the refs that record where a remote was. Knows nothing of networks. Incoming bytes are
// untrusted: they are bounded, parsed and hashed before they become visible.

import type { Oid } from './objects/object.ts'

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
  readonly signal?: AbortSignal | undefined
  /** In objects, while the pack is checked. */
  readonly progress?: ((done: number, total: number) => void) | undefined
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

export interface PackExchange {
  /**
   * Keeps the objects of a pack, durable when it resolves. Throws `pack_refused`, with nothing
   * kept, unless every byte of it is sound and every delta has its base in it; what `chunks`
   * throws, with nothing kept; `cancelled`. Not inside `exclusive`.
   */
  receive(chunks: AsyncIterable<Uint8Array>, options?: ReceiveOptions): Promise<ReceivedPack>
  /**
   * A pack of exactly these objects, which must be stored and may be named twice; given oldest
   * first, those of a commit before it, it is smallest. With `atReceiver`, a commit here that the
   * receiver has with all that it leads to, trees may be deltas of trees there. Throws
   * `object_missing`. Not inside `exclusive`.
   */
  pack(oids: Iterable<Oid>, atReceiver?: Oid): Promise<OutgoingPack>
  /** The commit of refs/remotes/<remote>/main. Throws `invalid_input` for a name git refuses. */
  tracked(remote: string): Oid | undefined
  /**
   * Moves that ref, durably; undefined removes it, and so does a commit that is not stored, which a
   * redaction may have erased a moment ago. Not inside `exclusive`.
   */
  track(remote: string, next: Oid | undefined): Promise<void>
  /** The remotes that the repository's config names, in its order. */
  remotes(): readonly Remote[]
  /** Throws `invalid_input` for a name that is taken or refused. Not inside `exclusive`. */
  addRemote(remote: Remote): Promise<void>
  /** With its tracking ref. Throws `not_found`. Not inside `exclusive`. */
  removeRemote(name: string): Promise<void>
}

export interface Remote {
  readonly name: string
  readonly url: string
}
