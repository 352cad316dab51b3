// The façade that a caller holds: reads from the snapshot of the newest verified head, writes
// through the queue of writer.ts, asks the history. Composes the other files of this folder and
// decides little itself; what takes long to load and few ask for is loaded when it is asked for.

import type { WorkOptions } from '../async.ts'
import type { Role } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import type { Settings } from '../format/settings.ts'
import { allowedSignersLine } from '../format/sshsig.ts'
import type { Remote } from '../git/exchange.ts'
import type { CompactOptions, ObjectAmount } from '../git/object-store.ts'
import { type Applied, applyChanges } from './changes/apply.ts'
import type { Change } from './changes/changes.ts'
import { expire, type Expiry, type ExpiryRule } from './changes/retention.ts'
import { checkAuthor } from './commits/author.ts'
import type { Author } from './commits/commit-context.ts'
import { updateSettings } from './devices/administration.ts'
import {
  addDeviceByCard,
  changePassphrase,
  changeRole,
  type DeviceAdded,
  type KeysChanged,
  makeRecoveryKey,
  type RecoveryKeyMade,
  removeDevices,
} from './devices/device-changes.ts'
import { type Device, listDevices } from './devices/devices.ts'
import type { BlameLine, BlameOptions } from './history/blame.ts'
import { type Conflict, type ConflictOptions, findConflicts } from './history/conflicts.ts'
import { readMemory } from './history/contents.ts'
import { compareMoments, type Difference, type DifferenceOptions } from './history/history-diff.ts'
import type { History } from './history/history.ts'
import { openPast, type PastView } from './history/past.ts'
import type { Point } from './history/points.ts'
import { retryAfterRedaction } from './history/retry-after-redaction.ts'
import {
  readVersions,
  readVersionWithInputs,
  type VersionFilter,
  type VersionPage,
  type VersionWithInputs,
} from './history/versions.ts'
import type { AbsenceOptions, AbsenceReport } from './redaction/absence.ts'
import type { RedactionPlan, RedactionRequest } from './redaction/redaction-plan.ts'
import type { Redaction } from './redaction/redaction.ts'
import {
  checkBlame,
  checkObject,
  checkPoint,
  checkRestore,
  checkRollback,
} from './request-check.ts'
import {
  planRestore,
  planRollback,
  type RestoreRequest,
  type Reversal,
  type RollbackRequest,
} from './revert/restoration.ts'
import type { ReversalSource } from './revert/reversal-plan.ts'
import { type ReversalOptions, reverse } from './revert/reversal.ts'
import type { UndoRequest } from './revert/undo.ts'
import type { StoreSession } from './session/session.ts'
import type { ClockLeap } from './session/writer-clock.ts'
import { type DirectoryListing, listDirectory } from './snapshot/listing.ts'
import { describeMemory, type Memory } from './snapshot/memory-info.ts'
import {
  type Compaction,
  readStatus,
  type StoreStatus,
  type VerifyReport,
  verifyStore,
} from './store-report.ts'
import type { StoreSyncOptions } from './sync/options.ts'
import type { SyncReport } from './sync/report.ts'
import type { VerifyOptions } from './verify/verify.ts'

export type { Applied } from './changes/apply.ts'
export type { MemoryInfo } from './snapshot/memory-info.ts'
export type { Compaction, StoreStatus, VerifyReport } from './store-report.ts'

/**
 * An open store. Every method may reject with a StoreError; `store_closed` after `close`. Paths are
 * store paths such as `/notes.md`. A write that resolves is durable.
 */
export class MemoryStore {
  readonly #session: StoreSession

