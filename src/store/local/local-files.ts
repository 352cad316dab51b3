// The local files of this device: the anchor and the sealed caches. Decides when they are worth
// writing. All writes happen under the store's writer lock.

import type { Clock } from '../../clock.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { readKeyringState, readSettingsState } from '../access/authority.ts'
import { ancestorsDownTo } from '../commits/ancestors.ts'
import { type CommitCount, countOn } from '../commits/commit-count.ts'
import { History, type HistorySource } from '../history/history.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { Anchor } from './anchor.ts'
import { isWorthWriting, readHistory, writeHistory } from './history-cache.ts'
import { ownCaches, type OwnFiles } from './own-files.ts'
import { Reads } from './reads.ts'
import type { CacheOwner } from './sealed-cache.ts'
import { findState, findWritten, writeState } from './state-cache.ts'

/** Commits after which an idle store writes a new snapshot cache; closing writes one too. */
const CACHE_EVERY = 256
/** The same for a store that is never idle, so that a killed process leaves little to verify. */
const CACHE_WHEN_BUSY = 4096
/** Caches are not written if another process is further ahead than this many commits. */
const RECENT = 1024

export interface LocalFilesParts {
  readonly objects: ObjectStore
  readonly anchor: Anchor
  readonly files: OwnFiles
  readonly caches: CacheOwner
  /** The folder of the caches that are this machine's alone. */
  readonly cacheDirectory: string
  readonly clock: Clock
  /** The height of the cached snapshot; -1 without one. */
  readonly cachedHeight: number
  /** From the cache, or from a verification of the whole history. */
  readonly counted: CommitCount | undefined
  readonly kept: Snapshot | undefined
}

/** The contents of the caches on disk; nothing is read from git. */
export interface CachedFiles {
  readonly state: Snapshot | undefined
  readonly history: History
}

export class LocalFiles {
  readonly reads: Reads
  readonly #parts: Omit<LocalFilesParts, 'kept'>
  #cachedHeight: number
  #counted: CommitCount | undefined
  #countIsNew = false
  #kept: Snapshot | undefined
  /** Whether caches that are not in the store's own directory have to be erased. */
  #isSuperseded = false

  constructor({ kept, ...parts }: LocalFilesParts) {
    this.#parts = parts
    this.reads = new Reads(parts.caches, parts.files, parts.clock)
    this.#cachedHeight = parts.cachedHeight
    this.#counted = parts.counted
    this.#kept = kept
  }

  /** Sets the known count, which the next snapshot cache stores. */
  set counted(count: CommitCount) {
    this.#countIsNew ||= this.#counted === undefined
    this.#counted = count
  }

  /** Counts a commit whose only parent is `onto`, if the count there is known. */
  countOne(onto: Oid | undefined, commit: Oid): void {
    const known = this.#counted
    if (known !== undefined && known.commit === onto) {
      this.#counted = { commit, commits: known.commits + 1 }
    }
  }

  /** The count at `head`, continued from the known one; undefined if that is unknown or erased. */
  async findCount(head: Oid): Promise<CommitCount | undefined> {
    const known = this.#counted
    if (known === undefined || known.commit === head) return known
    try {
      this.#counted = await countOn(this.#parts.objects, known, head)
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      this.#counted = undefined
    }
    return this.#counted
  }

  get anchor(): Anchor {
    return this.#parts.anchor
  }

  /** Lends a directory that is removed afterwards. A redaction removes what a crash leaves. */
  async withScratch<T>(work: (disk: Disk, directory: string) => Promise<T>): Promise<T> {
    const { caches, cacheDirectory } = this.#parts
    const directory = `${cacheDirectory}/scratch`
    caches.disk.removeTree(directory)
    try {
      return await work(caches.disk, directory)
    } finally {
      caches.disk.removeTree(directory)
    }
  }

  /** Whether a new snapshot cache is due; a busy store waits for more commits. */
  isDue({ head }: Snapshot, when: 'idle' | 'busy'): boolean {
    const every = when === 'idle' ? CACHE_EVERY : CACHE_WHEN_BUSY
    return head.height >= this.#cachedHeight + every
  }

  async hasNews({ head }: Snapshot, history: History): Promise<boolean> {
    const isNew = this.#countIsNew || head.height !== this.#cachedHeight
    const isKnown = isNew || this.#isSuperseded || isWorthWriting(history)
    return isKnown || this.reads.hasNews()
  }

  async loadHistory(history: History, signal: AbortSignal | undefined): Promise<void> {
    const { caches, cacheDirectory } = this.#parts
    await readHistory(caches, cacheDirectory, history, signal)
  }

  async read(source: HistorySource): Promise<CachedFiles> {
    const { caches, files, cacheDirectory } = this.#parts
    // From then on it has been seen, though it is not what this handle has kept.
    if (await files.hasChanged('state')) this.#kept = undefined
    const found = await findState(caches, files, {
      readKeyring: (oid, record) => readKeyringState(source, oid, record),
      readSettings: (oid, record) => readSettingsState(source, oid, record),
    })
    const history = new History()
    await readHistory(caches, cacheDirectory, history)
    return { state: found?.snapshot, history }
  }

