// The parts of a store on a disk that depend on its options alone. Must not read or write a file.

import { resolve } from 'node:path'
import type { CacheBudget } from '../../cache-budget.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { lockWaitMsDefault } from '../../limits.ts'
import { workerPacker } from '../maintenance/pack-worker.ts'
import type { Packer } from '../pack/packer.ts'
import { PurgeIntents } from '../purge/purge-intents.ts'
import { type GitFileLockContext, writerLock } from '../refs/git-file-lock.ts'
import { repositoryFiles, type RepositoryOptions } from '../refs/repository.ts'
import { StoredObjects } from './stored-objects.ts'

export interface DiskObjectStoreOptions extends RepositoryOptions {
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
  readonly files: GitFileLockContext
  readonly lock: ProcessLock
  readonly lockWaitMs: number
  readonly objects: StoredObjects
  readonly intents: PurgeIntents
  readonly packer: Packer
}

export function openStoreParts(options: DiskObjectStoreOptions): StoreParts {
  const { disk = systemDisk, random = systemRandom, cacheBudget, secret } = options
  const files = repositoryFiles(disk, resolve(options.directory), random)
  const lock = writerLock(files)
  const objects = new StoredObjects(files, lock, cacheBudget)
  const { packDirectory } = objects
  const intents = new PurgeIntents({
    disk,
    ownDirectory: files.ownDirectory,
    packDirectory,
    random,
    secret,
    read: (oid) => objects.find(oid),
    fenceJournal: () => objects.journal.scrub(),
  })
  return {
    files,
    lock,
    lockWaitMs: options.lockWaitMs ?? lockWaitMsDefault,
    objects,
    intents,
    packer: options.packer ?? workerPacker(packDirectory),
  }
}
