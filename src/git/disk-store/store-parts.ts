// The parts of a store on a disk that depend on its options alone: locks, journal, branch, packs
// and the packer. Must not read or write a file.

import { resolve } from 'node:path'
import type { CacheBudget } from '../../cache-budget.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import { type Disk, systemDisk } from '../../disk/disk.ts'
import { LockIdentity, type ProcessLock } from '../../disk/process-lock.ts'
import { Journal } from '../journal/journal.ts'
import { isPacking } from '../maintenance/pack-threads.ts'
import { workerPacker } from '../maintenance/pack-worker.ts'
import { PackSet } from '../pack/pack-set.ts'
import type { Packer } from '../pack/packer.ts'
import { Branch } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import { ownDirectoryName } from '../refs/repository.ts'
import { checkpointLock, writerLock } from '../refs/store-locks.ts'

/** How long to wait for another git program that holds the lock file of a ref. */
const gitLockWaitMs = 1000

export interface DiskObjectStoreOptions {
  readonly directory: string
  readonly disk?: Disk
  readonly random?: Random
  /** How long to wait for another writer before `locked`. */
  readonly lockWaitMs?: number
  /** Idle time after a write before the journal is packed; Infinity disables this. */
  readonly idleMs?: number
  readonly packer?: Packer
  readonly cacheBudget?: CacheBudget
  /**
   * 32 bytes that only this device knows: what it notes for itself in the directory, such as what a
   * redaction erases, is authenticated with them. Without them nothing is erased.
   */
  readonly secret?: Uint8Array
}

export interface StoreParts {
  readonly disk: Disk
  readonly random: Random
  /** `objects`. */
  readonly objectDirectory: string
  /** `objects/pack`. */
  readonly packDirectory: string
  readonly files: GitFileLockContext
  readonly writerLock: ProcessLock
  readonly checkpointLock: ProcessLock
  readonly journal: Journal
  readonly branch: Branch
  readonly packs: PackSet
  readonly packer: Packer
}

export function openStoreParts(options: DiskObjectStoreOptions): StoreParts {
  const { disk = systemDisk, random = systemRandom } = options
  const directory = resolve(options.directory)
  const ownDirectory = `${directory}/${ownDirectoryName}`
  const objectDirectory = `${directory}/objects`
  const packDirectory = `${objectDirectory}/pack`
  const identity = new LockIdentity(disk, ownDirectory, random)
  const files = { disk, directory, ownDirectory, identity, random, waitMs: gitLockWaitMs }
  const writer = writerLock(files)
  const isQuiet = (): boolean => !writer.isHeldElsewhere()
  return {
    disk,
    random,
    objectDirectory,
    packDirectory,
    files,
    writerLock: writer,
    checkpointLock: checkpointLock(files),
    journal: new Journal({ disk, directory: ownDirectory, random, isQuiet, isBusy: isPacking }),
    branch: new Branch(disk, directory),
    packs: new PackSet(disk, packDirectory, { cacheBudget: options.cacheBudget }),
    packer: options.packer ?? workerPacker(packDirectory),
  }
}
