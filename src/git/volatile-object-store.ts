// The object store in memory: for tests, and for whoever embeds a store that need not outlive the
// process. The same contract as on a disk, but for durability.

import { assert, StoreError } from '../errors.ts'
import type { GitObject, Oid } from './object.ts'
import type { ObjectStore, StorageStatus, Transition } from './object-store.ts'

/** An empty store. */
export function createVolatileObjectStore(): ObjectStore {
  return new VolatileObjectStore()
}

class VolatileObjectStore implements ObjectStore {
  readonly #objects: Map<Oid, GitObject> = new Map()
  #head: Oid | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #writing = false
  #closed = false

  get head(): Oid | undefined {
    return this.#head
  }

  read(oid: Oid): GitObject | undefined {
    this.#assertOpen()
    return this.#objects.get(oid)
  }

  refresh(): void {
    this.#assertOpen()
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#assertOpen()
    const result = this.#turn.then(async () => {
      this.#writing = true
      try {
        return await work()
      } finally {
        this.#writing = false
      }
    })
    this.#turn = result.catch(() => undefined)
    return result
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    assert(this.#writing, 'commit was called outside of exclusive')
    let head = this.#head
    for (const { expected, next } of transitions) {
      if (expected !== head) {
        throw new StoreError('ref_conflict', 'The store has moved on: refresh and try again')
      }
      head = next
    }
    for (const { objects } of transitions) {
      for (const { oid, type, body } of objects) this.#objects.set(oid, { type, body })
    }
    this.#head = head
  }

  async checkpoint(): Promise<void> {
    this.#assertOpen()
  }

  status(): StorageStatus {
    this.#assertOpen()
    return {
      journalBytes: 0,
      journalFrames: 0,
      packs: [],
      looseObjects: 0,
      lockOwner: undefined,
      checkpointError: undefined,
    }
  }

  async close(): Promise<void> {
    await this.#turn
    this.#closed = true
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('store_closed', 'The store is closed')
  }
}
