// The object store in RAM: for runtimes without a disk, whose store is durable at its remote, and
// for tests. Its contract is that of the store on a disk, without durability.

import { toHex } from '../../bytes.ts'
import { assert, StoreError } from '../../errors.ts'
import type { PackExchange } from '../exchange.ts'
import { measureUnreachable, type ReachableSource } from '../maintenance/unreachable.ts'
import {
  checkTransitions,
  type CompactOptions,
  noObjects,
  type ObjectAmount,
  type ObjectStore,
  type Reclaimable,
  type StorageStatus,
  type Transition,
} from '../object-store.ts'
import type { GitObject, NewObject, Oid } from '../objects/object.ts'
import { MemoryExchange } from './memory-exchange.ts'

export interface MemoryStorageOptions {
  /** The most bytes that objects of others may have, inflated. */
  readonly bytesMax?: number | undefined
  /** Called after erased objects were dropped: caches made from them must be erased too. */
  readonly onErased?: (() => void) | undefined
}

/** An empty store. */
export function createMemoryObjectStore(options: MemoryStorageOptions = {}): ObjectStore {
  return new MemoryObjectStore(options)
}

class MemoryObjectStore implements ObjectStore {
  readonly #objects: Map<Oid, GitObject> = new Map()
  readonly #dead: Set<Oid> = new Set()
  #staged: NewObject[] = []
  readonly #exchange: MemoryExchange
  #head: Oid | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #writing = false
  erasures = 0
  #closed = false
  readonly #onErased: () => void

  constructor({ onErased = () => undefined, bytesMax = Infinity }: MemoryStorageOptions) {
    this.#exchange = new MemoryExchange(this.#objects, bytesMax, () => this.#assertOpen())
    this.#onErased = onErased
  }

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
        this.#staged = []
      }
    })
    this.#turn = result.catch(() => undefined)
    return result
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    assert(this.#writing, 'commit was called outside of exclusive')
    checkTransitions(this.#head, transitions)
    for (const { oid, type, body } of this.#staged) this.#objects.set(oid, { type, body })
    this.#staged = []
    for (const { objects, dead = [] } of transitions) {
      for (const { oid, type, body } of objects) this.#objects.set(oid, { type, body })
      for (const oid of dead) this.#dead.add(oid)
    }
    this.#head = transitions.at(-1)?.next ?? this.#head
  }

  async stage(objects: readonly NewObject[]): Promise<void> {
    assert(this.#writing, 'stage was called outside of exclusive')
    this.#staged.push(...objects)
  }

  async checkpoint(): Promise<void> {
    this.#assertOpen()
    if (this.#dead.size === 0) return
    this.erasures += 1
    for (const oid of this.#dead) this.#objects.delete(oid)
    this.#dead.clear()
    this.#onErased()
  }

  /** There are no packs. */
  async compact({ signal }: CompactOptions = {}): Promise<void> {
    if (signal?.aborted === true) throw new StoreError('cancelled', 'The repack was cancelled')
    await this.checkpoint()
  }

  objectIds(): Iterable<Oid> {
    this.#assertOpen()
    return this.#objects.keys()
  }

  reclaimable(): Reclaimable {
    this.#assertOpen()
    const dead = [...this.#dead].flatMap((oid) => this.#objects.get(oid) ?? [])
    const bytes = dead.reduce((sum, { body }) => sum + body.length, 0)
    return { erased: { objects: dead.length, bytes }, repeated: noObjects }
  }

  async findUnreachable({ signal, progress }: CompactOptions = {}): Promise<ObjectAmount> {
    await this.checkpoint()
    const oids = [...this.#objects.keys()]
    const numbers = new Map(oids.map((oid, number) => [oid, number]))
    const read = (number: number): GitObject => {
      const object = this.#objects.get(oids[number] ?? '')
      assert(object !== undefined, 'a number is that of an object')
      return object
    }
    const source: ReachableSource = {
      end: oids.length,
      count: oids.length,
      find: (oid) => numbers.get(toHex(oid)),
      read,
      isRepeated: () => false,
      bytesOf: (number) => read(number).body.length,
    }
    const heads = [...(this.#head === undefined ? [] : [this.#head]), ...this.#exchange.heads()]
    return measureUnreachable(
      source,
      { heads, boundary: this.#exchange.shallow() },
      {
        isCancelled: () => signal?.aborted === true,
        progress: (done, total) => progress?.(done, total),
      },
    )
  }

  get exchange(): PackExchange {
    return this.#exchange
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
      purgePending: this.#dead.size,
      foreignPurges: 0,
      putAside: 0,
    }
  }

  async close(): Promise<void> {
    await this.#turn
    this.#closed = true
    this.#objects.clear()
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError('store_closed', 'The store is closed')
  }
}
