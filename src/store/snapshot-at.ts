// The snapshot as it was after an earlier commit, made from the history in RAM and the trees in
// git, so that a history that was rewritten above that commit need not be verified from genesis.
// Trusts both: they were verified before.

import { assert } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import { readKeyringState, readSettingsState } from './authority.ts'
import { decodeCommit, readCommitBytes } from './decoded-commit.ts'
import type { DecodedCommit } from './decoded-commit.ts'
import { getEntry, getTree } from './git-reads.ts'
import type { CommitEntry, History, HistorySource, VersionEntry } from './history.ts'
import { Snapshot } from './snapshot.ts'
import type { CurrentVersion } from './snapshot.ts'
import { compareTrees } from './tree-diff.ts'

export function snapshotAt(source: HistorySource, history: History, height: number): Snapshot {
  const commits = history.commits.slice(0, height + 1)
  const last = decode(
    source,
    getLast(commits, () => true),
  )
  const { hash: record, oid: commit, parts } = last
  const head = { commit, record, height, tree: parts.tree }
  const keyrings = commits.filter(({ kind }) => kind === 'genesis' || kind === 'keyring')
  const keyring = decode(
    source,
    getLast(keyrings, () => true),
  )
  const settings = decode(
    source,
    getLast(commits, ({ kind }) => kind === 'genesis' || kind === 'settings'),
  )
  const snapshot = new Snapshot(
    head,
    readKeyringState(source, entryOf(source, keyring, 'keyring'), keyring.hash),
    readSettingsState(source, entryOf(source, settings, 'settings')),
  )
  const memories = currentVersions(source, history, last, kidsByHeight(source, keyrings))
  snapshot.apply({ head, memories, device: undefined, keyring: undefined, settings: undefined })
  for (const [deviceId, entry] of lastOfDevices(commits)) {
    const { record: body, hash } = decode(source, entry)
    if (body.sequence === 0) continue
    snapshot.devices.set(deviceId, { sequence: body.sequence, record: hash, time: body.time })
  }
  for (const { redacts } of commits) for (const id of redacts) snapshot.redacted.add(id)
  return snapshot
}

/** The epoch in force for the commit at each height: a keyring counts from the next one on. */
function kidsByHeight(
  source: HistorySource,
  keyrings: readonly CommitEntry[],
): (height: number) => string {
  const epochs = keyrings.map((entry) => {
    const commit = decode(source, entry)
    const { kid } = readKeyringState(source, entryOf(source, commit, 'keyring'), commit.hash)
    return { from: entry.height + 1, kid }
  })
  return (height) => epochs.findLast(({ from }) => from <= height)?.kid ?? ''
}

function currentVersions(
  source: HistorySource,
  history: History,
  head: DecodedCommit,
  kidAt: (height: number) => string,
): ReadonlyMap<string, CurrentVersion> {
  const blobs = blobsOf(source, head)
  const created = new Map<string, number>()
  const latest = new Map<string, VersionEntry>()
  for (const entry of history.versions) {
    if (entry.commit.height > head.record.height) break
    if (!created.has(entry.memoryId)) created.set(entry.memoryId, entry.commit.time)
    latest.set(entry.memoryId, entry)
  }
  const memories = new Map<string, CurrentVersion>()
  for (const [memoryId, entry] of latest) {
    const { versionId, operation, path, size, sha256, commit } = entry
    const blob = blobs.get(memoryId)
    const times = { created: created.get(memoryId) ?? 0, updated: commit.time }
    const known = path !== undefined && size !== undefined && sha256 !== undefined
    const live =
      blob === undefined || !known
        ? undefined
        : { memoryId, versionId, path, size, sha256, ...times, blob, kid: kidAt(commit.height) }
    memories.set(memoryId, { versionId, operation, created: times.created, live })
  }
  return memories
}

function blobsOf(source: HistorySource, head: DecodedCommit): ReadonlyMap<string, Oid> {
  const blobs = new Map<string, Oid>()
  const root = getTree(source.objects, head.parts.tree)
  const memories = root.find((entry) => entry.name === 'm')?.oid
  compareTrees(source.objects, undefined, memories, {
    tree: () => undefined,
    blob: (memoryId, oid) => oid !== undefined && blobs.set(memoryId, oid),
  })
  return blobs
}

function lastOfDevices(commits: readonly CommitEntry[]): ReadonlyMap<string, CommitEntry> {
  return new Map(commits.map((entry) => [entry.deviceId, entry]))
}

function getLast(
  commits: readonly CommitEntry[],
  matches: (commit: CommitEntry) => boolean,
): CommitEntry {
  const found = commits.findLast(matches)
  assert(found !== undefined, 'a history starts with genesis')
  return found
}

function decode(source: HistorySource, { oid }: CommitEntry): DecodedCommit {
  return decodeCommit(source.storeId, source.epochs, oid, readCommitBytes(source.objects, oid))
}

function entryOf(source: HistorySource, commit: DecodedCommit, name: string): Oid {
  return getEntry(getTree(source.objects, commit.parts.tree), name)
}
