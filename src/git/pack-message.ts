// What crosses between pack-worker.ts and pack-job-worker.ts. Bodies travel as one buffer that is
// handed over: cloned one by one, each would take along the whole buffer that it is a view of.
// Must not do the packing.

import type { ErrorCode } from '../errors.ts'
import type { ObjectType, Oid } from './object.ts'
import type { PackJob, PackResult } from './pack-job.ts'

interface ObjectRow {
  readonly oid: Oid
  readonly type: ObjectType
  readonly length: number
}

export type PackRequest =
  | {
      readonly kind: 'write' | 'stage'
      readonly directory: string
      readonly rows: readonly ObjectRow[]
      readonly bodies: Uint8Array<ArrayBuffer>
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
  const rows = job.objects.map(({ oid, type, body }) => ({ oid, type, length: body.length }))
  const bodies = new Uint8Array(rows.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const { body } of job.objects) {
    bodies.set(body, at)
    at += body.length
  }
  return { kind: job.kind, directory: job.directory, rows, bodies }
}

export function decodeRequest(request: PackRequest): PackJob {
  if (!('rows' in request)) return request
  let at = 0
  const objects = request.rows.map(({ length, ...row }) => {
    at += length
    return { ...row, body: request.bodies.subarray(at - length, at) }
  })
  return { kind: request.kind, directory: request.directory, objects }
}
