// The exchange of a store in RAM: the same checks as on a disk, and objects in a map.

import { assert, StoreError } from '../../errors.ts'
import { KIBIBYTE } from '../../limits.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { packInRam } from '../disk-store/outgoing-pack.ts'
import type {
  BoundaryChange,
  Evidence,
  Incoming,
  OutgoingPack,
  PackExchange,
  ReceivedPack,
  ReceiveLimits,
  ReceiveOptions,
  Remote,
} from '../exchange.ts'
import type { GitObject, ObjectType, Oid } from '../objects/object.ts'
import { checkBoundary, PackStream, receiveLimits, refusal } from '../pack/incoming-pack.ts'
import { corruptPack } from '../pack/pack-entry.ts'
import { checkPack } from '../pack/pack-resolve.ts'
import type { PackBytes } from '../pack/pack-scan.ts'
import { unknownRemoteError } from '../refs/remotes.ts'
import { checkCommits, joinChanges, unmoved } from '../refs/shallow.ts'
import { checkRemoteName, trackingRefName } from '../refs/tracking-ref.ts'

const PIECE_BYTES = 64 * KIBIBYTE
/** An object costs about this much, however small it is. */
const OBJECT_BYTES = 128

export class MemoryExchange implements PackExchange {
  readonly #objects: Map<Oid, GitObject>
  readonly #assertOpen: () => void
  readonly #remotes: Map<string, Remote> = new Map()
  readonly #tracked: Map<string, Oid> = new Map()
  readonly #refused: Map<string, Oid> = new Map()
  readonly #shallow: Set<Oid> = new Set()

  readonly #bytesMax: number

  /** `bytesMax` bounds the objects of one fetch, inflated. */
  constructor(objects: Map<Oid, GitObject>, bytesMax: number, assertOpen: () => void) {
    this.#objects = objects
    this.#bytesMax = bytesMax
    this.#assertOpen = assertOpen
  }

