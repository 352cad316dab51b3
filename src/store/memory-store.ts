// The façade that a caller holds: reads from the snapshot of the newest verified head, writes
// through the queue of writer.ts, asks the history. Composes the other files of this folder and
// decides little itself. Made by `createStore` and `openStore` (open.ts).

import { hasCode, StoreError } from '../errors.ts'
import type { Role } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import type { Settings } from '../format/settings.ts'
import type { CompactOptions, StorageStatus } from '../git/object-store.ts'
import { allowedSignersLine } from '../format/sshsig.ts'
import { proveAbsence } from './absence.ts'
import type { AbsenceOptions, AbsenceReport } from './absence.ts'
import { changePassphrase, changeSettings } from './administration.ts'
import { checkAuthor } from './author.ts'
import { checkMayWrite, roleOf } from './authority.ts'
import { blameLines } from './blame.ts'
import type { BlameLine, BlameOptions } from './blame.ts'
import { planChanges } from './changes.ts'
import type { Change } from './changes.ts'
import { buildChange } from './commit.ts'
import type { Author, BuiltCommit } from './commit.ts'
import { readMemory, readVersionContent } from './contents.ts'
import { planRedaction, redact } from './redaction.ts'
import type { Redaction } from './redaction.ts'
import type { RedactionPlan, RedactionRequest } from './redaction-plan.ts'
import type { History } from './history.ts'
import { compareMoments } from './history-diff.ts'
import type { Difference, DifferenceOptions } from './history-diff.ts'
import { describeMemory } from './memory-info.ts'
import type { MemoryInfo } from './memory-info.ts'
import { openPast } from './past.ts'
import type { PastView } from './past.ts'
import type { Point } from './points.ts'
import { planRestore, planRollback } from './restoration.ts'
import type { RestoreRequest, Reversal, RollbackRequest } from './restoration.ts'
import { expire } from './retention.ts'
import type { Expiry, ExpiryRule } from './retention.ts'
import { reverse } from './reversal.ts'
import type { ReversalOptions } from './reversal.ts'
import { planUndo } from './undo.ts'
import type { UndoRequest } from './undo.ts'
import type { StoreSession } from './session.ts'
import { listDirectory } from './listing.ts'
import type { DirectoryListing } from './listing.ts'
import type { LiveMemory } from './snapshot.ts'
import { askHistory } from './steady-history.ts'
import { verifyHistory } from './verify.ts'
import type { VerifyOptions } from './verify.ts'
import { describeVersion, getVersionEntry, readVersions } from './versions.ts'
import type { Version, VersionFilter, VersionPage } from './versions.ts'

export type { MemoryInfo } from './memory-info.ts'

export interface Memory extends MemoryInfo {
  readonly content: string
}

/** What `apply` did. Without a commit, nothing had to change. */
export interface Applied {
  readonly commit: string | undefined
  readonly versionIds: readonly string[]
}

/** What is stored where, before and after. */
export interface Compaction {
  readonly before: StorageStatus
  readonly after: StorageStatus
}

export interface VerifyReport {
  readonly commits: number
  readonly versions: number
  readonly memories: number
  /** The newest commit, 40 hex digits. */
  readonly head: string
}

export interface StoreStatus {
  readonly storeId: string
  readonly deviceId: string
  /** Undefined for a device that was removed. */
  readonly role: Role | undefined
  readonly head: string
  readonly commits: number
  readonly memories: number
  readonly contentBytes: number
  readonly epochs: number
  readonly settings: Settings
  readonly storage: StorageStatus
}

