// Moves the journal into a pack, so that stock git sees it. One journal file is sealed and packed
// while writers continue in the other. A crash at any point leaves the same head: until the branch
// moves, the journal reaches it; afterwards its frames are treated as packed. Must hold the
// checkpoint lock throughout and the writer lock only for moments.

import { utf8 } from '../../bytes.ts'
import { makeDurableDirectory } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Frame } from '../journal/journal-frame.ts'
import { planMerge } from '../maintenance/pack-merge.ts'
import type { CompactOptions, ObjectAmount } from '../object-store.ts'
import { findLinks, type Oid } from '../objects/object.ts'
import { sweepIncoming } from '../pack/incoming-pack.ts'
import { temporaryPackPattern } from '../pack/pack-file.ts'
import { removeLoneIndexes } from '../pack/pack-removal.ts'
import { Purge } from '../purge/purge.ts'
import { branchName } from '../refs/branch.ts'
import { checkpointLock, replaceUnderLock, sweepDead } from '../refs/git-file-lock.ts'
import { listRefs } from '../refs/ref-list.ts'
import { trackedNames, trackingRefName } from '../refs/tracking-ref.ts'
import type { StoreParts } from './store-parts.ts'
import type { WriterTurn } from './writer-turn.ts'

/** Fewer packs than this wait for a later merge when a store is closed. */
const mergedAtCloseMin = 4

export class Checkpointer {
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
      found = await this.#parts.packer.measureUnreachable(names, this.#heads(), options)
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
  #heads(): readonly Oid[] {
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
    return [...heads]
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
    // Of a process for each change, only every third or so has to wait for a merge.
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
      await sweepDead(files, [branchName, 'config', 'packed-refs', ...tracking])
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
