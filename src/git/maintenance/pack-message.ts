// The messages between pack-threads.ts and pack-job-worker.ts. Objects are transferred as one
// table: cloning seven thousand of them would block the main thread. Bodies in shared memory are
// not copied; all others are copied into one buffer, because transferring a view transfers its
// whole buffer. Must not do the packing.

import { assert, type ErrorCode } from '../../errors.ts'
import type { ObjectType } from '../objects/object.ts'
import type { PackObject } from '../pack/pack-writer.ts'
import type { PackJob, PackResult } from './pack-job.ts'

/** Per object: type 1, oid 20; for its body: index of the buffer 4, start 4, length 4. */
const rowBytes = 33
const types: readonly ObjectType[] = ['commit', 'tree', 'blob']

interface EncodedObjects {
  readonly rows: ArrayBuffer
  /** Shared buffers, followed by one buffer of all other bodies. */
  readonly memory: readonly (SharedArrayBuffer | ArrayBuffer)[]
}

export type PackRequest =
  | ({ readonly kind: 'write' | 'stage'; readonly directory: string } & EncodedObjects)
  | Exclude<PackJob, { kind: 'write' | 'stage' }>

/** What a thread is sent. */
export interface PackTask {
  readonly request: PackRequest
  /** One shared number: not 0 once the job is cancelled. */
  readonly cancelled: Int32Array<SharedArrayBuffer>
}

export type PackReply =
  | { readonly pack: PackResult }
  /** Progress; any number of these precedes one of the others. */
  | { readonly done: number; readonly total: number }
  /** An error; without a code, a bug. */
  | { readonly code: ErrorCode | undefined; readonly message: string }

/** The buffers to transfer with a request; they are detached here. */
export function transferOf(request: PackRequest): ArrayBuffer[] {
  if (!('rows' in request)) return []
  const unshared = request.memory.filter((buffer) => buffer instanceof ArrayBuffer)
  return [request.rows, ...unshared]
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
    assert(type !== undefined && buffer !== undefined, 'both threads run the same release')
    const body = new Uint8Array(buffer, view.readUInt32BE(at + 25), view.readUInt32BE(at + 29))
    yield { type, oid, body }
  }
}
