// Rewrites packs without erased objects (FORMAT §10), with a few columns per entry. Checks the
// copied entries against their checksums, and that the index is sound; readers check oids.

import { crc32 } from 'node:zlib'
import type { Disk } from '../../disk/disk.ts'
import { atOnce } from '../../time-slice.ts'
import { oidBytes, type OidList, OidProbe } from '../objects/oid-list.ts'
import { MultiPack } from './multi-pack.ts'
import { copyEntries } from './pack-copy.ts'
import { PackFile, publishPacks, type TemporaryPack } from './pack-file.ts'
import { encodePackIndex, type PackIndex } from './pack-index.ts'
import { removePacks } from './pack-removal.ts'
import { Pack } from './pack.ts'

/**
 * Erases objects from every pack in `directory`, including kept and cruft packs. A crash leaves
 * each pack unchanged or next to its successor. Throws `pack_corrupt` for a damaged pack.
 */
export async function filterPacks(disk: Disk, directory: string, dead: OidList): Promise<void> {
  const probe = new OidProbe(dead)
  for (const file of disk.list(directory)) {
    if (!file.startsWith('pack-') || !file.endsWith('.idx')) continue
    await filterPack(disk, directory, { name: file.slice(0, -'.idx'.length), dead: probe })
  }
}

async function filterPack(
  disk: Disk,
  directory: string,
  { name, dead }: { readonly name: string; readonly dead: OidProbe },
): Promise<void> {
  const pack = Pack.open(disk, directory, name)
  // An index without its pack holds no object.
  if (pack === undefined) return
  try {
    /** For each position in the index, 1 if the entry is erased. */
    const erased = new Uint8Array(pack.index.count)
    for (let position = 0; position < erased.length; position += 1) {
      if (dead.has(pack.index.oidAt(position))) erased[position] = 1
    }
    if (!erased.includes(1)) return
    if (erased.includes(0)) {
      await publishPacks(disk, directory, [await writeFiltered(disk, directory, pack, erased)])
    }
  } finally {
    pack.close()
  }
  await removePacks(disk, directory, [name])
}

/** Reuses the memory of the old index for the new one. */
async function writeFiltered(
  disk: Disk,
  directory: string,
  pack: Pack<PackIndex>,
  erased: Uint8Array,
): Promise<TemporaryPack> {
  const source = atOnce(MultiPack.of([pack]))
  const { oids, checksums } = pack.index.tables
  const offsets = new Float64Array(erased.length)
  const isKept = (number: number): boolean => erased[source.positionOf(number)] === 0
  const count = erased.filter((flag) => flag === 0).length
  return PackFile.write(disk, directory, count, (file) => {
    for (const { number, header, deflated } of copyEntries(source, isKept)) {
      const position = source.positionOf(number)
      offsets[position] = file.offset
      checksums.writeUInt32BE(crc32(deflated, crc32(header)), position * 4)
      file.append(header)
      file.append(deflated)
    }
    return file.finish((checksum) => {
      const tables = {
        oids: keepRows(oids, erased, oidBytes),
        checksums: keepRows(checksums, erased, 4),
        offsets: offsets.filter((_, position) => erased[position] === 0),
      }
      return encodePackIndex(tables, checksum, pack.index.memory)
    })
  })
}

/** Moves the rows that are not erased together, in place. */
function keepRows(table: Buffer, erased: Uint8Array, width: number): Buffer {
  let filled = 0
  for (let from = 0; from < erased.length;) {
    const next = erased.indexOf(1, from)
    const to = next === -1 ? erased.length : next
    filled += table.copy(table, filled, from * width, to * width)
    from = to + 1
  }
  return table.subarray(0, filled)
}
