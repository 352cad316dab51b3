// Builds a repository in a sibling of its target directory and renames it once it is complete, so
// that a failure leaves nothing behind. The next attempt for the same directory removes what a dead
// process has left. Must not touch what a live process holds.

import { toHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import { type Disk, makeDurableDirectory } from '../../disk/disk.ts'
import { isHeldByLive, isOwnerFile, LockIdentity } from '../../disk/process-lock.ts'
import { StoreError } from '../../errors.ts'
import { resolve } from '../../platform/paths.ts'

/** Follows the directory's name in the name of an attempt's repository; `STATE` follows that. */
const MARK = '.join-'
const STATE = '.state'

export interface Scratch {
  /** The path of the repository to create, which does not exist yet. */
  readonly repository: string
  /** A directory for the state of this attempt alone. */
  readonly state: string
}

export class StagedClone {
  readonly #disk: Disk
  readonly #random: Random
  readonly #directory: string

  /** Throws `store_exists` if the directory is not absent or empty. */
  constructor(disk: Disk, random: Random, directory: string) {
    this.#disk = disk
    this.#random = random
    this.#directory = resolve(directory)
    this.#checkIsEmpty()
  }

  /**
   * Renames the repository that `work` has made and closed to the target directory. Throws
   * `store_exists` if another process was faster.
   */
  async make<T>(work: (scratch: Scratch) => Promise<T>): Promise<T> {
    await this.#sweepDead()
    const [disk, directory] = [this.#disk, this.#directory]
    const repository = `${directory}${MARK}${toHex(this.#random(8))}`
    const state = `${repository}${STATE}`
    const identity = new LockIdentity(disk, state, this.#random)
    try {
      await makeDurableDirectory(disk, parentOf(directory))
      disk.makeDirectory(state)
      // A concurrent join must see that this attempt is alive.
      await identity.write()
      const result = await work({ repository, state })
      disk.removeTree(state)
      this.#place(repository)
      await disk.syncDirectory(parentOf(directory))
      return result
    } finally {
      disk.removeTree(repository)
      await identity.remove()
      disk.removeTree(state)
    }
  }

  #place(repository: string): void {
    try {
      this.#disk.rename(repository, this.#directory)
    } catch (error) {
      this.#checkIsEmpty()
      throw error
    }
  }

  #checkIsEmpty(): void {
    if (this.#disk.list(this.#directory).length === 0) return
    throw new StoreError('store_exists', 'The directory for the store is not empty')
  }

  /** Removes the leftovers of attempts for this directory whose processes are dead. */
  async #sweepDead(): Promise<void> {
    const [disk, directory] = [this.#disk, this.#directory]
    const parent = parentOf(directory)
    const start = `${directory.slice(directory.lastIndexOf('/') + 1)}${MARK}`
    for (const name of disk.list(parent).filter((one) => one.startsWith(start))) {
      const token = /^([0-9a-f]{16})(?:\.state)?$/.exec(name.slice(start.length))?.[1]
      if (token === undefined) continue
      const state = `${parent}/${start}${token}${STATE}`
      if (await isAnyHeld(disk, state)) continue
      disk.removeTree(`${parent}/${name}`)
    }
  }
}

async function isAnyHeld(disk: Disk, state: string): Promise<boolean> {
  for (const file of disk.list(state).filter(isOwnerFile)) {
    if (await isHeldByLive(disk, `${state}/${file}`)) return true
  }
  return false
}

function parentOf(directory: string): string {
  return directory.slice(0, directory.lastIndexOf('/')) || '/'
}
