// When and how the journal is moved into a pack that stock git sees, and when packs are merged,
// repacked or measured: immediately when the journal is long or packs are many, else when the store
// is idle, or when the caller asks. Keeps the error of a failed attempt in the background, which
// loses nothing. Its timer must never keep the process alive. During a checkpoint, writers continue
// in the other journal file, and a crash at any point leaves the same head: until the branch moves,
// the journal reaches it.

import { utf8 } from '../../bytes.ts'
import { makeDurableDirectory } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import {
  journalBytesMax,
  journalPackBytes,
  journalPackFrames,
  journalWaitBytes,
  packsMergeAfter,
  purgeWaitMs,
} from '../../limits.ts'
import type { Frame } from '../journal/journal-frame.ts'
import { planMerge } from '../maintenance/pack-merge.ts'
import type { CompactOptions, ObjectAmount } from '../object-store.ts'
import { findLinks, type Oid } from '../objects/object.ts'
import { sweepIncoming } from '../pack/incoming-pack.ts'
import { temporaryPackPattern } from '../pack/pack-file.ts'
import { removeLoneIndexes } from '../pack/pack-removal.ts'
import type { ReachableFrom } from '../pack/packer.ts'
import { Purge } from '../purge/purge.ts'
import { branchName } from '../refs/branch.ts'
import { checkpointLock, replaceUnderLock, sweepDead } from '../refs/git-file-lock.ts'
import { listRefs } from '../refs/ref-list.ts'
import { readShallow, shallowName } from '../refs/shallow.ts'
import { trackedNames, trackingRefName } from '../refs/tracking-ref.ts'
import type { StoreParts } from './store-parts.ts'
import type { WriterTurn } from './writer-turn.ts'

const idleMsDefault = 1000

export class Maintenance {
  readonly #parts: StoreParts
  readonly #idleMs: number
  readonly #checkpointer: Checkpointer
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #asked: Promise<void> = Promise.resolve()
  #error: StoreError | undefined
  /** Live frames after the last attempt: the next one is due only after more have been added. */
  #framesAfterLast = 0
  /** Packs after the last attempt: without it, a busy store with many packs would always be due. */
  #packsAfterLast = 0

  /** `idleMs` is the time after a write; Infinity disables checkpoints of an idle store. */
  constructor(parts: StoreParts, writer: WriterTurn, idleMs: number = idleMsDefault) {
    this.#parts = parts
    this.#idleMs = idleMs
    this.#checkpointer = new Checkpointer(parts, writer)
  }

  get error(): StoreError | undefined {
    return this.#error
  }

  /** A writer waits while much is being packed. */
  async beforeWrite(): Promise<void> {
    if (this.#parts.objects.journal.bytes > journalWaitBytes) await this.#running
  }

  /** Throws the error of the last attempt if that has let the journal grow too long. */
  checkRoom(): void {
    if (this.#parts.objects.journal.bytes <= journalBytesMax) return
    if (this.#error !== undefined) throw this.#error
  }

  /** Called after a write: starts a checkpoint now or later, if there is something to pack. */
  schedule(): void {
    clearTimeout(this.#timer)
    if (this.#closing.signal.aborted || this.#running !== undefined) return
    const { journal, packs } = this.#parts.objects
    const frames = journal.liveFrames.length
    const isLong = frames - this.#framesAfterLast > journalPackFrames
    const isMany = packs.size - this.#packsAfterLast > packsMergeAfter
    const isLarge = this.#framesAfterLast === 0 && journal.bytes > journalPackBytes
    if (isLong || isMany || isLarge) this.#start()
    else if (frames > 0 && this.#idleMs !== Infinity) {
      this.#timer = setTimeout(() => this.#start(), this.#idleMs).unref()
    }
  }

  async checkpoint(): Promise<void> {
    const { objects, intents, lockWaitMs } = this.#parts
    await this.#running
    const erases = intents.pending(objects.head) > 0
    const waitMs = erases ? Math.max(purgeWaitMs, lockWaitMs) : lockWaitMs
    if (!(await this.#checkpointer.run(waitMs, false))) throw packedElsewhereError()
    this.#succeeded()
  }

  async compact(options: CompactOptions): Promise<void> {
    await this.#take(options, (how) => this.#checkpointer.compact(this.#parts.lockWaitMs, how))
  }

  findUnreachable(options: CompactOptions): Promise<ObjectAmount> {
    return this.#take(options, (how) => {
      return this.#checkpointer.measureUnreachable(this.#parts.lockWaitMs, how)
    })
  }

  /** Starts nothing further, cancels what runs and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#running
    await this.#asked
  }

  /** The last checkpoint, after `stop`. */
  async finish(): Promise<void> {
    // A process that is packing all this time has the store open, and packs again when it closes.
    await this.#checkpointer.run(this.#parts.lockWaitMs, true)
  }

  /** Releases what a failed release has left. */
  abandon(): void {
    this.#checkpointer.abandon()
  }

  #take<T>(
    { signal, progress }: CompactOptions,
    run: (options: CompactOptions) => Promise<T | undefined>,
  ): Promise<T> {
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])]
    const work = this.#runAsked(() => run({ signal: AbortSignal.any(signals), progress }))
    const earlier = this.#asked
    this.#asked = work.then(
      () => earlier,
      () => earlier,
    )
    return work
  }