  incoming(): Incoming {
    this.#assertOpen()
    const onRefused = (remote: string, head: Oid): void => void this.#refused.set(remote, head)
    return new MemoryIncoming(this.#objects, this.#shallow, this.#bytesMax, onRefused)
  }

  refused(remote: string): string | undefined {
    checkRemoteName(remote)
    return this.#refused.get(remote)
  }

  async forgetRefused(remote: string): Promise<void> {
    this.#refused.delete(remote)
  }

  evidence(): Evidence {
    return { ids: () => [], read: () => undefined, close() {} }
  }

  async pack(oids: Iterable<Oid | undefined>, atReceiver?: Oid): Promise<OutgoingPack> {
    this.#assertOpen()
    const slice = new TimeSlice()
    const wanted = new Set<Oid>()
    for (const oid of oids) {
      if (oid !== undefined) wanted.add(oid)
      else if (slice.isOver()) await slice.next()
    }
    const objects = Array.from(wanted, (oid) => {
      const object = this.#objects.get(oid)
      if (object !== undefined) return { oid, ...object }
      throw new StoreError('object_missing', `The object ${oid} cannot be sent: it is not stored`)
    })
    assert(objects.length > 0, 'a pack without objects')
    return packInRam(objects, (oid) => this.#objects.get(oid), atReceiver)
  }

  /** Where the tracking refs point. */
  heads(): Iterable<Oid> {
    return this.#tracked.values()
  }

  tracked(remote: string): Oid | undefined {
    trackingRefName(remote)
    return this.#tracked.get(remote)
  }

  async track(remote: string, next: Oid | undefined): Promise<void> {
    trackingRefName(remote)
    if (next === undefined || !this.#objects.has(next)) this.#tracked.delete(remote)
    else this.#tracked.set(remote, next)
  }

  shallow(): readonly Oid[] {
    return [...this.#shallow].toSorted()
  }

  async setShallow(commits: readonly Oid[]): Promise<void> {
    checkCommits(commits)
    this.#shallow.clear()
    for (const oid of commits) this.#shallow.add(oid)
  }

  remotes(): readonly Remote[] {
    return [...this.#remotes.values()]
  }

  async addRemote(remote: Remote): Promise<void> {
    checkRemoteName(remote.name)
    if (this.#remotes.has(remote.name)) {
      throw new StoreError('invalid_input', `There is a remote named ${remote.name} already`)
    }
    this.#remotes.set(remote.name, remote)
  }

  async removeRemote(name: string): Promise<void> {
    if (this.#remotes.delete(name)) return this.track(name, undefined)
    throw unknownRemoteError(name)
  }
}

class MemoryIncoming implements Incoming {
  readonly #objects: Map<Oid, GitObject>
  readonly #onRefused: (remote: string, head: Oid) => void
  readonly #waiting: Map<Oid, GitObject> = new Map()
  readonly #shallow: Set<Oid>
  #moved: BoundaryChange = unmoved
  #bytes = 0
  /** For inflated objects. */
  #room: number
  readonly #limits: ReceiveLimits

  constructor(
    objects: Map<Oid, GitObject>,
    shallow: Set<Oid>,
    bytesMax: number,
    onRefused: (remote: string, head: Oid) => void,
  ) {
    this.#objects = objects
    this.#room = bytesMax
    this.#limits = {
      bytes: Math.min(receiveLimits.bytes, bytesMax),
      objects: Math.min(receiveLimits.objects, bytesMax / OBJECT_BYTES),
    }
    this.#shallow = shallow
    this.#onRefused = onRefused
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  get bytes(): number {
    return this.#bytes
  }

  ids(): Iterable<Oid> {
    return this.#waiting.keys()
  }

  read(oid: Oid): GitObject | undefined {
    return this.#waiting.get(oid) ?? this.#objects.get(oid)
  }

  has(oid: Oid): boolean {
    return this.read(oid) !== undefined
  }

  async receive(
    chunks: AsyncIterable<Uint8Array>,
    options: ReceiveOptions = {},
  ): Promise<ReceivedPack> {
    const stream = new PackStream({ ...this.#limits, ...options.limits })
    const received = new ReceivedBytes()
    try {
      for await (const chunk of chunks) {
        refuseIfAborted(options.signal)
        stream.add(chunk)
        received.add(chunk)
      }
      const objects = stream.finish()
      await this.#keep(received, options)
      this.#moved = joinChanges(this.#moved, options.boundary ?? unmoved)
      this.#bytes += stream.bytes
      return { objects, bytes: stream.bytes }
    } catch (error) {
      throw refusal(error)
    }
  }

  async accept(): Promise<void> {
    for (const [oid, object] of this.#waiting) this.#objects.set(oid, object)
    for (const oid of this.#moved.shallow) this.#shallow.add(oid)
    for (const oid of this.#moved.unshallow) this.#shallow.delete(oid)
    this.drop()
  }

  async keep(remote: string, head: Oid): Promise<void> {
    this.#onRefused(remote, head)
    this.drop()
  }

  drop(): void {
    this.#waiting.clear()
    this.#moved = unmoved
    this.#bytes = 0
  }

  async #keep(received: ReceivedBytes, options: ReceiveOptions): Promise<void> {
    const { signal, progress, tip, also = [] } = options
    const found = new Map<Oid, GitObject>()
    const watch = {
      isCancelled: () => signal?.aborted === true,
      progress: (done: number, total: number) => progress?.(done, total),
    }
    const visit = (oid: Oid, type: ObjectType, body: Uint8Array): void => {
      this.#room -= body.length
      if (this.#room < 0) throw corruptPack('its objects are larger than allowed')
      found.set(oid, { type, body })
    }
    const checked = await inSlices(checkPack(received, { watch, visit }))
    if (found.size < checked.objects) throw corruptPack('it holds an object twice')
    const wanted = checked.objects === 0 ? [] : [...also, ...(tip === undefined ? [] : [tip])]
    if (!wanted.every((oid) => found.has(oid) || this.has(oid))) {
      throw corruptPack('it does not hold an object that was asked for')
    }
    const read = (oid: Oid): GitObject | undefined => found.get(oid) ?? this.read(oid)
    await inSlices(checkBoundary(read, options))
    for (const [oid, object] of found) this.#waiting.set(oid, object)
  }
}

/**
 * A pack in pieces of one size: chunks are copied, since each may be a small part of a buffer that
 * would be kept with it.
 */
class ReceivedBytes implements PackBytes {
  readonly #pieces: Uint8Array[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      const offset = this.#size % PIECE_BYTES
      if (offset === 0) this.#pieces.push(new Uint8Array(PIECE_BYTES))
      const part = chunk.subarray(at, at + PIECE_BYTES - offset)
      this.#pieces.at(-1)?.set(part, offset)
      at += part.length
      this.#size += part.length
    }
  }

  read(into: Uint8Array, position: number): number {
    const length = Math.max(0, Math.min(into.length, this.#size - position))
    for (let done = 0; done < length;) {
      const offset = (position + done) % PIECE_BYTES
      const piece = this.#pieces[Math.floor((position + done) / PIECE_BYTES)]
      const part = piece?.subarray(offset, offset + length - done) ?? new Uint8Array()
      into.set(part, done)
      done += part.length
    }
    return length
  }
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new StoreError('cancelled', 'The fetch was cancelled')
}
