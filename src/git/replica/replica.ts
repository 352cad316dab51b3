// A replica: a disk object store that repeats the entries of a shared log, so that reads need no
// engine. It is private to one process and nothing in it is synced: after a crash, a gap or a
// contradiction it is made again from the base, in a new directory, and then takes the place of the
// old one. Owns how far the replica is. Must not append to the log.

import { resolve } from 'node:path'
import type { Disk } from '../../disk/disk.ts'
import { unsyncedDisk } from '../../disk/unsynced-disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import type { DiskObjectStore } from '../disk-store/disk-object-store.ts'
import type { Transition } from '../object-store.ts'
import { damagedLog, decodeEntry, decodeObjects, type Entry, type PacksEntry } from './log-entry.ts'
import {
  type LogBytes,
  makeAnew,
  type MadeReplica,
  type PlacedOptions,
  type ReplicaPosition,
  reopen,
  type ReplicaOptions,
  takeNote,
  writeNote,
} from './replica-repository.ts'
import type { LogBase, LogEntry, LogPosition, PartsRef, SharedLog } from './shared-log.ts'

/** Entries are read in batches of about this size. */
const READ_BYTES = 8 * MEBIBYTE
export class Replica {
  readonly log: SharedLog
  readonly disk: Disk
  /** Holds the repositories, of which one is in use. */
  readonly directory: string
  readonly #options: ReplicaOptions
  #store: DiskObjectStore
  #repository: string
  #number = 0
  #base = 0
  #bytes: LogBytes = { base: 0, log: 0 }
  #eraseNumber: number | undefined
  #erasures = 0
  #overtaken = 0
  #isBroken = false

  /** Opens what an earlier process has left in order, or makes it anew, and follows the log. */
  static open(options: ReplicaOptions): Promise<Replica> {
    return notingLater(options.log, () => Replica.#open(options))
  }

  static async #open(options: ReplicaOptions): Promise<Replica> {
    const { disk = unsyncedDisk, log } = options
    const directory = resolve(options.directory)
    disk.makeDirectory(directory)
    const note = takeNote(disk, directory)
    const found = note && (await reopen({ ...options, disk, directory }, note))
    const made = found ?? (await makeAnew({ ...options, disk, directory }, await log.base()))
    const replica = new Replica({ ...options, disk, directory }, made)
    try {
      await replica.follow()
    } catch (error) {
      await replica.#discard()
      throw error
    }
    return replica
  }

  private constructor(options: PlacedOptions, made: MadeReplica) {
    this.#options = options
    this.log = options.log
    this.disk = options.disk
    this.directory = options.directory
    this.#store = made.store
    this.#repository = made.repository
    this.#place(made)
  }

  get store(): DiskObjectStore {
    return this.#store
  }

  get repository(): string {
    return this.#repository
  }

  /** The newest entry that it holds. */
  get number(): number {
    return this.#number
  }

  /** The number of the newest base that is known. */
  get base(): number {
    return this.#base
  }

  get bytes(): LogBytes {
    return this.#bytes
  }

  /** The newest entry that erases and is not below a base: its objects are still in the log. */
  get eraseNumber(): number | undefined {
    return this.#eraseNumber
  }

  /** See `ObjectStore`. */
  get erasures(): number {
    return this.#erasures + this.#store.erasures
  }

  /** Grows with each redaction and each new start: packs that wait from before are refused. */
  get overtaken(): number {
    return this.#overtaken
  }