  /** `run` resolves to undefined if another process packs for too long; this throws `locked`. */
  async #runAsked<T>(run: () => Promise<T | undefined>): Promise<T> {
    await this.#running
    const result = await run()
    if (result === undefined) throw packedElsewhereError()
    this.#succeeded()
    // Writers continued in the meantime.
    this.schedule()
    return result
  }

  #succeeded(): void {
    clearTimeout(this.#timer)
    this.#error = undefined
    this.#framesAfterLast = 0
  }

  #start(): void {
    this.#running ??= this.#runInBackground().finally(() => {
      this.#running = undefined
    })
  }

  /** Nothing is done if another process packs. */
  async #runInBackground(): Promise<void> {
    try {
      await this.#checkpointer.run(0, false)
      this.#error = undefined
    } catch (error) {
      this.#error =
        error instanceof StoreError
          ? error
          : new StoreError('storage_failed', 'The journal could not be packed', { cause: error })
    }
    const { journal, packs } = this.#parts.objects
    this.#framesAfterLast = this.#error === undefined ? 0 : journal.liveFrames.length
    this.#packsAfterLast = packs.size
  }
}

function packedElsewhereError(): StoreError {
  return new StoreError('locked', 'Another process is packing the store: try again later')
}

/** Fewer packs than this wait for a later merge when a store is closed. */
const mergedAtCloseMin = 4

class Checkpointer {
  readonly #parts: StoreParts
  readonly #writer: WriterTurn
  readonly #lock: ProcessLock
  readonly #purge: Purge

  constructor(parts: StoreParts, writer: WriterTurn) {
    this.#parts = parts
    this.#writer = writer
    this.#lock = checkpointLock(parts.files)
    this.#purge = new Purge({ ...parts, writer })
  }

