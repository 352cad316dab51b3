// The purge intents of a store: written before a transition that erases, cancelled if it is never
// committed, removed after the purge. Caches intents, since they never change. Also the directories
// that every purge empties. Must be changed only under the writer lock.

import { toHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { atomicWrite, type Disk, targetOf } from '../../disk/disk.ts'
import { FileSweep } from '../../disk/file-sweep.ts'
import { assert, hasCode } from '../../errors.ts'
import type { Transition } from '../object-store.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import type { OidList } from '../objects/oid-list.ts'
import { incomingName } from '../pack/incoming-pack.ts'
import { removePacks } from '../pack/pack-removal.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { checkHasNoLinks } from '../refs/repository.ts'
import {
  encodeIntent,
  fatesOf,
  type FoundIntent,
  intentPattern,
  openIntent,
  type PurgeIntent,
} from './purge-intent.ts'

interface PurgeIntentsParts {
  readonly disk: Disk
  /** The store's own directory, `gitlocket/`. */
  readonly ownDirectory: string
  /** `objects/pack`. */
  readonly packDirectory: string
  readonly random: Random
  /** Authenticates intents. Without it, all of them are foreign, and none can be written. */
  readonly secret: Uint8Array | undefined
  readonly read: (oid: Oid) => GitObject | undefined
  /** Makes durable that nothing follows the journal's last frame. */
  readonly fenceJournal: () => Promise<void>
}

export class PurgeIntents {
  readonly #parts: PurgeIntentsParts
  /** By file name; undefined for a damaged file. */
  readonly #known: Map<string, FoundIntent | undefined> = new Map()
  /** The names of intents that were once found in the past of the head. */
  readonly #committed: Set<string> = new Set()
  /** The names of intents that the history does not decide: another search would be as long. */
  readonly #undecided: Set<string> = new Set()
  #incomplete: readonly string[] = []
  #cancelled = 0

  constructor(parts: PurgeIntentsParts) {
    this.#parts = parts
  }

  /** How many intents this handle has cancelled. */
  get cancelled(): number {
    return this.#cancelled
  }

  /** Whether the last look found no intent, nor the remains of one. */
  get isEmpty(): boolean {
    return this.#known.size === 0 && this.#incomplete.length === 0
  }

  /** The number of objects to erase, given the head; a damaged file is treated as at least 1. */
  pending(head: Oid | undefined): number {
    const names = this.#load()
    this.#decide(head)
    let count = 0
    for (const name of names) if (this.#known.get(name) === undefined) count += 1
    for (const { name, dead } of this.#intents()) {
      if (this.#committed.has(name)) count += dead.count
    }
    return count
  }

  /** The number of files that this device has not written. They are left alone. */
  get foreign(): number {
    return this.#load().filter((name) => this.#known.get(name) === 'foreign').length
  }

  /** The objects to erase, given the head, as far as the files can be read. */
  pendingObjects(head: Oid | undefined): readonly OidList[] {
    this.#load()
    this.#decide(head)
    const due = this.#intents().filter(({ name }) => this.#committed.has(name))
    return due.map(({ dead }) => dead)
  }

  /** Durable when it resolves. */
  async write(transition: Transition, dead: OidList, packs: readonly string[]): Promise<void> {
    const { disk, ownDirectory, random, secret } = this.#parts
    const { expected, next } = transition
    if (expected === undefined) return
    assert(secret !== undefined, 'what erases needs a secret')
    const path = `${ownDirectory}/purge-${toHex(random(8))}`
    try {
      await atomicWrite(disk, path, encodeIntent({ expected, next, packs, dead }, secret))
    } finally {
      this.#load()
    }
  }

  /**
   * Cancels every intent whose transition is not in the history of `head`, because its writer died
   * or failed. Costs one listing without any. Returns whether any intent remains.
   */
  async settle(head: Oid | undefined): Promise<boolean> {
    this.#load()
    this.#sweepTemporary()
    // A damaged one is reported by the checkpoint that it reaches.
    const own = [...this.#known.values()].filter((intent) => intent !== 'foreign').length
    if (own === 0) return false
    const absent = this.#decide(head)
    if (absent.length > 0) {
      // A power failure could restore a frame that a failed sync left on the device.
      await this.#parts.fenceJournal()
      for (const intent of absent) await this.#cancel(intent, head)
    }
    return own > absent.length
  }

  /** The intents whose transitions are in the past of `branch`. Throws `journal_corrupt`. */
  due(branch: Oid | undefined): readonly PurgeIntent[] {
    for (const name of this.#load()) {
      // Throws the reason why the file cannot be read.
      if (this.#known.get(name) === undefined) this.#readIntent(name)
    }
    const intents = this.#intents()
    const fates = fatesOf(branch, intents, this.#parts.read)
    return intents.filter((intent) => fates.get(intent) === 'committed')
  }

  /** Called after the purge. When it resolves, their removal is durable. */
  async remove(intents: readonly PurgeIntent[]): Promise<void> {
    for (const { name } of intents) this.#remove(name)
    await this.#parts.disk.syncDirectory(this.#parts.ownDirectory)
  }

  /** Reads new files and forgets removed ones; returns the names of the complete files. */
  #load(): readonly string[] {
    const { disk, ownDirectory } = this.#parts
    const files = disk.list(ownDirectory)
    this.#incomplete = files.filter((name) => intentPattern.test(targetOf(name) ?? ''))
    const names = files.filter((name) => intentPattern.test(name))
    for (const name of this.#known.keys()) if (!names.includes(name)) this.#forget(name)
    for (const name of names) {
      if (!this.#known.has(name)) this.#known.set(name, this.#findIntent(name))
    }
    return names
  }

  #intents(): readonly PurgeIntent[] {
    return [...this.#known.values()].filter((intent) => {
      return intent !== undefined && intent !== 'foreign'
    })
  }

  /** Remembers the committed intents, and returns those that are certainly absent. */
  #decide(head: Oid | undefined): readonly PurgeIntent[] {
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
    // If the head is elsewhere, another program moved it, and its history may need these packs.
    if (head === intent.expected) await removePacks(disk, packDirectory, intent.packs)
    // A power failure may restore the file; then it is cancelled again.
    this.#remove(intent.name)
    this.#cancelled += 1
  }

  /**
   * Removes the incomplete files of dead writers: under the writer lock, no other process writes
   * one.
   */
  #sweepTemporary(): void {
    const { disk, ownDirectory } = this.#parts
    for (const name of this.#incomplete) disk.remove(`${ownDirectory}/${name}`)
    this.#incomplete = []
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

  #findIntent(name: string): FoundIntent | undefined {
    try {
      return this.#readIntent(name)
    } catch (error) {
      if (!hasCode(error, 'journal_corrupt')) throw error
      return undefined
    }
  }

  #readIntent(name: string): FoundIntent {
    const { disk, ownDirectory, secret } = this.#parts
    const bytes = disk.readFile(`${ownDirectory}/${name}`)
    return openIntent(name, bytes ?? new Uint8Array(0), secret)
  }
}

/** Files that repairs have replaced, in numbered directories. */
export const asideName: string = 'damaged'
/** What a remote has sent to a running repair. */
export const fetchedName: string = 'repair'
/** For each remote a repository with the head that was refused last. */
export const refusedName: string = 'refused'
const emptiedNames: readonly string[] = [asideName, fetchedName, incomingName, refusedName]

/** Durable once the sweep is synced. */
export function sweepAside(ownDirectory: string, sweep: FileSweep): void {
  for (const name of emptiedNames) sweep.empty(`${ownDirectory}/${name}`)
}

/** Durable when it resolves. Throws `unsupported_repository` if a link was planted. */
export async function emptyAside({
  disk,
  directory,
  ownDirectory,
}: Pick<GitFileLockContext, 'disk' | 'directory' | 'ownDirectory'>): Promise<void> {
  checkHasNoLinks(disk, directory)
  const sweep = new FileSweep(disk)
  sweepAside(ownDirectory, sweep)
  await sweep.sync()
}
