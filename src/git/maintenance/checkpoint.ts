// Moves the journal into a pack, so that stock git sees it. One journal file is sealed and packed
// while writers continue in the other. A crash at any point leaves the same head: until the branch
// moves, the journal reaches it; afterwards its frames are treated as packed. Must hold the
// checkpoint lock throughout and the writer lock only for moments.

import { utf8 } from '../../bytes.ts'
import { makeDurableDirectory } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Frame } from '../journal/journal-frame.ts'
import type { Journal } from '../journal/journal.ts'
import type { CompactOptions, ObjectAmount, PackStatus } from '../object-store.ts'
import { findLinks, type Oid } from '../objects/object.ts'
import { sweepIncoming } from '../pack/incoming-pack.ts'
import { temporaryPackPattern } from '../pack/pack-file.ts'
import { removeLoneIndexes } from '../pack/pack-removal.ts'
import type { Packer } from '../pack/packer.ts'
import { type Branch, branchName } from '../refs/branch.ts'
import { type GitFileLockContext, replaceUnderLock, sweepDead } from '../refs/git-file-lock.ts'
import { listRefs } from '../refs/ref-list.ts'
import { trackedNames, trackingRefName } from '../refs/tracking-ref.ts'
import { planMerge } from './pack-merge.ts'

/** Fewer packs than this wait for a later merge when a store is closed. */
const mergedAtCloseMin = 4

export interface CheckpointParts {
  readonly files: GitFileLockContext
  readonly journal: Journal
  readonly branch: Branch
  readonly packer: Packer
  readonly lock: ProcessLock
  /** The store's `exclusive`: the writer lock, and a refresh. */
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>
  /** Reloads the branch and the packs, and determines the live frames. */
  readonly reload: () => void
  readonly packs: () => readonly PackStatus[]
  /** Erases the objects that the packed history declares dead. */
  readonly purge: () => Promise<void>
}

export class Checkpointer {
  readonly #parts: CheckpointParts

  constructor(parts: CheckpointParts) {
    this.#parts = parts
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
      await this.#packAndPurge(false)
      const { packer, packs, reload } = this.#parts
      reload()
      const largestFirst = packs().toSorted((a, b) => b.objects - a.objects)
      const names = largestFirst.map(({ name }) => name)
      await packer.compact(names, options)
      reload()
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
      await this.#packAndPurge(false)
      const { packer, packs, reload } = this.#parts
      reload()
      const names = packs().map(({ name }) => name)
      found = await packer.measureUnreachable(names, this.#heads(), options)
    })
    return found
  }

  /** The refs and the journal's commits, whose parents may be in packs. */
  #heads(): readonly Oid[] {
    const { files, journal } = this.#parts
    const refs = listRefs(files.disk, files.directory).flatMap(({ oid }) => oid ?? [])
    const heads = new Set(refs)
    for (const { next, objects } of journal.liveFrames) {
      heads.add(next)
      for (const { type, body } of objects) {
        const parents = type === 'commit' ? findLinks(body)?.parents : undefined
        for (const parent of parents ?? []) heads.add(parent)
      }
    }
    return [...heads]
  }

  async #hold(waitMs: number, work: () => Promise<void>): Promise<boolean> {
    let entered = false
    try {
      await this.#parts.lock.hold(waitMs, async () => {
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
      await this.#parts.purge()
    } finally {
      await this.#tidy(final)
    }
  }

  async #packJournal(): Promise<void> {
    const { journal, exclusive } = this.#parts
    for (;;) {
      const sealing = await exclusive(() => journal.seal())
      if (sealing === undefined) return
      await this.#packSealed(sealing.frames)
      // Otherwise this was left by an interrupted checkpoint, and the newer file is next.
      if (sealing.switched) return
    }
  }

  async #packSealed(frames: readonly Frame[]): Promise<void> {
    const { files, journal, packer, exclusive, reload } = this.#parts
    const [first, last] = [frames[0], frames.at(-1)]
    if (first !== undefined && last !== undefined) {
      const objects = frames.flatMap((frame) => frame.objects)
      if (objects.length > 0) await packer.write(objects)
      await this.#moveBranch(first.expected, last.next)
    } else {
      // The process that moved the branch may have died before its name was durable.
      await files.disk.syncDirectory(`${files.directory}/refs/heads`)
    }
    await exclusive(async () => {
      journal.clearSealed()
      reload()
    })
  }

  async #moveBranch(expected: Oid | undefined, next: Oid): Promise<void> {
    if (expected === next) return
    const { files, branch } = this.#parts
    await makeDurableDirectory(files.disk, `${files.directory}/refs/heads`)
    await replaceUnderLock(files, branchName, utf8(`${next}\n`), () => {
      if (branch.read() === expected) return
      throw new StoreError(
        'ref_conflict',
        'Another program moved refs/heads/main while the store was open: nothing was changed',
      )
    })
  }

  async #mergePacks(final: boolean): Promise<void> {
    const { packer, packs, reload } = this.#parts
    const names = planMerge(packs())
    // Of a process for each change, only every third or so has to wait for a merge.
    if (names.length < (final ? mergedAtCloseMin : 2)) return
    try {
      await packer.merge(names)
    } catch (error) {
      // Merging is optional: the store can close without it, and the next checkpoint tries again.
      if (final && error instanceof StoreError) return
      throw error
    }
    reload()
  }

  async #tidy(final: boolean): Promise<void> {
    const { files, journal, exclusive } = this.#parts
    await exclusive(async () => {
      const tracking = trackedNames(files.disk, files.directory).map(trackingRefName)
      await sweepDead(files, [branchName, 'config', 'packed-refs', ...tracking])
      await this.#removeTemporaryPacks()
      if (final) await journal.truncate()
      else journal.shrink()
    })
  }

  /** Every temporary pack is written under a lock held here; git's have other names. */
  async #removeTemporaryPacks(): Promise<void> {
    const { disk, directory, ownDirectory } = this.#parts.files
    const packDirectory = `${directory}/objects/pack`
    for (const name of disk.list(packDirectory)) {
      if (temporaryPackPattern.test(name)) disk.remove(`${packDirectory}/${name}`)
    }
    await sweepIncoming(disk, ownDirectory)
    removeLoneIndexes(disk, packDirectory)
  }
}