  /**
   * Packs every transition that was committed before the call; `final` also frees the journal's
   * space. Returns false, with nothing done, if another process packs for longer than `waitMs`;
   * with `final`, also if another git program holds the branch's lock for so long.
   */
  async run(waitMs: number, final: boolean): Promise<boolean> {
    try {
      return await this.#hold(waitMs, async () => {
        await this.#packAndPurge(final)
        await this.#mergePacks(final)
      })
    } catch (error) {
      // The store can close all the same: everything is durable in the journal.
      if (!final || !hasCode(error, 'locked')) throw error
      return false
    }
  }

  /** The same, then repacks all packs and loose objects; undefined instead of false. */
  async compact(waitMs: number, options: CompactOptions): Promise<true | undefined> {
    const done = await this.#hold(waitMs, async () => {
      const { packer, objects } = this.#parts
      await packer.compact(await this.#packedNames(), options)
      objects.reload()
    })
    return done || undefined
  }

  /**
   * Measures unreachable objects, after packing; undefined if another process packs for too long.
   */
  async measureUnreachable(
    waitMs: number,
    options: CompactOptions,
  ): Promise<ObjectAmount | undefined> {
    let found: ObjectAmount | undefined
    await this.#hold(waitMs, async () => {
      const names = await this.#packedNames()
      found = await this.#parts.packer.measureUnreachable(names, this.#reachable(), options)
    })
    return found
  }

  abandon(): void {
    this.#lock.abandon()
  }

  /** All packs, the largest first, once the journal is in one of them. */
  async #packedNames(): Promise<readonly string[]> {
    await this.#packAndPurge(false)
    const { objects } = this.#parts
    objects.reload()
    const largestFirst = objects.packs.packs().toSorted((a, b) => b.objects - a.objects)
    return largestFirst.map(({ name }) => name)
  }

  /** The refs and the journal's commits, whose parents may be in packs. */
  #reachable(): ReachableFrom {
    const { files, objects } = this.#parts
    const refs = listRefs(files.disk, files.directory).flatMap(({ oid }) => oid ?? [])
    const heads = new Set(refs)
    for (const frame of objects.journal.liveFrames) {
      heads.add(frame.next)
      for (const { type, body } of frame.objects) {
        const parents = type === 'commit' ? findLinks(body)?.parents : undefined
        for (const parent of parents ?? []) heads.add(parent)
      }
    }
    return { heads: [...heads], boundary: readShallow(files.disk, files.directory) }
  }

  async #hold(waitMs: number, work: () => Promise<void>): Promise<boolean> {
    let entered = false
    try {
      await this.#lock.hold(waitMs, async () => {
        entered = true
        await work()
      })
    } catch (error) {
      if (entered || !hasCode(error, 'locked')) throw error
    }
    return entered
  }

  async #packAndPurge(final: boolean): Promise<void> {
    await this.#packJournal()
    try {
      await this.#purge.run()
    } finally {
      await this.#tidy(final)
    }
  }

  async #packJournal(): Promise<void> {
    const { objects } = this.#parts
    for (;;) {
      const sealing = await this.#writer.exclusive(() => objects.journal.seal())
      if (sealing === undefined) return
      await this.#packSealed(sealing.frames)
      // Otherwise this was left by an interrupted checkpoint, and the newer file is next.
      if (sealing.switched) return
    }
  }

  async #packSealed(frames: readonly Frame[]): Promise<void> {
    const { files, objects, packer } = this.#parts
    const [first, last] = [frames[0], frames.at(-1)]
    if (first !== undefined && last !== undefined) {
      const added = frames.flatMap((frame) => frame.objects)
      if (added.length > 0) await packer.write(added)
      await this.#moveBranch(first.expected, last.next)
    } else {
      // The process that moved the branch may have died before its name was durable.
      await files.disk.syncDirectory(`${files.directory}/refs/heads`)
    }
    await this.#writer.exclusive(async () => {
      objects.journal.clearSealed()
      objects.reload()
    })
  }

  async #moveBranch(expected: Oid | undefined, next: Oid): Promise<void> {
    if (expected === next) return
    const { files, objects } = this.#parts
    await makeDurableDirectory(files.disk, `${files.directory}/refs/heads`)
    await replaceUnderLock(files, branchName, utf8(`${next}\n`), () => {
      if (objects.branch.read() === expected) return
      throw new StoreError(
        'ref_conflict',
        'Another program moved refs/heads/main while the store was open: nothing was changed',
      )
    })
  }

  async #mergePacks(final: boolean): Promise<void> {
    const { packer, objects } = this.#parts
    const names = planMerge(objects.packs.packs())
    // If each change has a process of its own, about one in three waits for a merge.
    if (names.length < (final ? mergedAtCloseMin : 2)) return
    try {
      await packer.merge(names)
    } catch (error) {
      // Merging is optional: the store can close without it, and the next checkpoint tries again.
      if (final && error instanceof StoreError) return
      throw error
    }
    objects.reload()
  }

  async #tidy(final: boolean): Promise<void> {
    const { files, objects } = this.#parts
    await this.#writer.exclusive(async () => {
      const tracking = trackedNames(files.disk, files.directory).map(trackingRefName)
      await sweepDead(files, [branchName, 'config', 'packed-refs', shallowName, ...tracking])
      await this.#removeTemporaryPacks()
      if (final) await objects.journal.truncate()
      else objects.journal.shrink()
    })
  }

  /** Every temporary pack is written under a lock held here; git's have other names. */
  async #removeTemporaryPacks(): Promise<void> {
    const { disk, ownDirectory } = this.#parts.files
    const { packDirectory } = this.#parts.objects
    for (const name of disk.list(packDirectory)) {
      if (temporaryPackPattern.test(name)) disk.remove(`${packDirectory}/${name}`)
    }
    await sweepIncoming(disk, ownDirectory)
    removeLoneIndexes(disk, packDirectory)
  }
}
