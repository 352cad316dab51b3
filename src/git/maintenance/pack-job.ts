// Packing jobs as values, so that the same job runs in this thread, on a given disk, or in a worker
// thread; and their form on the way to one: objects are transferred as two buffers, a table and all
// bodies, since cloning seven thousand of them would block the main thread. The filter rewrites
// packs without erased objects (FORMAT §10). Must not decide when a job is due.

import { crc32 } from 'node:zlib'
import { unwatched, type WorkWatch } from '../../async.ts'
import type { Disk } from '../../disk/disk.ts'
import { assert } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'
import { atOnce } from '../../time-slice.ts'
import type { ObjectAmount, PackStatus } from '../object-store.ts'
import type { ObjectType, Oid } from '../objects/object.ts'
import { oidBytes, OidList, OidProbe } from '../objects/oid-list.ts'
import { indexIncoming, type IndexJob } from '../pack/incoming-pack.ts'
import { MultiPack } from '../pack/multi-pack.ts'
import { copyEntries } from '../pack/pack-copy.ts'
import { type IndexedPack, PackFile, publishPacks, type TemporaryPack } from '../pack/pack-file.ts'
import { encodePackIndex, type PackIndex } from '../pack/pack-index.ts'
import { orderForPack } from '../pack/pack-order.ts'
import { removePacks } from '../pack/pack-removal.ts'
import { type PackObject, writePack, writeTemporaryPack } from '../pack/pack-writer.ts'
import { Pack } from '../pack/pack.ts'
import { compactPacks, mergePacks } from './pack-merge.ts'
import { checkUnreached, measureUnreachableInPacks, type UnreachableJob } from './unreachable.ts'

interface MergeJob {
  readonly directory: string
  /** Names of packs, the largest first. */
  readonly names: readonly string[]
}

export type PackJob =
  | {
      /** A staged pack keeps its temporary names. */
      readonly kind: 'write' | 'stage'
      /** `objects/pack`, absolute. */
      readonly directory: string
      /** Oldest first, with the objects of a commit before it. */
      readonly objects: readonly PackObject[]
    }
  | (MergeJob & { readonly kind: 'merge' })
  | (MergeJob & { readonly kind: 'compact' })
  | {
      /** Rewrites every pack without the objects in `dead`, which are sorted oids of 20 bytes. */
      readonly kind: 'filter'
      readonly directory: string
      readonly dead: Uint8Array
      /** The objects from which nothing of `dead` may be reachable. */
      readonly heads: readonly Oid[]
    }
  | (UnreachableJob & { readonly kind: 'unreachable' })
  /** Checks and indexes a pack that was received under temporary names. */
  | (IndexJob & { readonly kind: 'index' })

/** The new pack, or what `unreachable` measured. */
export type PackResult = PackStatus | TemporaryPack | IndexedPack | ObjectAmount | undefined

/** The result of an `unreachable` job. */
export function asAmount(result: PackResult): ObjectAmount {
  assert(result !== undefined && 'bytes' in result, 'an unreachable job returns an amount')
  return { objects: result.objects, bytes: result.bytes }
}

/**
 * Returns the new pack; undefined if there was nothing to merge, and after a `filter`. The long
 * jobs use `watch`: `compact`, `index` and `unreachable`.
 */
export async function runPackJob(
  disk: Disk,
  job: PackJob,
  watch: WorkWatch = unwatched,
): Promise<PackResult> {
  const { directory } = job
  if (job.kind === 'merge') return mergePacks(disk, directory, job.names, { watch })
  if (job.kind === 'compact') return compactPacks(disk, directory, job.names, watch)
  if (job.kind === 'unreachable') return measureUnreachableInPacks(disk, job, watch)
  if (job.kind === 'index') return indexIncoming(disk, job, watch)
  if (job.kind === 'filter') {
    const dead = new OidList(job.dead)
    checkUnreached(disk, job, dead)
    await filterPacks(disk, directory, dead)
    return undefined
  }
  const ordered = atOnce(orderForPack(job.objects))
  return job.kind === 'stage'
    ? writeTemporaryPack(disk, directory, ordered)
    : writePack(disk, directory, ordered)
}

/** Per object: type 1, oid 20, length of its body 4. */
const rowBytes = 25
const types: readonly ObjectType[] = ['commit', 'tree', 'blob']

interface EncodedObjects {
  readonly rows: ArrayBuffer
  readonly bodies: ArrayBuffer
}

export type PackRequest =
  | ({ readonly kind: 'write' | 'stage'; readonly directory: string } & EncodedObjects)
  | Exclude<PackJob, { kind: 'write' | 'stage' }>

/** The buffers to transfer with a request; they are detached here. */
export function transferOf(request: PackRequest): ArrayBuffer[] {
  return 'rows' in request ? [request.rows, request.bodies] : []
}

export function encodeRequest(job: PackJob): PackRequest {
  if (!('objects' in job)) return job
  return { kind: job.kind, directory: job.directory, ...encodeObjects(job.objects) }
}

export function decodeRequest(request: PackRequest): PackJob {
  if (!('rows' in request)) return request
  return { kind: request.kind, directory: request.directory, objects: [...decodeObjects(request)] }
}

function encodeObjects(objects: readonly PackObject[]): EncodedObjects {
  const bodies = new Uint8Array(objects.reduce((sum, { body }) => sum + body.length, 0))
  let end = 0
  const rows = Bytes.from(new ArrayBuffer(objects.length * rowBytes))
  let at = 0
  for (const { type, oid, body } of objects) {
    at = rows.writeUInt8(types.indexOf(type), at)
    at += rows.write(oid, at, 'hex')
    at = rows.writeUInt32BE(body.length, at)
    bodies.set(body, end)
    end += body.length
  }
  return { rows: rows.buffer, bodies: bodies.buffer }
}

function* decodeObjects({ rows, bodies }: EncodedObjects): Generator<PackObject> {
  const view = Bytes.from(rows)
  let start = 0
  for (let at = 0; at < view.length; at += rowBytes) {
    const type = types[view.readUInt8(at)]
    assert(type !== undefined, 'both threads run the same release')
    const oid = view.toString('hex', at + 1, at + 21)
    const body = new Uint8Array(bodies, start, view.readUInt32BE(at + 21))
    start += body.length
    yield { type, oid, body }
  }
}

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
function keepRows(table: Bytes, erased: Uint8Array, width: number): Bytes {
  let filled = 0
  for (let from = 0; from < erased.length;) {
    const next = erased.indexOf(1, from)
    const to = next === -1 ? erased.length : next
    filled += table.copy(table, filled, from * width, to * width)
    from = to + 1
  }
  return table.subarray(0, filled)
}
