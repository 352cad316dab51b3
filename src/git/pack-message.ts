// What crosses between pack-worker.ts and pack-job-worker.ts. Objects travel as one buffer that is
// handed over: to clone seven thousand of them one by one holds up the thread that answers, and
// each body would take along the whole buffer that it is a view of. Must not do the packing.

import { assert, type ErrorCode } from '../errors.ts'
import type { ObjectType } from './object.ts'
import type { PackJob, PackResult } from './pack-job.ts'
import type { PackObject } from './pack-writer.ts'

/** Of each object: its type 1, oid 20, length 4, body. */
const rowBytes = 25
const types: readonly ObjectType[] = ['commit', 'tree', 'blob']

export type PackRequest =
  | {
      readonly kind: 'write' | 'stage'
      readonly directory: string
      readonly encoded: Uint8Array<ArrayBuffer>
    }
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

export function encodeRequest(job: PackJob): PackRequest {
  if (!('objects' in job)) return job
  return { kind: job.kind, directory: job.directory, encoded: encodeObjects(job.objects) }
}

export function decodeRequest(request: PackRequest): PackJob {
  if (!('encoded' in request)) return request
  const objects = [...decodeObjects(request.encoded)]
  return { kind: request.kind, directory: request.directory, objects }
}

/** Of its own memory, so that it can be handed over. */
function encodeObjects(objects: readonly PackObject[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (const { body } of objects) length += rowBytes + body.length
  const encoded = new Uint8Array(length)
  const view = Buffer.from(encoded.buffer)
  let at = 0
  for (const { type, oid, body } of objects) {
    at = view.writeUInt8(types.indexOf(type), at)
    at += view.write(oid, at, 'hex')
    at = view.writeUInt32BE(body.length, at)
    encoded.set(body, at)
    at += body.length
  }
  return encoded
}

function* decodeObjects(encoded: Uint8Array<ArrayBuffer>): Generator<PackObject> {
  const view = Buffer.from(encoded.buffer)
  for (let at = 0; at < encoded.length;) {
    const type = types[view.readUInt8(at)]
    const start = at + rowBytes
    const end = start + view.readUInt32BE(start - 4)
    assert(type !== undefined && end <= encoded.length, 'the other thread is of this release')
    yield { type, oid: view.toString('hex', at + 1, start - 4), body: encoded.subarray(start, end) }
    at = end
  }
}