  /** Advances the anchor and writes due caches when idle. `durable` is certainly on disk. */
  async settle(durable: Head | undefined, snapshot: Snapshot): Promise<void> {
    if (this.#isSuperseded) await this.#eraseShared(false)
    if (durable !== undefined && this.#isPast(durable)) await this.anchor.advance(durable)
    if (this.isDue(snapshot, 'idle') && this.#isPast(snapshot.head)) {
      await this.#writeState(snapshot)
    }
    await this.#writeReads(snapshot)
  }

  /** Writes anchor and caches before the store is closed, so that the next open verifies little. */
  async leave(durable: Head | undefined, snapshot: Snapshot, history: History): Promise<void> {
    if (this.#isSuperseded) await this.#eraseShared(false)
    // Journal frames of a killed process are readable but perhaps not on disk yet.
    const isPacked = this.#parts.objects.status().journalFrames === 0
    const head = isPacked ? snapshot.head : durable
    // A sync of another process may have dropped it as late and moved the anchor back.
    if (head !== undefined && this.#isPast(head)) await this.anchor.advance(head)
    await this.anchor.settle()
    await this.#writeCaches(snapshot, history).catch(ignoreStorage)
  }

  /** The next snapshot cache is due at once: a clone knows more of the same head. */
  outdate(): void {
    this.#cachedHeight = -1
    this.#kept = undefined
  }

  /** Paths leave RAM. The next snapshot cache is written as a whole. */
  clear(): void {
    this.#kept = undefined
  }

  /** After a redaction of our own: no cache has the erased rows. */
  async erase(history: History): Promise<void> {
    await this.#eraseShared(true)
    this.#forget(history)
  }

  /** The history was rewritten by a sync or another server: see to the caches when idle. */
  supersede(): void {
    this.#isSuperseded = this.#parts.files.isShared
  }

  /** A purge empties the directory of a store; caches of a shared one are outside of it. */
  async #eraseShared(isAll: boolean): Promise<void> {
    const { files, caches, cacheDirectory } = this.#parts
    if (!files.isShared) return
    caches.disk.removeTree(cacheDirectory)
    for (const name of ownCaches) {
      // What another server has written since may be newer than the redaction.
      if (isAll || !(await files.hasChanged(name))) await files.remove(name)
    }
    this.#isSuperseded = false
  }

  /** Resets the known state of the caches after they were erased. */
  #forget(history: History): void {
    this.#cachedHeight = -1
    this.reads.forgetFile()
    history.cachedCommits = 0
  }

  async #writeCaches(snapshot: Snapshot, history: History): Promise<void> {
    await this.#writeReads(snapshot)
    if (!this.#isPast(snapshot.head)) return
    const { caches, cacheDirectory } = this.#parts
    const isNew = this.#countIsNew || snapshot.head.height !== this.#cachedHeight
    if (isNew) await this.#writeState(snapshot)
    await writeHistory(caches, cacheDirectory, history)
  }

  /** Writes history segments when idle, unless another process may have redacted. */
  async keepHistory(snapshot: Snapshot, history: History): Promise<void> {
    if (!isWorthWriting(history) || !this.#isPast(snapshot.head)) return
    await writeHistory(this.#parts.caches, this.#parts.cacheDirectory, history)
  }

  async #writeReads({ current }: Snapshot): Promise<void> {
    if (!(await this.reads.hasNews())) return
    await this.reads.save((memoryId) => current.get(memoryId)?.live !== undefined)
  }

  async #writeState(snapshot: Snapshot): Promise<void> {
    const { caches, files } = this.#parts
    const { commit, height } = snapshot.head
    if (await files.hasChanged('state')) this.#kept = undefined
    if (await this.#isOvertaken(height)) return
    // Counting on from the known commit now is cheap.
    const counted = await this.findCount(commit)
    const kept = await writeState(caches, files, { snapshot, counted }, this.#kept)
    if (kept === undefined) return
    this.#kept = kept
    this.#cachedHeight = height
    this.#countIsNew = false
  }

  /** Whether another process or server has written a snapshot that must not be replaced now. */
  async #isOvertaken(height: number): Promise<boolean> {
    const { caches, files } = this.#parts
    const hasChanged =
      (await files.hasChanged('state')) || (await files.hasChanged('state-changes'))
    if (!hasChanged) return false
    const written = await findWritten(caches, files)
    if (written !== undefined && written.height > height && this.#isPast(written)) {
      this.#cachedHeight = written.height
      return true
    }
    // It may have been erased by a redaction of which this server knows nothing yet: only a
    // version that was seen before the store was last brought up to date is replaced.
    return files.isShared
  }

  /**
   * Whether a head that was verified here is the store's head or a recent ancestor of it. If not,
   * another process may have redacted in the meantime, and our caches would hold what it erased.
   */
  #isPast(known: Pick<Head, 'commit' | 'height'>): boolean {
    const { objects } = this.#parts
    if (objects.head === undefined) return false
    let passed = 0
    for (const { oid } of ancestorsDownTo(objects, objects.head, known.height)) {
      if (oid === known.commit) return true
      passed += 1
      if (passed > RECENT) return false
    }
    return false
  }
}

/** Caches can be rebuilt. */
function ignoreStorage(error: unknown): void {
  if (!hasCode(error, 'storage_denied', 'storage_full', 'storage_failed')) throw error
}
