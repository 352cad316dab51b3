// Opens commits of a damaged store as far as its keys do: describes lost changes and objects for
// users, with the id alone if they do not open, and finds redactions. Must not write.

import { toHex } from '../../bytes.ts'
import { treeOf } from '../../format/commit.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Erased } from '../../git/repair/repair-site.ts'
import {
  decodeCommit,
  type DecodedCommit,
  type Epochs,
  openDetail,
  readCommitBytes,
} from '../commits/decoded-commit.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import {
  closureOf,
  findCommit,
  type MissingObject,
  orUndefined,
} from '../snapshot/object-closure.ts'
import type { LostChange, LostObject } from './report.ts'

export interface OpenSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

export function describeChange(source: OpenSource, commit: Oid): LostChange {
  const opened = open(source, commit)
  if (opened === undefined) {
    return { commit, kind: undefined, time: undefined, deviceId: undefined, paths: [] }
  }
  const { record } = opened
  const paths = [...rowsOf(opened).values()]
  const deviceId = formatId('device', record.deviceId)
  return { commit, kind: record.kind, time: record.time, deviceId, paths: [...new Set(paths)] }
}

export function describeMissing(source: OpenSource, missing: MissingObject): LostObject {
  const { oid, type, commit } = missing
  const opened = open(source, commit)
  const path = opened && type === 'blob' ? pathOf(source, opened, oid) : undefined
  return { oid, type, commit, time: opened?.record.time, path }
}

/** Every version that a readable redaction among these commits names. */
export function* redactedIn(
  source: OpenSource,
  commits: readonly Oid[],
): Generator<undefined, ReadonlySet<string>> {
  const found = new Set<string>()
  for (const oid of commits) {
    yield
    const record = open(source, oid)?.record
    if (record?.kind !== 'redact') continue
    for (const { versionId } of record.rows) found.add(versionId)
  }
  return found
}

/**
 * Finds the commits that redactions have rewritten, by a record that the history has too, and the
 * objects that only they reach. `commits` are all readable commits, `kept` the objects that the
 * head reaches.
 */
export async function findErased(
  source: OpenSource,
  commits: readonly Oid[],
  kept: ReadonlySet<Oid>,
  signal: AbortSignal | undefined,
): Promise<Erased> {
  const records = new Set(commits.flatMap((oid) => (kept.has(oid) ? hashOf(source, oid) : [])))
  const rewritten = [...new Set(commits)].filter((oid) => {
    return !kept.has(oid) && hashOf(source, oid).some((record) => records.has(record))
  })
  const tips = new Set(rewritten)
  for (const oid of rewritten) {
    for (const parent of findCommit(source.objects, oid)?.parents ?? []) tips.delete(parent)
  }
  const dead = new Set<Oid>()
  for (const tip of tips) {
    for (const oid of (await closureOf(source.objects, tip, signal)).oids) {
      if (!kept.has(oid)) dead.add(oid)
    }
  }
  return { commits: rewritten, dead }
}

/** The record hash in hex; empty for a commit that cannot be opened. */
function hashOf(source: OpenSource, oid: Oid): readonly string[] {
  const opened = open(source, oid)
  return opened === undefined ? [] : [toHex(opened.hash)]
}

function open(source: OpenSource, oid: Oid): DecodedCommit | undefined {
  const { objects, storeId, epochs } = source
  return orUndefined(() => decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid)))
}

/** The paths in the detail of a commit, by memory id. */
function rowsOf(commit: DecodedCommit): ReadonlyMap<string, string> {
  const rows = orUndefined(() => openDetail(commit)) ?? new Map()
  const paths = new Map<string, string>()
  for (const [row, { path }] of rows) {
    const memoryId = commit.record.rows[row]?.memoryId
    if (memoryId !== undefined) paths.set(memoryId, path)
  }
  return paths
}

/** The path of the memory that has this blob in the tree of the commit. */
function pathOf(source: OpenSource, commit: DecodedCommit, blob: Oid): string | undefined {
  const { objects } = source
  return orUndefined(() => {
    const tree = treeOf(readCommitBytes(objects, commit.oid))
    const memories = getTree(objects, tree).find(({ name }) => name === 'm')?.oid
    if (memories === undefined) return undefined
    const found = [...rowsOf(commit)].find(([memoryId]) => {
      return findBlob(objects, memories, memoryId) === blob
    })
    return found?.[1]
  })
}
