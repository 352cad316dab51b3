// An object store whose durable form is a shared log: a write is an entry there, and then repeated
// in the replica, which serves all reads. Several servers use one store so. Owns the turn of this
// server's writers, and when a new base is made. Must not resolve a commit before the log has it.

import { Gate } from '../../async.ts'
import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { assert, StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { closedError } from '../disk-store/stored-objects.ts'
import type { PackExchange } from '../exchange.ts'
import {
  checkTransitions,
  type CompactOptions,
  LostRace,
  type ObjectAmount,
  type ObjectStore,
  type Reclaimable,
  type ServedRef,
  type StorageStatus,
  type Transition,
} from '../object-store.ts'
import type { GitObject, NewObject, Oid, SizeLimit } from '../objects/object.ts'
import { holdBase, partBytes, PartSender, sendBase } from './base.ts'
import { encodeEntry, encodeObjects, type Entry } from './log-entry.ts'
import type { ReplicaOptions } from './replica-repository.ts'
import { Replica } from './replica.ts'
import { ReplicatedExchange } from './replicated-exchange.ts'

/** A new base is due once the entries since the last one exceed this, and half of that one. */
const BASE_BYTES_MIN = 4 * MEBIBYTE
/** How long a server that has lost a race waits for its claim. */
const CLAIM_WAIT_MS = 10_000
const CLAIM_PAUSE_MS_MAX = 20
/** A claim ends by itself after two seconds. */
const CLAIM_RENEW_MS = 700

/** Opens the store of a log. It is empty if the log is. Throws `not_found` without the log. */
export async function openReplicatedStore(options: ReplicaOptions): Promise<ObjectStore> {
  return new ReplicatedObjectStore(await Replica.open(options), options)
}

class ReplicatedObjectStore implements ObjectStore {
  readonly exchange: PackExchange
  readonly #replica: Replica
  readonly #gate = new Gate()
  readonly #lockWaitMs: number
  readonly #random: (length: number) => Uint8Array
  /** Whether this server has appended in its turn: it makes the base that is due then. */
  #hasAppended = false
  #hasLost = false
  #writing = false
  #staged: PartSender | undefined
  readonly #bases = new Gate()
  /** When it asked for the newest entry, which it has. */
  #followedAt = Number.NEGATIVE_INFINITY
  #closing: Promise<void> | undefined

  constructor(replica: Replica, options: Pick<ReplicaOptions, 'lockWaitMs' | 'random'>) {
    const { lockWaitMs = CLAIM_WAIT_MS, random = systemRandom } = options
    this.#replica = replica
    this.#lockWaitMs = lockWaitMs
    this.#random = random
    this.exchange = new ReplicatedExchange(replica, this)
  }

  get head(): Oid | undefined {
    return this.#replica.store.head
  }

  get packDirectories(): readonly string[] | undefined {
    return this.#replica.store.packDirectories
  }

  get erasures(): number {
    return this.#replica.erasures
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return this.#replica.store.read(oid, limit)
  }

  has(oid: Oid): boolean {
    return this.#replica.store.has(oid)
  }

  refresh(): void {
    this.#replica.store.refresh()
  }

  async renew(): Promise<void> {
    this.#assertNotClosing()
    const { log, isBroken } = this.#replica
    const asked = performance.now()
    if (!isBroken && asked - this.#followedAt < (log.maxStaleMs ?? 0)) return
    const before = this.#replica.number
    const number = (await log.position())?.number ?? Number.POSITIVE_INFINITY
    // This server may have written since it asked.
    const isKnown = before <= number && number <= this.#replica.number
    if (!isKnown || this.#replica.isBroken) await this.#gate.run(() => this.#replica.follow())
    this.#followedAt = Math.max(this.#followedAt, asked)
  }

  exclusive<T>(work: () => Promise<T>, isLong = false): Promise<T> {
    return this.turn(async () => {
      this.#writing = true
      try {
        return await this.#replica.store.exclusive(work)
      } finally {
        this.#writing = false
        if (this.#staged !== undefined) await this.#dropStaged()
      }
    }, isLong)
  }

  /** Runs `work` while no other work of this server writes, after what other servers wrote. */
  async turn<T>(work: () => Promise<T>, isLong = false): Promise<T> {
    this.#assertNotClosing()
    return this.#gate.run(async () => {
      const claims = isLong || this.#hasLost
      this.#hasLost = false
      if (claims) await this.#claim()
      this.#hasAppended = false
      const renewing = isLong ? setInterval(() => this.#renewClaim(), CLAIM_RENEW_MS) : undefined
      try {
        // Also for work that then changes nothing: its answer must be about the newest state.
        await this.#replica.follow()
        return await work()
      } finally {
        clearInterval(renewing)
        if (isLong || (claims && !this.#hasAppended)) await this.#release()
        if (this.#hasAppended) this.#makeBaseWhenDue()
      }
    })
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    assert(this.#writing, 'commit was called outside of exclusive')
    const { store } = this.#replica
    checkTransitions(store.head, transitions)
    if (transitions.length === 0) return
    const small = bytesOf(transitions) <= partBytes ? transitions : await this.#send(transitions)
    await this.#staged?.finish()
    const parts = this.#staged && { id: this.#staged.id, count: this.#staged.count }
    const erases = transitions.some(({ dead }) => dead !== undefined)
    const entry = { kind: 'commit', transitions: small, parts } as const
    await this.append(entry, () => store.commit(transitions), erases)
    this.#staged = undefined
  }

  async stage(objects: readonly NewObject[]): Promise<void> {
    assert(this.#writing, 'stage was called outside of exclusive')
    await this.#replica.store.stage(objects)
    await this.#sendObjects(objects)
  }

  /**
   * Appends an entry and repeats it in the replica. Only inside `turn`. Throws `LostRace`, with
   * nothing written, if another server was faster.
   */
  async append(entry: Entry, repeat: () => Promise<void>, erases = false): Promise<void> {
    const { log } = this.#replica
    const number = this.#replica.number + 1
    const parts = 'parts' in entry ? entry.parts : undefined
    const body = encodeEntry(entry)
    if (!(await log.append(number, body, parts, this.#hasRemotesAfter(entry)))) {
      this.#hasLost = true
      throw new LostRace()
    }
    const bytes = body.length + (this.#staged?.bytes ?? 0)
    await this.#replica.took({ number, bytes }, repeat, erases)
    this.#hasAppended = true
  }

  async checkpoint(): Promise<void> {
    this.#assertNotClosing()
    await this.#replica.store.checkpoint()
    // Until a base is made without them, the entries of the log hold the erased objects.
    while (this.#replica.eraseNumber !== undefined) await this.#makeBase()
  }

  async compact(options?: CompactOptions): Promise<void> {
    this.#assertNotClosing()
    await this.#replica.store.compact(options)
    await this.#makeBase()
  }

  reclaimable(): Reclaimable {
    return this.#replica.store.reclaimable()
  }

  async findUnreachable(options?: CompactOptions): Promise<ObjectAmount> {
    this.#assertNotClosing()
    return this.#replica.store.findUnreachable(options)
  }

  objectIds(): Iterable<Oid> {
    return this.#replica.store.objectIds()
  }

  serve(refs: readonly ServedRef[]): string | undefined {
    return this.#replica.store.serve(refs)
  }

  serves(directory: string): boolean {
    return this.#replica.store.serves(directory)
  }

  status(): StorageStatus {
    const status = this.#replica.store.status()
    // Entries that are still in the log hold the erased objects, too.
    const isPending = this.#replica.eraseNumber !== undefined
    return isPending ? { ...status, purgePending: Math.max(1, status.purgePending) } : status
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  newId(): string {
    return toHex(this.#random(16))
  }

  async #close(): Promise<void> {
    await this.#bases.run(async () => undefined)
    await this.#gate.run(() => this.#replica.close())
  }

  /** The loser of a race is next; otherwise the server that is faster would always be first. */
  async #claim(): Promise<void> {
    const { log } = this.#replica
    const deadline = performance.now() + this.#lockWaitMs
    for (let attempt = 1; !(await log.claim()); attempt += 1) {
      if (performance.now() >= deadline) {
        throw new StoreError('locked', 'Other servers write to the store all the time: try again')
      }
      const [jitter = 0] = this.#random(1)
      await pause(Math.min(CLAIM_PAUSE_MS_MAX, attempt) * (0.5 + jitter / 256))
    }
  }

  /** If this is late, another server may be faster: the append decides. */
  #renewClaim(): void {
    this.#replica.log.claim().catch(() => undefined)
  }

  async #release(): Promise<void> {
    // It ends by itself.
    await this.#replica.log.release().catch(() => undefined)
  }

  /** Sends the objects of transitions as parts; returns the transitions without them. */
  async #send(transitions: readonly Transition[]): Promise<readonly Transition[]> {
    await this.#sendObjects(transitions.flatMap(({ objects }) => objects))
    return transitions.map((one) => ({ ...one, objects: [] }))
  }

  async #sendObjects(objects: readonly NewObject[]): Promise<void> {
    if (objects.length === 0) return
    this.#staged ??= new PartSender(this.#replica.log, this.newId())
    let some: NewObject[] = []
    let bytes = 0
    for (const object of objects) {
      some.push(object)
      bytes += object.body.length
      if (bytes < partBytes) continue
      await this.#staged.add(encodeObjects(some))
      some = []
      bytes = 0
    }
    if (some.length > 0) await this.#staged.add(encodeObjects(some))
  }

  async #dropStaged(): Promise<void> {
    const staged = this.#staged
    this.#staged = undefined
    await staged?.finish().catch(() => undefined)
    // Otherwise another base removes them after an hour.
    if (staged !== undefined) await this.#replica.log.removeParts(staged.id).catch(() => undefined)
  }

  #makeBaseWhenDue(): void {
    const { bytes } = this.#replica
    if (bytes.log <= Math.max(BASE_BYTES_MIN, bytes.base / 2)) return
    if (!this.#bases.free || this.#closing !== undefined) return
    // The next write tries again, and nothing is lost by it.
    this.#makeBase().catch(() => undefined)
  }

  /** Makes a new base of what the replica has, unless another server is faster. */
  #makeBase(): Promise<void> {
    return this.#bases.run(() => this.#sendBase())
  }

  async #sendBase(): Promise<void> {
    const { log, disk, directory } = this.#replica
    const id = this.newId()
    // Most of it while others write.
    await this.#replica.store.checkpoint()
    const held = await this.#gate.run(async () => {
      await this.#replica.follow()
      const { store, repository, number, base, eraseNumber } = this.#replica
      await store.checkpoint()
      const places = { repository: `${directory}/${repository}`, directory: `${directory}/${id}` }
      const files = holdBase(disk, store, { ...places, number })
      return files && { ...files, expected: base, number, erases: eraseNumber !== undefined }
    })
    if (held === undefined) return
    const { expected, number, erases } = held
    try {
      if (number === expected) return
      const bytes = await sendBase(disk, log, id, held)
      // Servers that are a little behind read the entries since the base before.
      const removeTo = erases ? number : expected
      const isDone = await log.setBase({ expected, base: { number, id }, removeTo, erases })
      if (isDone) this.#replica.rebased({ number, id }, bytes)
      else await log.removeParts(id)
    } catch (error) {
      await log.removeParts(id).catch(() => undefined)
      throw error
    } finally {
      disk.removeTree(held.directory)
    }
  }

  /** Undefined for an entry that changes none. */
  #hasRemotesAfter(entry: Entry): boolean | undefined {
    if (entry.kind !== 'remote') return undefined
    return entry.url !== null || this.exchange.remotes().some(({ name }) => name !== entry.name)
  }

  #assertNotClosing(): void {
    if (this.#closing !== undefined) throw closedError()
  }
}

function bytesOf(transitions: readonly Transition[]): number {
  let bytes = 0
  for (const { objects } of transitions) for (const { body } of objects) bytes += body.length
  return bytes
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