  /** Whether it could not repeat an entry: the next `follow` makes it anew. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /**
   * Brings it to what any server had appended when this was called. Throws `not_found`, and
   * `upgrade_required` as long as the next entry is one of a later release.
   */
  follow(): Promise<void> {
    return notingLater(this.log, () => this.#follow())
  }

  async #follow(): Promise<void> {
    const position = await this.log.position()
    if (position === undefined) throw deletedError()
    // An engine that was restored, or has lost its newest entries with a machine.
    if (this.#isBroken || position.number < this.#number) await this.#makeAnew()
    let gap = -1
    while (this.#number < position.number) {
      const entries = await this.log.entries(this.#number, READ_BYTES)
      const isNext = entries[0]?.number === this.#number + 1
      if (isNext && (await this.#apply(entries))) continue
      // From a newer base, it gets further.
      if (this.#number <= gap) throw damagedLog(`entry ${gap + 1} is missing or does not fit`)
      gap = this.#number
      await this.#makeAnew()
    }
    this.noteBase(position)
  }

  /** A base at or above the newest entry that erases has erased it in the log. */
  noteBase({ base }: Pick<LogPosition, 'base'>): void {
    this.#base = base
    if (this.#eraseNumber !== undefined && this.#eraseNumber <= base) this.#eraseNumber = undefined
  }

  /** This server has made `base` from here. */
  rebased({ number }: LogBase, bytes: number): void {
    this.#bytes = { base: bytes, log: 0 }
    this.noteBase({ base: number })
  }

  /**
   * Repeats an entry that this server has appended. It stands, even if the replica fails: that is
   * made anew then.
   */
  async took(entry: EntrySize, repeat: () => Promise<void>, erases = false): Promise<void> {
    try {
      await repeat()
    } catch {
      this.#isBroken = true
    }
    this.#count(entry, erases)
  }

  /** Leaves a note that lets the next process start here. */
  async close(): Promise<void> {
    const { head } = this.#store
    await this.#store.close()
    if (this.#isBroken) return
    writeNote(this.disk, this.directory, {
      repository: this.#repository,
      number: this.#number,
      base: this.#base,
      head,
      bytes: this.#bytes,
      eraseNumber: this.#eraseNumber,
    })
  }

  #count({ number, bytes }: EntrySize, erases: boolean): void {
    this.#number = number
    this.#bytes = { ...this.#bytes, log: this.#bytes.log + bytes }
    if (!erases) return
    this.#eraseNumber = number
    this.#overtaken += 1
  }

  #place({ number, base, bytes, eraseNumber }: ReplicaPosition): void {
    this.#number = number
    this.#base = base
    this.#bytes = bytes
    this.#eraseNumber = eraseNumber
  }

  /** The old store serves readers until the new one is whole. */
  async #makeAnew(): Promise<void> {
    const { disk, directory } = this
    const made = await makeAnew({ ...this.#options, disk, directory }, await this.log.base())
    const discarding = this.#discard()
    this.#erasures += this.#store.erasures + 1
    this.#overtaken += 1
    this.#store = made.store
    this.#repository = made.repository
    this.#place(made)
    this.#isBroken = false
    await discarding
  }

  async #discard(): Promise<void> {
    const place = `${this.directory}/${this.#repository}`
    await this.#store.close().catch(() => undefined)
    this.disk.removeTree(place)
  }

  /** Repeats entries up to a gap. False if they are of another history, or have lost parts. */
  async #apply(entries: readonly LogEntry[]): Promise<boolean> {
    let plain: LogEntry[] = []
    let transitions: Transition[] = []
    const flush = async (): Promise<void> => {
      await this.#commit(transitions)
      for (const { number, body } of plain) this.#count({ number, bytes: body.length }, false)
      plain = []
      transitions = []
    }
    try {
      for (const one of entries) {
        if (one.number !== this.#number + plain.length + 1) break
        const entry = decodeEntry(one.body)
        if (entry.kind === 'commit' && entry.parts === undefined && !isErasure(entry)) {
          plain.push(one)
          transitions.push(...entry.transitions)
        } else {
          await flush()
          const bytes = await this.#applyOne(entry)
          this.#count({ number: one.number, bytes: one.body.length + bytes }, isErasure(entry))
        }
      }
      await flush()
      return true
    } catch (error) {
      if (error instanceof MissingParts) return false
      if (hasCode(error, 'ref_conflict', 'not_found', 'invalid_input')) return false
      throw error
    }
  }

  /** Returns the bytes of its parts. */
  async #applyOne(entry: Entry): Promise<number> {
    const { exchange } = this.#store
    if (entry.kind === 'commit') return this.#commitLarge(entry.transitions, entry.parts)
    if (entry.kind === 'packs') return this.#acceptPacks(entry)
    if (entry.kind === 'ref') await exchange.track(entry.name, entry.commit ?? undefined)
    else if (entry.url === null) await exchange.removeRemote(entry.name)
    else await exchange.addRemote({ name: entry.name, url: entry.url })
    return 0
  }

  async #commit(transitions: readonly Transition[]): Promise<void> {
    const store = this.#store
    if (transitions.length > 0) await store.exclusive(() => store.commit(transitions))
  }

  async #commitLarge(
    transitions: readonly Transition[],
    { id, count }: PartsRef = noParts,
  ): Promise<number> {
    const store = this.#store
    let bytes = 0
    await store.exclusive(async () => {
      if (count > 0) {
        for await (const part of take(this.log.parts(id)[Symbol.asyncIterator](), count)) {
          bytes += part.length
          await store.stage(decodeObjects(part))
        }
      }
      await store.commit(transitions)
    })
    return bytes
  }

  async #acceptPacks({ parts, counts }: PacksEntry): Promise<number> {
    const incoming = this.#store.exchange.incoming()
    const rest = this.log.parts(parts.id)[Symbol.asyncIterator]()
    try {
      for (const count of counts) await incoming.receive(take(rest, count))
      const { bytes } = incoming
      await incoming.accept()
      return bytes
    } finally {
      incoming.drop()
    }
  }
}

async function notingLater<T>(log: SharedLog, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (hasCode(error, 'upgrade_required')) log.noteLater?.()
    throw error
  }
}

/** An entry by its number, and its size with its parts. */
interface EntrySize {
  readonly number: number
  readonly bytes: number
}

function isErasure(entry: Entry): boolean {
  return entry.kind === 'commit' && entry.transitions.some(({ dead }) => dead !== undefined)
}

/** Another server has made a base, and removed the entry with its parts. */
class MissingParts extends Error {}

const noParts: PartsRef = { id: '', count: 0 }

/** The next `count` parts. */
async function* take(parts: AsyncIterator<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  for (let taken = 0; taken < count; taken += 1) {
    const { value, done } = await parts.next()
    if (done === true) throw new MissingParts()
    yield value
  }
}

function deletedError(): StoreError {
  return new StoreError('not_found', 'The store has been deleted')
}
