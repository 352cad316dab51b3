// The turn of the only writer among all processes: commits transitions, small ones in the journal
// and large ones in packs that were staged on the disk before. Owns the writer lock. Must change
// the state in memory only after the disk has changed.

import { assert, StoreError } from '../../errors.ts'
import { journalTransitionBytesMax } from '../../limits.ts'
import { checkTransitions, type Transition } from '../object-store.ts'
import type { NewObject } from '../objects/object.ts'
import { listOf } from '../objects/oid-list.ts'
import { discardTemporaryPack, publishPacks, type TemporaryPack } from '../pack/pack-file.ts'
import type { PackObject } from '../pack/pack-writer.ts'
import { emptyAside } from '../purge/purge-intents.ts'
import { ensureSettingsUnlessBusy, makeOwnDirectory } from '../refs/repository.ts'
import type { StoreParts } from './store-parts.ts'

export class WriterTurn {
  readonly #parts: StoreParts
  readonly #staging: Staging
  #hasDirectory = false
  #hasSettings = false
  #writing = false
  #wrote = false

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#staging = new Staging(parts)
  }

  /** Whether this handle has written, or has found objects that a checkpoint must erase. */
  get wrote(): boolean {
    return this.#wrote
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    const { files, objects, lock, lockWaitMs, intents } = this.#parts
    if (!this.#hasDirectory) await makeOwnDirectory(files)
    this.#hasDirectory = true
    return lock.hold(lockWaitMs, async (isSame) => {
      try {
        const isKnown = objects.refresh(isSame)
        if (!isKnown || !intents.isEmpty) await this.#settleIntents()
        this.#writing = true
        return await work()
      } catch (error) {
        objects.doubt()
        throw error
      } finally {
        this.#writing = false
        if (!this.#staging.isEmpty) await this.#staging.drop()
      }
    })
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    const { files, objects } = this.#parts
    assert(this.#writing, 'commit was called outside of exclusive')
    checkTransitions(objects.head, transitions)
    if (!this.#hasSettings) await ensureSettingsUnlessBusy(files)
    this.#hasSettings = true
    if (transitions.length === 0) return
    const small: Transition[] = []
    for (const transition of transitions) small.push(await this.#staging.spill(transition))
    const erases = small.some(({ dead }) => dead !== undefined)
    if (erases || !this.#staging.isEmpty) await this.#commitStaged(small)
    else await objects.journal.append(small)
    this.#wrote = true
  }

  async stage(objects: readonly NewObject[]): Promise<void> {
    assert(this.#writing, 'stage was called outside of exclusive')
    await this.#staging.add(objects)
  }

  /** Cancels the purge intents of a writer that failed. Costs one listing without any. */
  async #settleIntents(): Promise<void> {
    const { objects, intents } = this.#parts
    const before = intents.cancelled
    // Objects that are committed as dead and not erased yet are a reason to checkpoint.
    if (await intents.settle(objects.head)) this.#wrote = true
    if (intents.cancelled > before) objects.packs.rescan()
  }

  /**
   * The intent is durable before the packs become visible and before the frame is written: a
   * process that finds the intent without the frame cancels it; one that finds both purges.
   */
  async #commitStaged(transitions: readonly Transition[]): Promise<void> {
    const { files, objects, intents } = this.#parts
    try {
      // A pack that a cancelled intent names must not be reused for this commit.
      await this.#settleIntents()
      const packs = await this.#staging.fresh()
      const [first] = transitions
      if (first?.dead?.size === 0) await emptyAside(files)
      else if (first?.dead !== undefined) {
        const names = packs.map(({ name }) => name)
        await intents.write(first, listOf(first.dead), names)
      }
      await this.#staging.publish(packs)
      await objects.journal.append(transitions)
      objects.packs.rescan()
    } catch (error) {
      await this.#undoCommit()
      throw error
    }
  }

  /** Undoes a commit that failed. If this fails too, the next writer does it. */
  async #undoCommit(): Promise<void> {
    try {
      await this.#staging.drop()
      this.#parts.objects.refresh()
      await this.#settleIntents()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }
}

/**
 * Objects that wait on the disk for the transition that adds them: temporary packs, which no one
 * reads and which a checkpoint removes if this process dies. One is written at a time, while the
 * caller continues.
 */
class Staging {
  readonly #parts: StoreParts
  #running: Promise<void> | undefined
  #packs: TemporaryPack[] = []
  #failure: { readonly error: unknown } | undefined

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  get isEmpty(): boolean {
    return this.#running === undefined && this.#packs.length === 0
  }

  /** Starts to write objects, after earlier ones are written. Throws the error of those. */
  async add(objects: readonly PackObject[]): Promise<void> {
    await this.#settled()
    if (objects.length > 0) this.#running = this.#write(objects)
  }

  /** Stages the objects of a large transition, so that the journal remains small. */
  async spill(transition: Transition): Promise<Transition> {
    const bytes = transition.objects.reduce((sum, object) => sum + object.body.length, 0)
    if (bytes <= journalTransitionBytesMax) return transition
    await this.add(transition.objects)
    return { ...transition, objects: [] }
  }

  /** The packs of all added objects, without those that the store has already. */
  async fresh(): Promise<readonly TemporaryPack[]> {
    await this.#settled()
    const { files, objects } = this.#parts
    const names = new Set(files.disk.list(objects.packDirectory))
    const isStored = ({ name }: TemporaryPack): boolean => {
      return names.has(`${name}.pack`) && names.has(`${name}.idx`)
    }
    // Equal names mean equal bytes, so the temporary files are not needed.
    for (const pack of this.#packs.filter(isStored)) this.#discard(pack)
    this.#packs = this.#packs.filter((pack) => !isStored(pack))
    return this.#packs
  }

  async publish(packs: readonly TemporaryPack[]): Promise<void> {
    await publishPacks(this.#parts.files.disk, this.#parts.objects.packDirectory, packs)
    this.#packs = []
  }

  /** Removes unpublished packs. If the disk fails, a checkpoint removes the rest. */
  async drop(): Promise<void> {
    await this.#running
    const packs = this.#packs
    this.#packs = []
    this.#failure = undefined
    try {
      for (const pack of packs) this.#discard(pack)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  async #write(objects: readonly PackObject[]): Promise<void> {
    try {
      this.#packs.push(await this.#parts.packer.stage(objects))
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#running = undefined
    }
  }

  async #settled(): Promise<void> {
    await this.#running
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #discard({ token }: TemporaryPack): void {
    discardTemporaryPack(this.#parts.files.disk, this.#parts.objects.packDirectory, token)
  }
}
