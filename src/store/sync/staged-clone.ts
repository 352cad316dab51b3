// A repository that is made beside the directory that is wanted, and takes its place once it is
// whole: what goes wrong leaves nothing behind. What a process that died has left there, the next
// attempt for the same directory removes.

import { resolve } from 'node:path'
import { toHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { isHeldByLive, isOwnerFile, LockIdentity } from '../../disk/process-lock.ts'
import { StoreError } from '../../errors.ts'

/** After the directory's name: the repository of an attempt; after that, what is local to it. */
const MARK = '.join-'
const STATE = '.state'

export interface Scratch {
  /** Where the repository is to be made; there is nothing yet. */
  readonly repository: string
  /** For what belongs to this attempt alone. */
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
    if (disk.list(this.#directory).length > 0) {
      throw new StoreError('store_exists', 'The directory for the store is not empty')
    }
  }

  /** Moves the repository that `work` has made and closed into its place. */
  async make<T>(work: (scratch: Scratch) => Promise<T>): Promise<T> {
    await this.#sweepDead()
    const [disk, directory] = [this.#disk, this.#directory]
    const repository = `${directory}${MARK}${toHex(this.#random(8))}`
    const state = `${repository}${STATE}`
    const identity = new LockIdentity(disk, state, this.#random)
    try {
      disk.makeDirectory(state)
      // Who joins at the same time must see that this is no leftover.
      await identity.write()
      const result = await work({ repository, state })
      disk.removeTree(state)
      disk.rename(repository, directory)
      await disk.syncDirectory(parentOf(directory))
      return result
    } finally {
      disk.removeTree(repository)
      await identity.remove()
      disk.removeTree(state)
    }
  }

  /** Removes what attempts for this directory have left whose processes are dead. */
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
