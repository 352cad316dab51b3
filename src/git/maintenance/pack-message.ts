// The jobs that pack-worker.ts sends to pack-job-worker.ts. Objects are transferred as two
// buffers, a table and all bodies: cloning seven thousand of them would block the main thread. Must
// not do the packing.

import { assert } from '../../errors.ts'
import type { ObjectType } from '../objects/object.ts'
import type { PackObject } from '../pack/pack-writer.ts'
import type { PackJob } from './pack-job.ts'

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
  const rows = Buffer.from(new ArrayBuffer(objects.length * rowBytes))
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
  const view = Buffer.from(rows)
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
