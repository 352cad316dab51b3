// Measures the storage of a store, and what could be freed, by its indexes: unreachable.ts measures
// unreachable objects, which requires reading them. Counts entries as stored; must not change
// anything.

import { fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { filesBelow } from '../../disk/file-sweep.ts'
import {
  noObjects,
  type ObjectAmount,
  type Reclaimable,
  type StorageStatus,
} from '../object-store.ts'
import { countLooseObjects, looseObjectIds, looseObjectPath } from '../objects/loose-object.ts'
import type { Oid } from '../objects/object.ts'
import { PackLayout } from '../pack/pack-layout.ts'
import type { Pack } from '../pack/pack.ts'
import { asideName } from '../purge/purge-intents.ts'
import type { StoreParts } from './store-parts.ts'

export function storageStatus({
  files,
  objects,
  intents,
  lock,
}: StoreParts): Omit<StorageStatus, 'checkpointError'> {
  const { disk, directory, ownDirectory } = files
  return {
    journalBytes: objects.journal.totalBytes,
    journalFrames: objects.journal.liveFrames.length,
    packs: objects.packs.packs(),
    looseObjects: countLooseObjects(disk, `${directory}/objects`),
    lockOwner: lock.holder(),
    purgePending: intents.pending(objects.head),
    foreignPurges: intents.foreign,
    putAside: filesBelow(disk, `${ownDirectory}/${asideName}`).length,
  }
}

/** An erased object counts with all its copies, and never as a repeated one. */
export function measureReclaimable({ files, objects, intents }: StoreParts): Reclaimable {
  const { packs, head } = objects
  const dead = intents.pendingObjects(head)
  const isDead = (oid: Uint8Array): boolean => dead.some((list) => list.has(oid))
  const holding = dead.length === 0 ? [] : packs.open(true)
  const erased = holding.map((pack) => {
    return measureEntries(pack, (position) => isDead(pack.index.oidAt(position)))
  })
  const loose = (isCounted: (oid: Oid) => boolean): ObjectAmount => {
    return measureLoose(files.disk, `${files.directory}/objects`, isCounted)
  }
  return {
    erased: sumOf([...erased, loose((oid) => isDead(fromHex(oid)))]),
    repeated: sumOf([
      measureRepeated(packs.open(false), (oid) => !isDead(oid)),
      loose((oid) => packs.has(oid) && !isDead(fromHex(oid))),
    ]),
  }
}

/** Measures entries, chosen by position in the index. Reads no further if none is chosen. */
function measureEntries(pack: Pack, isCounted: (position: number) => boolean): ObjectAmount {
  const counted = new Uint8Array(pack.index.count)
  let objects = 0
  for (let position = 0; position < counted.length; position += 1) {
    if (!isCounted(position)) continue
    counted[position] = 1
    objects += 1
  }
  if (objects === 0) return noObjects
  const layout = new PackLayout(pack)
  let bytes = 0
  for (let rank = 0; rank < layout.count; rank += 1) {
    if (counted[layout.positionOf(rank)] !== 1) continue
    bytes += layout.offsetOf(rank + 1) - layout.offsetOf(rank)
  }
  return { objects, bytes }
}

/** Measures all copies of each chosen object except the one in the largest pack. */
function measureRepeated(
  packs: readonly Pack[],
  isCounted: (oid: Uint8Array) => boolean,
): ObjectAmount {
  const bySize = packs.toSorted((a, b) => b.index.count - a.index.count)
  return sumOf(
    bySize.slice(1).map((pack, rank) => {
      const larger = bySize.slice(0, rank + 1)
      return measureEntries(pack, (position) => {
        const oid = pack.index.oidAt(position)
        return larger.some(({ index }) => index.find(oid) !== undefined) && isCounted(oid)
      })
    }),
  )
}

function measureLoose(
  disk: Disk,
  directory: string,
  isCounted: (oid: Oid) => boolean,
): ObjectAmount {
  const counted = looseObjectIds(disk, directory).filter(isCounted)
  const sizes = counted.map((oid) => disk.stat(looseObjectPath(directory, oid))?.size ?? 0)
  return { objects: counted.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

function sumOf(amounts: readonly ObjectAmount[]): ObjectAmount {
  return amounts.reduce((sum, { objects, bytes }) => {
    return { objects: sum.objects + objects, bytes: sum.bytes + bytes }
  }, noObjects)
}
