// Packs loose objects, undeltified, so that a repack can copy them from packs. Damaged objects and
// tags are skipped. Must not remove a file before its pack is durable.

import type { Disk } from '../../disk/disk.ts'
import { FileSweep } from '../../disk/file-sweep.ts'
import { hasCode } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { looseObjectIds, looseObjectPath, readLooseObject } from '../objects/loose-object.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import { type PackObject, writePack } from '../pack/pack-writer.ts'

/** The most that is held in RAM; a larger object is packed alone. */
const batchBytesMax = 8 * MEBIBYTE

/** `directory` is `objects/pack`. Returns the names of the new packs. */
export async function packLooseObjects(disk: Disk, directory: string): Promise<string[]> {
  const loose = directory.slice(0, directory.lastIndexOf('/'))
  const names: string[] = []
  let batch: PackObject[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    names.push((await writePack(disk, directory, batch)).name)
    await removeLoose(disk, loose, batch)
    batch = []
    bytes = 0
  }
  for (const oid of looseObjectIds(disk, loose)) {
    const object = readIfSound(disk, loose, oid)
    if (object === undefined) continue
    if (bytes + object.body.length > batchBytesMax) await flush()
    batch.push({ oid, ...object })
    bytes += object.body.length
  }
  await flush()
  return names
}

function readIfSound(disk: Disk, directory: string, oid: Oid): GitObject | undefined {
  try {
    return readLooseObject(disk, directory, oid)
  } catch (error) {
    if (hasCode(error, 'object_corrupt')) return undefined
    throw error
  }
}

async function removeLoose(
  disk: Disk,
  directory: string,
  objects: readonly PackObject[],
): Promise<void> {
  const sweep = new FileSweep(disk)
  for (const { oid } of objects) sweep.removeKnown(looseObjectPath(directory, oid))
  await sweep.sync()
}