/** Of a history that is redacted while it is verified. */
const VERIFY_ATTEMPTS = 3

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
    const checked = checkAuthor(author)
    if (!Array.isArray(changes)) throw new StoreError('invalid_input', 'Changes must be a list')
    return this.#session.writing(async () => {
      const { snapshot, random } = this.#session
      checkMayWrite(snapshot, this.#session.identity.deviceId, 'change')
      checkNotArchived(snapshot.settings.value, changes)
      const now = this.#session.nextTime()
      const { contents } = this.#session
      const readContent = (memory: LiveMemory) => readMemory(contents, memory)
      const rows = planChanges({ snapshot, random, now, readContent }, changes)
      if (rows.length === 0) return { built: undefined, result: nothingApplied }
      await this.#session.checkContents(rows)
      const context = await this.#session.commitContext(now)
      const built = buildChange(context, snapshot, rows, checked)
      const versionIds = rows.map((row) => formatId('version', row.versionId))
      return { built, result: { commit: built.head.commit, versionIds } }
    })
  }

  /** Versions that match all conditions, newest first, a page at a time. */
  async versions(filter: VersionFilter = {}, options: VerifyOptions = {}): Promise<VersionPage> {
    return readVersions(await this.#session.loadHistory(options), this.#session.contents, filter)
  }

  /**
   * One version with its content: undefined for a deletion and once redacted. Rejects with
   * `not_found`.
   */
  async version(versionId: string): Promise<Version & { readonly content: string | undefined }> {
    const history = await this.#session.loadHistory()
    const entry = getVersionEntry(history, versionId)
    const version = describeVersion(history, entry)
    return { ...version, content: readVersionContent(this.#session.contents, entry) }
  }

  /** The store as it was at a point of its history. */
  at(point: Point, options: VerifyOptions = {}): Promise<PastView> {
    return openPast(this.#session, point, options)
  }

  /** What differs between two points, or between one and now. */
  async difference(from: Point, to?: Point, options: DifferenceOptions = {}): Promise<Difference> {
    const compare = (history: History): Promise<Difference> =>
      compareMoments(history, this.#session.contents, { from, to }, options)
    return askHistory(this.#session, compare, options)
  }

  /** Which version each line of a memory comes from. */
  async blame(pathOrMemoryId: string, options: BlameOptions = {}): Promise<readonly BlameLine[]> {
    const blame = (history: History): Promise<readonly BlameLine[]> =>
      blameLines(history, this.#session.contents, pathOrMemoryId, options)
    return askHistory(this.#session, blame, options)
  }

  /** Puts one memory, also a deleted one, back into a state of its past: a change as any other. */
  restore(
    request: RestoreRequest,
    author: Author,
    options: ReversalOptions = {},
  ): Promise<Reversal> {
    return reverse(this.#session, (source) => planRestore(source, request), author, options)
  }

  /** Puts all memories, or those below a path, back into a state of the past, in one commit. */
  rollback(
    request: RollbackRequest,
    author: Author,
    options: ReversalOptions = {},
  ): Promise<Reversal> {
    return reverse(this.#session, (source) => planRollback(source, request), author, options)
  }

  /**
   * Takes back what an actor or a session wrote, in one commit, and keeps what others wrote since.
   * What cannot be told apart is left and listed.
   */
  undo(request: UndoRequest, author: Author, options: ReversalOptions = {}): Promise<Reversal> {
    return reverse(this.#session, (source) => planUndo(source, request), author, options)
  }

  /**
   * Verifies every commit from genesis on (FORMAT §8), reading git alone. Rejects with the code of
   * the first violation.
   */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const { commit } = await this.#session.reading((current) => current.head)
    for (let head = commit, attempt = 1; ; attempt += 1) {
      try {
        const { snapshot, versions } = await verifyHistory(this.#session, head, options)
        const { count } = snapshot
        return { commits: snapshot.head.height + 1, versions: versions.size, memories: count, head }
      } catch (error) {
        const now = await this.#session.reading((current) => current.head.commit)
        // Perhaps another process redacted meanwhile, and has erased the history of before.
        const moved = hasCode(error, 'object_missing') && now !== head
        if (!moved || attempt === VERIFY_ATTEMPTS) throw error
        head = now
      }
    }
  }

  /** Lines for git's `gpg.ssh.allowedSignersFile`, one per epoch. */
  allowedSigners(): string {
    const epochs = [...this.#session.epochs.values()]
    return epochs.map((epoch) => allowedSignersLine(epoch.group.publicKey)).join('')
  }

  status(): Promise<StoreStatus> {
    const { identity, objects, epochs } = this.#session
    return this.#session.reading((snapshot) => ({
      storeId: this.id,
      deviceId: formatId('device', identity.deviceId),
      role: roleOf(snapshot, identity.deviceId),
      head: snapshot.head.commit,
      commits: snapshot.head.height + 1,
      memories: snapshot.count,
      contentBytes: snapshot.paths.root.bytes,
      epochs: epochs.size,
      settings: snapshot.settings.value,
      storage: objects.status(),
    }))
  }

  /** Changes name, description, metadata, limits or the archive mark. Owners only. */
  async updateSettings(change: Partial<Settings>, author: Author): Promise<Applied> {
    const checked = checkAuthor(author)
    return this.#administrate(() => changeSettings(this.#session, change, checked))
  }

  /**
   * Sets (text) or removes (null) the passphrase: a new epoch begins, and the old passphrase opens
   * nothing written from then on (FORMAT §7.3). Owners only.
   */
  async changePassphrase(passphrase: string | null, author: Author): Promise<Applied> {
    const checked = checkAuthor(author)
    return this.#administrate(() => changePassphrase(this.#session, passphrase, checked))
  }

  /** What `redact` would erase, and what stands in its way. Changes nothing. */
  planRedaction(request: RedactionRequest, options: VerifyOptions = {}): Promise<RedactionPlan> {
    return planRedaction(this.#session, request, options)
  }

  /**
   * Erases versions from the history and from every file of the store: content, path, hash, size
   * and reason go, who did what when stays (FORMAT §10). Cannot be undone. What is erased already
   * is left out. Rejects with `version_current`, `permission_denied`, `invalid_input`, `not_found`.
   */
  async redact(
    request: RedactionRequest,
    author: Author,
    options: VerifyOptions = {},
  ): Promise<Redaction> {
    return redact(this.#session, request, checkAuthor(author), options)
  }

  /** Searches all that is stored, and the caches, for what was redacted. */
  proveAbsence(options: AbsenceOptions = {}): Promise<AbsenceReport> {
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

  #administrate(build: () => Promise<BuiltCommit | undefined>): Promise<Applied> {
    return this.#session.writing(async () => {
      const built = await build()
      if (built === undefined) return { built, result: nothingApplied }
      return { built, result: { commit: built.head.commit, versionIds: [] } }
    })
  }
}

const nothingApplied: Applied = { commit: undefined, versionIds: [] }

/** Memory Stores API §5.7: an archived store can be read and emptied, not written. */
function checkNotArchived(settings: Settings, changes: readonly Change[]): void {
  if (settings.archivedAt === undefined) return
  if (changes.every((change) => change.type === 'delete')) return
  throw new StoreError('store_archived', 'The store is archived: it can be read and emptied only')
}
