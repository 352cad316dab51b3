// Objects that wait on the disk for the transition that adds them: temporary packs, which no one
// reads and which a checkpoint removes if this process dies. One is written at a time, while the
// caller continues. Must be used only under the writer lock.

import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { journalTransitionBytesMax } from '../../limits.ts'
import type { Transition } from '../object-store.ts'
import { discardTemporaryPack, publishPacks, type TemporaryPack } from '../pack/pack-file.ts'
import type { PackObject } from '../pack/pack-writer.ts'
import type { Packer } from '../pack/packer.ts'

export class Staging {
  readonly #disk: Disk
  /** `objects/pack`. */
  readonly #directory: string
  readonly #packer: Packer
  #running: Promise<void> | undefined
  #packs: TemporaryPack[] = []
  #failure: { readonly error: unknown } | undefined

  constructor(disk: Disk, directory: string, packer: Packer) {
    this.#disk = disk
    this.#directory = directory
    this.#packer = packer
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
    const files = new Set(this.#disk.list(this.#directory))
    const isStored = ({ name }: TemporaryPack): boolean => {
      return files.has(`${name}.pack`) && files.has(`${name}.idx`)
    }
    // Equal names mean equal bytes, so the temporary files are not needed.
    for (const pack of this.#packs.filter(isStored)) this.#discard(pack)
    this.#packs = this.#packs.filter((pack) => !isStored(pack))
    return this.#packs
  }

  /** Makes the packs visible and forgets them. */
  async publish(packs: readonly TemporaryPack[]): Promise<void> {
    await publishPacks(this.#disk, this.#directory, packs)
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
      this.#packs.push(await this.#packer.stage(objects))
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
    discardTemporaryPack(this.#disk, this.#directory, token)
  }
}
