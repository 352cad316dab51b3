// What crosses between pack-worker.ts and pack-job-worker.ts. Objects travel as one table that is
// handed over: to clone seven thousand of them one by one holds up the thread that answers. Bodies
// in shared memory stay where they are, and all others go along as one buffer: each of them would
// take with it the whole buffer that it is a view of. Must not do the packing.

import { assert, type ErrorCode } from '../../errors.ts'
import type { ObjectType } from '../objects/object.ts'
import type { PackObject } from '../pack/pack-writer.ts'
import type { PackJob, PackResult } from './pack-job.ts'

/** Of each object: type 1, oid 20; of its body: number of the memory 4, start 4, length 4. */
const rowBytes = 33
const types: readonly ObjectType[] = ['commit', 'tree', 'blob']

interface EncodedObjects {
  readonly rows: ArrayBuffer
  /** Shared memory, and at the end what is not. */
  readonly memory: readonly (SharedArrayBuffer | ArrayBuffer)[]
}

export type PackRequest =
  | ({ readonly kind: 'write' | 'stage'; readonly directory: string } & EncodedObjects)
  | Exclude<PackJob, { kind: 'write' | 'stage' }>

/** What a thread starts with. */
export interface PackThreadData {
  readonly request: PackRequest
  /** One number, shared: not 0 once nobody wants the result any more. */
  readonly cancelled: Int32Array<SharedArrayBuffer>
}

export type PackReply =
  | { readonly pack: PackResult }
  /** Any number of these, before one of the others. */
  | { readonly done: number; readonly total: number }
  /** No code: a fault of the program. */
  | { readonly code: ErrorCode | undefined; readonly message: string }

/** What is handed over with a request, and gone here. */
export function transferOf(request: PackRequest): ArrayBuffer[] {
  if (!('rows' in request)) return []
  const own = request.memory.filter((buffer) => buffer instanceof ArrayBuffer)
  return [request.rows, ...own]
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
  const shared = new Map<SharedArrayBuffer, number>()
  let length = 0
  for (const { body } of objects) {
    const { buffer } = body
    if (buffer instanceof SharedArrayBuffer) shared.set(buffer, shared.get(buffer) ?? shared.size)
    else length += body.length
  }
  const copies = new Uint8Array(length)
  let copied = 0
  const rows = Buffer.from(new ArrayBuffer(objects.length * rowBytes))
  let at = 0
  for (const { type, oid, body } of objects) {
    const { buffer } = body
    const isShared = buffer instanceof SharedArrayBuffer
    at = rows.writeUInt8(types.indexOf(type), at)
    at += rows.write(oid, at, 'hex')
    at = rows.writeUInt32BE(isShared ? (shared.get(buffer) ?? 0) : shared.size, at)
    at = rows.writeUInt32BE(isShared ? body.byteOffset : copied, at)
    at = rows.writeUInt32BE(body.length, at)
    if (isShared) continue
    copies.set(body, copied)
    copied += body.length
  }
  return { rows: rows.buffer, memory: [...shared.keys(), copies.buffer] }
}

function* decodeObjects({ rows, memory }: EncodedObjects): Generator<PackObject> {
  const view = Buffer.from(rows)
  for (let at = 0; at < view.length; at += rowBytes) {
    const type = types[view.readUInt8(at)]
    const oid = view.toString('hex', at + 1, at + 21)
    const buffer = memory[view.readUInt32BE(at + 21)]
    assert(type !== undefined && buffer !== undefined, 'the other thread is of this release')
    const body = new Uint8Array(buffer, view.readUInt32BE(at + 25), view.readUInt32BE(at + 29))
    yield { type, oid, body }
  }
}
