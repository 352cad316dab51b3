// Reads loose objects, which other git programs write: by a fetch, or a push into the store. Must
// never write one. The bytes are untrusted: nothing is inflated beyond the limit.

import { asciiText } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { filesBelow } from '../../disk/file-sweep.ts'
import { StoreError } from '../../errors.ts'
import { objectBytesMax } from '../../limits.ts'
import { inflateBytes } from '../../platform/zlib.ts'
import type { GitObject, ObjectType, Oid } from './object.ts'

/** The longest header is "commit 67108864" and a NUL. */
const headerBytesMax = 32
const anyTypes = ['commit', 'tree', 'blob', 'tag'] as const

/** `directory` is the repository's `objects`. Throws `object_corrupt`, also for a tag. */
export function readLooseObject(disk: Disk, directory: string, oid: Oid): GitObject | undefined {
  const object = readAnyLooseObject(disk, directory, oid)
  if (object === undefined) return undefined
  const { type, body } = object
  if (type === 'tag') throw corrupt()
  return { type, body }
}

/** Like `readLooseObject`, but also reads tags. */
export function readAnyLooseObject(
  disk: Disk,
  directory: string,
  oid: Oid,
): { readonly type: ObjectType | 'tag'; readonly body: Uint8Array } | undefined {
  const deflated = disk.readFile(looseObjectPath(directory, oid))
  if (deflated === undefined) return undefined
  const bytes = inflate(deflated)
  const end = bytes.subarray(0, headerBytesMax).indexOf(0)
  const header = /^(commit|tree|blob|tag) (0|[1-9][0-9]*)$/.exec(asciiText(bytes.subarray(0, end)))
  const body = bytes.subarray(end + 1)
  const [, name, length] = header ?? []
  const type = anyTypes.find((one) => one === name)
  if (end < 0 || type === undefined || length !== String(body.length)) throw corrupt()
  if (gitHash(type, body) !== oid) throw corrupt()
  return { type, body }
}

export function looseObjectPath(directory: string, oid: Oid): string {
  return `${directory}/${oid.slice(0, 2)}/${oid.slice(2)}`
}

/** Counts loose objects. Lists at most 256 directories. */
export function countLooseObjects(disk: Disk, directory: string): number {
  const fanouts = disk.list(directory).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const counts = fanouts.map((name) => disk.list(`${directory}/${name}`).length)
  return counts.reduce((sum, count) => sum + count, 0)
}

function inflate(deflated: Uint8Array): Uint8Array {
  try {
    return inflateBytes(deflated, objectBytesMax)
  } catch (error) {
    throw corrupt(error)
  }
}

function corrupt(cause?: unknown): StoreError {
  const text = 'A loose object of the store is damaged: fetch or restore it from another copy'
  return new StoreError('object_corrupt', text, { cause })
}

/** Every loose object of the repository. */
export function looseObjectIds(disk: Disk, objects: string): string[] {
  return filesBelow(disk, objects)
    .map((path) => path.slice(objects.length + 1))
    .filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name))
    .map((name) => name.replace('/', ''))
}
