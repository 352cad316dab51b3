// Measures what a repository could free, by its indexes: repeated copies, and entries of given
// objects. unreachable.ts measures unreachable objects, which requires reading them. Counts entries
// as stored; must not remove anything.

import type { Disk } from '../../disk/disk.ts'
import { noObjects, type ObjectAmount } from '../object-store.ts'
import { looseObjectIds, looseObjectPath } from '../objects/loose-object.ts'
import type { Oid } from '../objects/object.ts'
import { PackLayout } from '../pack/pack-layout.ts'
import type { Pack } from '../pack/pack.ts'

/** Measures entries, chosen by position in the index. Reads no further if none is chosen. */
export function measureEntries(pack: Pack, isCounted: (position: number) => boolean): ObjectAmount {
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
export function measureRepeated(
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

/** Measures the files of chosen loose objects. */
export function measureLoose(
  disk: Disk,
  directory: string,
  isCounted: (oid: Oid) => boolean,
): ObjectAmount {
  const counted = looseObjectIds(disk, directory).filter(isCounted)
  const sizes = counted.map((oid) => disk.stat(looseObjectPath(directory, oid))?.size ?? 0)
  return { objects: counted.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

export function sumOf(amounts: readonly ObjectAmount[]): ObjectAmount {
  return amounts.reduce((sum, { objects, bytes }) => {
    return { objects: sum.objects + objects, bytes: sum.bytes + bytes }
  }, noObjects)
}
