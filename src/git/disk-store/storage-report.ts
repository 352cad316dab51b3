// Reports on the storage of a store: sizes, and what could be freed. Must not change anything.

import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { filesBelow } from '../../disk/file-sweep.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import type { Journal } from '../journal/journal.ts'
import type { BackgroundCheckpoint } from '../maintenance/background-checkpoint.ts'
import { measureEntries, measureLoose, measureRepeated, sumOf } from '../maintenance/reclaimable.ts'
import type { Reclaimable, StorageStatus } from '../object-store.ts'
import { countLooseObjects } from '../objects/loose-object.ts'
import type { Oid } from '../objects/object.ts'
import type { PackSet } from '../pack/pack-set.ts'
import { asideName } from '../purge/emptied-names.ts'
import type { PurgeIntents } from '../purge/purge-intents.ts'

interface StorageReportParts {
  readonly disk: Disk
  /** `objects`. */
  readonly directory: string
  readonly ownDirectory: string
  readonly journal: Journal
  readonly packs: PackSet
  readonly intents: PurgeIntents
  readonly lock: ProcessLock
  readonly background: BackgroundCheckpoint
}

export class StorageReport {
  readonly #parts: StorageReportParts

  constructor(parts: StorageReportParts) {
    this.#parts = parts
  }

  status(head: Oid | undefined): StorageStatus {
    const { disk, directory, ownDirectory, journal, packs, intents, lock, background } = this.#parts
    return {
      journalBytes: journal.totalBytes,
      journalFrames: journal.liveFrames.length,
      packs: packs.packs(),
      looseObjects: countLooseObjects(disk, directory),
      lockOwner: lock.holder(),
      checkpointError: background.error,
      purgePending: intents.pending(head),
      foreignPurges: intents.foreign,
      putAside: filesBelow(disk, `${ownDirectory}/${asideName}`).length,
    }
  }

  /** An erased object counts with all its copies, and never as a repeated one. */
  reclaimable(head: Oid | undefined): Reclaimable {
    const { disk, directory, packs, intents } = this.#parts
    const dead = intents.pendingObjects(head)
    const isDead = (oid: Uint8Array): boolean => dead.some((list) => list.has(oid))
    const isPacked = (oid: Oid): boolean => packs.has(oid)
    const holding = dead.length === 0 ? [] : packs.open(true)
    const erased = holding.map((pack) => {
      return measureEntries(pack, (position) => isDead(pack.index.oidAt(position)))
    })
    return {
      erased: sumOf([...erased, measureLoose(disk, directory, (oid) => isDead(fromHex(oid)))]),
      repeated: sumOf([
        measureRepeated(packs.open(false), (oid) => !isDead(oid)),
        measureLoose(disk, directory, (oid) => isPacked(oid) && !isDead(fromHex(oid))),
      ]),
    }
  }
}