  /** @internal Use `createStore` or `openStore`. */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** `memstore_…` */
  get id(): string {
    return formatId('store', this.#session.storeId)
  }

  /** The memory at a path, or undefined if no file is there. */
  read(path: string): Promise<Memory | undefined> {
    return this.#session.reading((snapshot) => {
      const memory = snapshot.paths.findMemory(checkPath(path))
      if (memory === undefined) return undefined
      this.#session.reads.note(memory.memoryId)
      return { ...describeMemory(memory), content: readMemory(this.#session.contents, memory) }
    })
  }

  /**
   * The file or directory at `path` and what lies up to `depth` levels below it, or undefined if
   * nothing is there. The root always exists.
   */
  list(path: string, options: { depth?: number } = {}): Promise<DirectoryListing | undefined> {
    const depth = options.depth ?? Number.POSITIVE_INFINITY
    return this.#session.reading((snapshot) => {
      return listDirectory(snapshot, path === '/' ? path : checkPath(path), depth)
    })
  }

  /**
   * Does all of `changes` in one commit, or none of them. Rejects with `not_found`,
   * `path_conflict`, `invalid_path`, `invalid_input`, `content_too_large`, `store_full`,
   * `change_too_large`, `permission_denied`, `store_archived` or a storage code.
   */
  async apply(changes: readonly Change[], author: Author): Promise<Applied> {
    return applyChanges(this.#session, changes, checkAuthor(author))
  }

  /** Versions that match all conditions, newest first, a page at a time. */
  async versions(filter: VersionFilter = {}, options: WorkOptions = {}): Promise<VersionPage> {
    checkObject(filter, 'The filter')
    const history = await this.#session.loadHistory(options)
    return readVersions(history, this.#session.contents, filter, options.signal)
  }

  /** One version with its content, and what a merge made it of. Rejects with `not_found`. */
  async version(versionId: string): Promise<VersionWithInputs> {
    const history = await this.#session.loadHistory()
    return readVersionWithInputs(history, this.#session.contents, versionId)
  }

  /** The store as it was at a point of its history. */
  async at(point: Point, options: WorkOptions = {}): Promise<PastView> {
    return openPast(this.#session, checkPoint(point), checkObject(options, 'The options'))
  }

  /** What differs between two points, or between one and now. */
  async difference(from: Point, to?: Point, options: DifferenceOptions = {}): Promise<Difference> {
    for (const point of to === undefined ? [from] : [from, to]) checkPoint(point)
    const compare = (history: History): Promise<Difference> =>
      compareMoments(history, this.#session.contents, { from, to }, options)
    return retryAfterRedaction(this.#session, compare, options)
  }

  /** Which version each line of a memory comes from. */
  async blame(pathOrMemoryId: string, options: BlameOptions = {}): Promise<readonly BlameLine[]> {
    checkBlame(pathOrMemoryId, options)
    const { blameLines } = await import('./history/blame.ts')
    const blame = (history: History): Promise<readonly BlameLine[]> =>
      blameLines(history, this.#session.contents, pathOrMemoryId, options)
    return retryAfterRedaction(this.#session, blame, options)
  }

  /** Puts one memory, also a deleted one, back into a state of its past: a change as any other. */
  restore(
    request: RestoreRequest,
    author: Author,
    options: ReversalOptions = {},
  ): Promise<Reversal> {
    const plan = (source: ReversalSource) => planRestore(source, checkRestore(request))
    return reverse(this.#session, plan, author, checkObject(options, 'The options'))
  }

  /** Puts all memories, or those below a path, back into a state of the past, in one commit. */
  rollback(
    request: RollbackRequest,
    author: Author,
    options: ReversalOptions = {},
  ): Promise<Reversal> {
    const plan = (source: ReversalSource) => planRollback(source, checkRollback(request))
    return reverse(this.#session, plan, author, checkObject(options, 'The options'))
  }

  /**
   * Takes back what an actor or a session wrote, in one commit, and keeps what others wrote since.
   * What cannot be told apart is left and listed.
   */
  undo(request: UndoRequest, author: Author, options: ReversalOptions = {}): Promise<Reversal> {
    const plan = async (source: ReversalSource) => {
      const { planUndo } = await import('./revert/undo.ts')
      return planUndo(source, checkObject(request, 'An undo'))
    }
    return reverse(this.#session, plan, author, checkObject(options, 'The options'))
  }

  /**
   * Verifies every commit from genesis on (FORMAT §8), reading git alone. Rejects with the code of
   * the first violation.
   */
  verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return verifyStore(this.#session, options)
  }

  /** Lines for git's `gpg.ssh.allowedSignersFile`, one per epoch. */
  allowedSigners(): string {
    const epochs = [...this.#session.epochs.values()]
    return epochs.map((epoch) => allowedSignersLine(epoch.group.publicKey)).join('')
  }

  /**
   * Set once a write through this handle found its clock over 24 hours behind the newest record, or
   * over a year ahead of it: the write was stamped with that clock, which should be looked at.
   */
  get clockLeap(): ClockLeap | undefined {
    return this.#session.clock.leap
  }

  status(): Promise<StoreStatus> {
    return readStatus(this.#session)
  }

  /** Changes name, description, metadata, limits or the archive mark. Owners only. */
  async updateSettings(change: Partial<Settings>, author: Author): Promise<Applied> {
    return updateSettings(this.#session, change, checkAuthor(author))
  }

  /** Every device that the store has or had, in the order in which they came. */
  devices(options: WorkOptions = {}): Promise<readonly Device[]> {
    const list = (history: History): Promise<readonly Device[]> =>
      this.#session.reading((snapshot) => listDevices(this.#session, snapshot, history))
    return retryAfterRedaction(this.#session, list, options)
  }

  /**
   * Makes a device of the machine whose card this is (`formatDeviceCard`). The card came over a
   * channel that may lie: give the `fingerprint`, `dev_…`, that the machine itself shows. Owners
   * only. Rejects with `invalid_input`, or `permission_denied` for one that was removed.
   */
  async addDevice(
    card: string,
    role: Role,
    author: Author,
    options: { readonly fingerprint?: string } = {},
  ): Promise<DeviceAdded> {
    const { fingerprint } = options
    return addDeviceByCard(this.#session, card, { role, fingerprint }, checkAuthor(author))
  }

  /** Gives a device, `dev_…`, another role. A new epoch begins. Owners only. */
  async changeRole(deviceId: string, role: Role, author: Author): Promise<KeysChanged> {
    return changeRole(this.#session, deviceId, role, checkAuthor(author))
  }

  /**
   * Takes the access of devices, `dev_…`, for good: a new epoch begins, and they open nothing that
   * is written from then on (FORMAT §7.3). Owners only.
   */
  async removeDevices(deviceIds: readonly string[], author: Author): Promise<KeysChanged> {
    return removeDevices(this.#session, deviceIds, checkAuthor(author))
  }

  /**
   * Sets (text) or removes (null) the passphrase: a new epoch begins, and the old passphrase opens
   * nothing written from then on (FORMAT §7.3). Owners only.
   */
  async changePassphrase(passphrase: string | null, author: Author): Promise<KeysChanged> {
    return changePassphrase(this.#session, passphrase, checkAuthor(author))
  }

  /**
   * Makes a recovery key, which is returned here and nowhere else. It replaces all that there were,
   * in a new epoch, unless `keepOld` is given. Owners only.
   */
  async newRecoveryKey(
    author: Author,
    options: { readonly keepOld?: boolean } = {},
  ): Promise<RecoveryKeyMade> {
    const keepOld = options.keepOld ?? false
    return makeRecoveryKey(this.#session, { keepOld }, checkAuthor(author))
  }

  /** The remotes of the repository, as `git remote` shows them too. */
  remotes(): readonly Remote[] {
    return this.#session.exchange.remotes()
  }

  /** Names a remote: https, ssh or a path. Nothing is contacted. */
  async addRemote(name: string, url: string): Promise<void> {
    const { parseRemoteUrl } = await import('../transport/remote-url.ts')
    return this.#session.exchange.addRemote({ name, url: parseRemoteUrl(url).text })
  }

  /** Forgets a remote. Rejects with `not_found`. */
  removeRemote(name: string): Promise<void> {
    return this.#session.exchange.removeRemote(name)
  }

  /**
   * Takes over what a remote has, merges, and sends what it lacks, all that was acknowledged before
   * the call at least: of several at once, each waits for the one before. Rejects with a remote
   * code, and with the code of what is wrong with the remote's history; local work is safe anyway.
   */
  async sync(author: Author, options: StoreSyncOptions = {}): Promise<SyncReport> {
    const { syncStore } = await import('./sync/sync.ts')
    return syncStore(this.#session, checkAuthor(author), options)
  }

  /** What merges of clones have combined, newest first. */
  async conflicts(options: ConflictOptions = {}): Promise<readonly Conflict[]> {
    return findConflicts(await this.#session.loadHistory(), options)
  }

  /** What `redact` would erase, and what stands in its way. Changes nothing. */
  async planRedaction(
    request: RedactionRequest,
    options: WorkOptions = {},
  ): Promise<RedactionPlan> {
    const { planRedaction } = await import('./redaction/redaction.ts')
    return planRedaction(this.#session, request, options)
  }

  /**
   * Erases versions from the history and from every file of the store: content, path, hash, size
   * and reason go, who did what when stays (FORMAT §10). Cannot be undone. What is erased already
   * is left out. Rejects with the codes of `redact` in redaction.ts.
   */
  async redact(
    request: RedactionRequest,
    author: Author,
    options: WorkOptions = {},
  ): Promise<Redaction> {
    const { redact } = await import('./redaction/redaction.ts')
    return redact(this.#session, request, checkAuthor(author), options)
  }

  /** Searches all that is stored, and the caches, for what was redacted. */
  async proveAbsence(options: AbsenceOptions = {}): Promise<AbsenceReport> {
    const { proveAbsence } = await import('./redaction/absence.ts')
    return proveAbsence(this.#session, options)
  }

  /** Deletes memories by a rule of retention, as ordinary changes. Nothing runs by itself. */
  async expire(
    rule: ExpiryRule,
    author: Author,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<Expiry> {
    return expire(this.#session, this.#session.reads, rule, checkAuthor(author), options)
  }

  /** Makes one pack of everything, with the best deltas. Writers go on meanwhile. */
  async compact(options: CompactOptions = {}): Promise<Compaction> {
    const { objects } = this.#session
    const before = objects.status()
    await objects.compact(options)
    return { before, after: objects.status() }
  }

  /**
   * What is stored and no ref leads to: refused fetches, lost races, what other programs left. It
   * stays until `git gc --prune=now` runs on the closed store. Reads every commit and tree.
   */
  findUnreachable(options: CompactOptions = {}): Promise<ObjectAmount> {
    return this.#session.objects.findUnreachable(options)
  }

  /** Makes everything visible to stock git. `close` does it too. */
  checkpoint(): Promise<void> {
    return this.#session.checkpoint()
  }

  /** Waits for running writes and leaves an ordinary bare repository. Closing twice is harmless. */
  close(): Promise<void> {
    return this.#session.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
