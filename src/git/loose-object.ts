// Reads loose objects, which other git programs write: a fetch, a push into the store. Must never
// write one. The bytes come from strangers: nothing is inflated beyond the bound.

import { inflateSync } from 'node:zlib'
import { asciiText } from '../bytes.ts'
import { gitHash } from '../crypto/sha1.ts'
import { StoreError } from '../errors.ts'
import { objectBytesMax } from '../limits.ts'
import type { Disk } from './disk.ts'
import type { GitObject, ObjectType, Oid } from './object.ts'

/** Longest header: "commit 67108864" and a NUL. */
const headerBytesMax = 32
const objectTypes: readonly ObjectType[] = ['commit', 'tree', 'blob']

/** `directory` is the repository's `objects`. Throws `object_corrupt`. */
export function readLooseObject(disk: Disk, directory: string, oid: Oid): GitObject | undefined {
  const deflated = disk.readFile(`${directory}/${oid.slice(0, 2)}/${oid.slice(2)}`)
  if (deflated === undefined) return undefined
  const bytes = inflate(deflated)
  const end = bytes.subarray(0, headerBytesMax).indexOf(0)
  const header = /^(commit|tree|blob) (0|[1-9][0-9]*)$/.exec(asciiText(bytes.subarray(0, end)))
  const type = objectTypes.find((name) => name === header?.[1])
  const body = bytes.subarray(end + 1)
  if (end < 0 || type === undefined || header?.[2] !== String(body.length)) throw corrupt()
  if (gitHash(type, body) !== oid) throw corrupt()
  return { type, body }
}

/** How many there are. Reads 256 directories at most. */
export function countLooseObjects(disk: Disk, directory: string): number {
  const fanouts = disk.list(directory).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const counts = fanouts.map((name) => disk.list(`${directory}/${name}`).length)
  return counts.reduce((sum, count) => sum + count, 0)
}

function inflate(deflated: Uint8Array): Uint8Array {
  try {
    return inflateSync(deflated, { maxOutputLength: objectBytesMax })
  } catch (error) {
    throw corrupt(error)
  }
}

function corrupt(cause?: unknown): StoreError {
  const sentence = 'A loose object of the store is damaged: fetch or restore it from another copy'
  return new StoreError('object_corrupt', sentence, { cause })
}
