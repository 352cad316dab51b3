// The purge intents that lie in a store: written before a transition that erases, cancelled if it
// was never committed, removed after the purge. Caches what it has read, since they never change.
// Must be called by the holder of the writer lock wherever it changes anything.

import { toHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { atomicWrite, type Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import type { Transition } from '../object-store.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import type { OidList } from '../objects/oid-list.ts'
import { removePacks } from '../pack/pack-removal.ts'
import {
  decodeIntent,
  encodeIntent,
  fatesOf,
  intentPattern,
  type PurgeIntent,
} from './purge-intent.ts'

/** As `atomicWrite` names a file that is not whole yet. */
const temporarySuffix = '.tmp'

export interface PurgeIntentsParts {
  readonly disk: Disk
  /** The store's own directory, `gitlocket/`. */
  readonly ownDirectory: string
  /** `objects/pack`. */
  readonly packDirectory: string
  readonly random: Random
  readonly read: (oid: Oid) => GitObject | undefined
  /** Makes durable that nothing follows the journal's last frame. */
  readonly fenceJournal: () => Promise<void>
}

export class PurgeIntents {
  readonly #parts: PurgeIntentsParts
  /** By file name; a file that is damaged has none. */
  readonly #known: Map<string, PurgeIntent | undefined> = new Map()
  /** Names of those that once were in the past of the head. */
  readonly #committed: Set<string> = new Set()
  /** Names of those about which the history does not tell: each search would be as long. */
  readonly #undecided: Set<string> = new Set()
  #half: readonly string[] = []
  #cancelled = 0

  constructor(parts: PurgeIntentsParts) {
    this.#parts = parts
  }

  /** How many intents this handle has cancelled. */
  get cancelled(): number {
    return this.#cancelled
  }

  /** How many objects wait to be erased, given the head; at least 1 for a file that is damaged. */
  pending(head: Oid | undefined): number {
    const names = this.#load()
    this.#judge(head)
    let count = 0
    for (const name of names) {
      const intent = this.#known.get(name)
      if (intent === undefined) count += 1
      else if (this.#committed.has(name)) count += intent.dead.count
    }
    return count
  }

  /** The objects that wait to be erased, given the head, as far as the files can be read. */
  pendingObjects(head: Oid | undefined): readonly OidList[] {
    this.#load()
    this.#judge(head)
    const due = this.#intents().filter(({ name }) => this.#committed.has(name))
    return due.map(({ dead }) => dead)
  }

  /** Durable when it resolves. */
  async write(transition: Transition, dead: OidList, packs: readonly string[]): Promise<void> {
    const { disk, ownDirectory, random } = this.#parts
    const { expected, next } = transition
    if (expected === undefined) return
    const path = `${ownDirectory}/purge-${toHex(random(8))}`
    await atomicWrite(disk, path, encodeIntent({ expected, next, packs, dead }))
  }

  /**
   * Cancels every intent whose transition the history of `head` does not contain: its writer died,
   * or failed. One listing if there is none. Returns whether any is left.
   */
  async settle(head: Oid | undefined): Promise<boolean> {
    const names = this.#load()
    this.#sweepTemporary()
    if (names.length === 0) return false
    const absent = this.#judge(head)
    if (absent.length > 0) {
      // A frame that a failed sync has left on the device would come back after a power failure.
      await this.#parts.fenceJournal()
      for (const intent of absent) await this.#cancel(intent, head)
    }
    return names.length > absent.length
  }

  /** Whose transitions are in the past of `branch`, packed and all. Throws `journal_corrupt`. */
  due(branch: Oid | undefined): readonly PurgeIntent[] {
    for (const name of this.#load()) {
      // Throws what is wrong with it.
      if (this.#known.get(name) === undefined) this.#readIntent(name)
    }
    const intents = this.#intents()
    const fates = fatesOf(branch, intents, this.#parts.read)
    return intents.filter((intent) => fates.get(intent) === 'committed')
  }

  /** After the purge. Durable when it resolves: nothing names what was erased. */
  async remove(intents: readonly PurgeIntent[]): Promise<void> {
    for (const { name } of intents) this.#remove(name)
    await this.#parts.disk.syncDirectory(this.#parts.ownDirectory)
  }

  /** The names of whole files; forgets what is gone. */
  #load(): readonly string[] {
    const { disk, ownDirectory } = this.#parts
    const files = disk.list(ownDirectory).filter((name) => intentPattern.test(name))
    this.#half = files.filter((name) => name.endsWith(temporarySuffix))
    const names = files.filter((name) => !name.endsWith(temporarySuffix))
    for (const name of this.#known.keys()) if (!names.includes(name)) this.#forget(name)
    for (const name of names) {
      if (!this.#known.has(name)) this.#known.set(name, this.#findIntent(name))
    }
    return names
  }

  #intents(): readonly PurgeIntent[] {
    return [...this.#known.values()].filter((intent) => intent !== undefined)
  }

  /** Remembers what is committed, and returns what is certainly not. */
  #judge(head: Oid | undefined): readonly PurgeIntent[] {
    const intents = this.#intents()
    const [committed, undecided] = [this.#committed, this.#undecided]
    if (intents.every(({ name }) => committed.has(name) || undecided.has(name))) return []
    const fates = fatesOf(head, intents, this.#parts.read)
    for (const intent of intents) {
      const fate = fates.get(intent)
      if (fate === 'committed') committed.add(intent.name)
      if (fate === undefined) undecided.add(intent.name)
    }
    return intents.filter((intent) => {
      return fates.get(intent) === 'absent' && !committed.has(intent.name)
    })
  }

  async #cancel(intent: PurgeIntent, head: Oid | undefined): Promise<void> {
    const { disk, packDirectory } = this.#parts
    // If the head is elsewhere another program has moved it, and who knows what it builds on.
    if (head === intent.expected) await removePacks(disk, packDirectory, intent.packs)
    // If it comes back after a power failure, it is cancelled again.
    this.#remove(intent.name)
    this.#cancelled += 1
  }

  /** What a dead writer has not finished: nobody else writes one under the writer lock. */
  #sweepTemporary(): void {
    const { disk, ownDirectory } = this.#parts
    for (const name of this.#half) disk.remove(`${ownDirectory}/${name}`)
    this.#half = []
  }

  #remove(name: string): void {
    const { disk, ownDirectory } = this.#parts
    disk.remove(`${ownDirectory}/${name}`)
    this.#forget(name)
  }

  #forget(name: string): void {
    this.#known.delete(name)
    this.#committed.delete(name)
    this.#undecided.delete(name)
  }

  #findIntent(name: string): PurgeIntent | undefined {
    try {
      return this.#readIntent(name)
    } catch (error) {
      if (!hasCode(error, 'journal_corrupt')) throw error
      return undefined
    }
  }

  #readIntent(name: string): PurgeIntent {
    const bytes = this.#parts.disk.readFile(`${this.#parts.ownDirectory}/${name}`)
    return decodeIntent(name, bytes ?? new Uint8Array(0))
  }
}
