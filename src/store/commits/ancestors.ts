// Walks back from a head by height: every commit is higher than its parents, so that nothing below
// the height that is looked for has to be read. Both parents of a merge are followed.

import { equalBytes } from '../../bytes.ts'
import { parseLinks } from '../../format/commit.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { hasObject, type ObjectSource } from '../snapshot/git-reads.ts'
import { decodeCommit, type Epochs, readCommitBytes } from './decoded-commit.ts'

/** The head and its ancestors down to a height, and the parents of the lowest ones. */
export function* ancestorsDownTo(
  objects: ObjectSource,
  head: Oid,
  height: number,
): Generator<{ readonly oid: Oid; readonly height: number; readonly bytes: Uint8Array }> {
  const reached = new Set([head])
  for (const oid of reached) {
    const bytes = readCommitBytes(objects, oid)
    const links = parseLinks(bytes)
    if (links.height > height) for (const parent of links.parents) reached.add(parent)
    yield { oid, height: links.height, bytes }
  }
}

/** The first parents of a commit that are stored, the newest first, fewer than `most`. */
export function* firstParents(
  objects: ObjectSource,
  head: Oid,
  most: number,
): Generator<{ readonly back: number; readonly oid: Oid }> {
  let oid = parseLinks(readCommitBytes(objects, head)).parents[0]
  for (let back = 1; back < most && oid !== undefined; back += 1) {
    if (!hasObject(objects, oid)) return
    yield { back, oid }
    oid = parseLinks(readCommitBytes(objects, oid)).parents[0]
  }
}

/** Where records are read from. */
export interface RecordSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs<AuditKeys>
}

/** A record by its hash and height: a redaction changes neither. */
export interface RecordToFind {
  readonly height: number
  readonly record: Uint8Array
}

/** Whether the head or one of its ancestors is of this record. In steps, one for each commit. */
export function* containsRecord(
  source: RecordSource,
  head: Oid,
  wanted: RecordToFind,
): Generator<undefined, boolean> {
  return (yield* findRecord(source, head, wanted)) !== undefined
}

/** The commit of this record, if it is the head or one of its ancestors. In steps as above. */
export function* findRecord(
  { objects, storeId, epochs }: RecordSource,
  head: Oid,
  wanted: RecordToFind,
): Generator<undefined, Oid | undefined> {
  for (const { oid, height, bytes } of ancestorsDownTo(objects, head, wanted.height)) {
    yield
    if (height !== wanted.height) continue
    if (equalBytes(decodeCommit(storeId, epochs, oid, bytes).hash, wanted.record)) return oid
  }
  return undefined
}

/**
 * The hashes of the keyring records of a history, the newest first: one for each commit, so that
 * all are read only if an address (FORMAT §1.8) is as old as the store.
 */
export function* keyringRecords(
  { objects, storeId, epochs }: RecordSource,
  head: Oid,
): Generator<Uint8Array> {
  for (const { oid, bytes } of ancestorsDownTo(objects, head, 0)) {
    const { record, hash } = decodeCommit(storeId, epochs, oid, bytes)
    yield bringsKeyring(record.kind) ? hash : record.keyring
  }
}

/** Whether a commit is the head or one of its ancestors. In steps, one for each commit. */
export function* containsCommit(
  objects: ObjectSource,
  head: Oid,
  wanted: Oid,
): Generator<undefined, boolean> {
  const { height } = parseLinks(readCommitBytes(objects, wanted))
  for (const { oid } of ancestorsDownTo(objects, head, height)) {
    if (oid === wanted) return true
    yield
  }
  return false
}
