// Reads trees and blobs of a commit, and throws the error code of the expected object.

import { type ErrorCode, StoreError } from '../../errors.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import {
  decodeTree,
  type GitObject,
  type Oid,
  type SizeLimit,
  type TreeEntry,
  treeLimit,
} from '../../git/objects/object.ts'

/** A source of objects: the store, or a batch that is not stored yet. */
export interface ObjectSource {
  /** A source may ignore the limit. */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined
  has?(oid: Oid): boolean
  /** Where packs are, for threads; see `ObjectStore`. */
  readonly packDirectories?: readonly string[] | undefined
  /** Objects in RAM, for threads. */
  readonly hashed?: HashedColumns | undefined
}

/** Whether an object exists; avoids reading it if the source can. */
export function hasObject(objects: ObjectSource, oid: Oid): boolean {
  return objects.has?.(oid) ?? objects.read(oid) !== undefined
}

/**
 * The commits that are stored without their parents, as a remote may be told of them: a crash while
 * a pack was accepted leaves others in the list, which the remote would never send again.
 */
export function boundaryOf(objects: ObjectStore): readonly Oid[] {
  return objects.exchange.shallow().filter((oid) => hasObject(objects, oid))
}

export function getTree(objects: ObjectSource, oid: Oid): readonly TreeEntry[] {
  return decodeTree(getTreeBody(objects, oid, treeLimit))
}

/** The encoded tree, for looking up single entries without checking the tree. */
export function getTreeBody(objects: ObjectSource, oid: Oid, limit?: SizeLimit): Uint8Array {
  const object = objects.read(oid, limit)
  if (object === undefined) throw new StoreError('object_missing', `The object ${oid} is missing`)
  if (object.type !== 'tree') throw new StoreError('tree_mismatch', `${oid} is not a tree`)
  return object.body
}

/** The blob of a file in a root tree. Throws `tree_mismatch`. */
export function getEntry(root: readonly TreeEntry[], name: string): Oid {
  const entry = root.find((candidate) => candidate.name === name && candidate.mode === '100644')
  if (entry !== undefined) return entry.oid
  throw new StoreError('tree_mismatch', `The tree has no file ${name}`)
}

export function getBlob(
  objects: ObjectSource,
  oid: Oid,
  wrongType: ErrorCode,
  limit?: SizeLimit,
): Uint8Array {
  const object = objects.read(oid, limit)
  if (object === undefined) throw new StoreError('object_missing', `The object ${oid} is missing`)
  if (object.type !== 'blob') throw new StoreError(wrongType, `${oid} is not a blob`)
  return object.body
}
