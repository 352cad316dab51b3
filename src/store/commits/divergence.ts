// Finds the commits that only one of two heads has, and what their merge takes from each side
// (FORMAT §6.4). Reads back from both heads until everything left is common, so the cost is that of
// the divergence. Open memories are decided in merge/.

import { compareBytes } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { grantIdOf } from '../../format/id.ts'
import { writesVersions } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type { DeviceState, GrantState, SettingsState, Snapshot } from '../snapshot/snapshot.ts'
import type { OtherParent } from './commit-context.ts'
import {
  type CommitSource,
  decodeCommit,
  type DecodedCommit,
  readCommitBytes,
} from './decoded-commit.ts'
import { Frontier, type Reach } from './frontier.ts'

/** The memories and devices of some commits, and whether one brings a keyring. */
export interface Touched {
  readonly memories: ReadonlySet<string>
  readonly devices: ReadonlySet<string>
  /** The ids of grants that are begun. */
  readonly begun: ReadonlySet<string>
  readonly hasKeyring: boolean
}

/** The commits that are ancestors of one head and not of the other. */
export interface OneSide extends Touched {
  /** Newest first, by height. */
  readonly commits: readonly Oid[]
  /** The commits that bring keyrings. */
  readonly keyrings: readonly Oid[]
}

export interface Divergence<Side extends Touched = OneSide> {
  readonly ours: Side
  readonly theirs: Side
}

/** A memory that both sides changed independently: the merge has a row for it. */
export interface OpenVersions {
  readonly memoryId: string
  readonly ours: CurrentVersion
  readonly theirs: CurrentVersion
}

/** At most this many commits are read before other work may run. */
const BATCH = 128

/** The divergence of two verified heads. A side without commits is an ancestor of the other. */
export async function findDivergence(
  source: CommitSource,
  ours: Oid,
  theirs: Oid,
  signal?: AbortSignal,
): Promise<Divergence> {
  const sides = { ours: new Side(), theirs: new Side() }
  const heights = new Map<Oid, number>()
  const frontier = new Frontier<Oid>((oid) => heights.get(oid) ?? 0)
  const reach = (oid: Oid, from: Reach): void => {
    heights.set(oid, parseLinks(readCommitBytes(source.objects, oid)).height)
    frontier.add(oid, from)
  }
  reach(ours, 'ours')
  reach(theirs, 'theirs')
  const slice = new TimeSlice(signal, BATCH)
  for (let next = frontier.take(); next !== undefined; next = frontier.take()) {
    const commit = readCommit(source, next.commit)
    if (next.reach !== 'both') sides[next.reach].add(commit)
    for (const parent of commit.parts.parents) reach(parent, next.reach)
    if (slice.isOver()) await slice.next()
  }
  return sides
}

class Side implements OneSide {
  readonly commits: Oid[] = []
  readonly memories: Set<string> = new Set()
  readonly devices: Set<string> = new Set()
  readonly begun: Set<string> = new Set()
  readonly keyrings: Oid[] = []

  get hasKeyring(): boolean {
    return this.keyrings.length > 0
  }

  add({ oid, record }: DecodedCommit<AuditKeys>): void {
    this.commits.push(oid)
    if (record.sequence > 0) this.devices.add(record.deviceId)
    if (record.kind === 'keyring') this.keyrings.push(oid)
    for (const { key, begins } of record.grants) {
      if (begins !== undefined) this.begun.add(grantIdOf(key))
    }
    if (!writesVersions(record)) return
    for (const { memoryId } of record.rows) this.memories.add(memoryId)
  }
}

function readCommit(
  { objects, storeId, epochs }: CommitSource,
  oid: Oid,
): DecodedCommit<AuditKeys> {
  return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
}

/** A commit and its record. */
export interface CommonCommit {
  readonly oid: Oid
  readonly height: number
  readonly record: Uint8Array
}

/** The newest commit in the past of both sides; `commits` must not be empty. */
export function newestCommon(
  source: CommitSource,
  { commits }: Pick<OneSide, 'commits'>,
): CommonCommit {
  const own = new Set(commits)
  const parents = commits.flatMap((oid) => parseLinks(readCommitBytes(source.objects, oid)).parents)
  const [newest] = [...new Set(parents)]
    .filter((oid) => !own.has(oid))
    .map((oid) => readCommit(source, oid))
    .toSorted((a, b) => b.record.height - a.record.height)
  assert(newest !== undefined, 'histories of one store have a commit in common')
  return { oid: newest.oid, height: newest.record.height, record: newest.hash }
}

/**
 * What a merge on `ours` takes from `theirs`, and the open memories that it has to decide. Both
 * are verified; `divergence` is theirs.
 */
export function compareSnapshots(
  ours: Snapshot,
  theirs: Snapshot,
  divergence: Divergence<Touched>,
): { readonly other: OtherParent; readonly open: readonly OpenVersions[] } {
  const { hasKeyring } = divergence.theirs
  const areKeyringsApart = hasKeyring && divergence.ours.hasKeyring
  const memories = new Map<string, CurrentVersion>()
  const open: OpenVersions[] = []
  for (const memoryId of divergence.theirs.memories) {
    const [our, their] = [ours.current.get(memoryId), theirs.current.get(memoryId)]
    if (their === undefined) continue
    if (our !== undefined && divergence.ours.memories.has(memoryId)) {
      open.push({ memoryId, ours: our, theirs: their })
    } else {
      memories.set(memoryId, their)
    }
  }
  const other: OtherParent = {
    head: theirs.head,
    memories,
    devices: mergeDevices(ours.devices, theirs.devices, divergence),
    grants: mergeGrants(ours.grants, theirs.grants, divergence),
    keyring: hasKeyring ? theirs.keyring : undefined,
    areKeyringsApart,
    settings: isLater(theirs.settings, ours.settings) ? theirs.settings : undefined,
    redacted: added(ours.redacted, theirs.redacted),
  }
  return { other, open: open.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1)) }
}

function added(known: ReadonlySet<string>, all: ReadonlySet<string>): ReadonlySet<string> {
  // Snapshots of one verification share the set, once for each merge.
  return new Set(all === known ? [] : [...all].filter((id) => !known.has(id)))
}

function mergeDevices(
  ours: Snapshot['devices'],
  theirs: Snapshot['devices'],
  divergence: Divergence<Touched>,
): ReadonlyMap<string, DeviceState> {
  const merged = new Map<string, DeviceState>()
  for (const [deviceId, their] of theirs) {
    const our = ours.get(deviceId)
    const isForked = our?.forked === true || their.forked
    const isTheirs = divergence.theirs.devices.has(deviceId)
    if (our !== undefined && (isForked || (isTheirs && divergence.ours.devices.has(deviceId)))) {
      merged.set(deviceId, forkedState(our, their))
    } else if (isTheirs) merged.set(deviceId, their)
  }
  return merged
}

/** FORMAT §12: a grant has ended if either side ended it, or if both began it apart. */
function mergeGrants(
  ours: Snapshot['grants'],
  theirs: Snapshot['grants'],
  divergence: Divergence<Touched>,
): ReadonlyMap<string, GrantState> {
  const merged = new Map<string, GrantState>()
  for (const [id, their] of theirs) {
    const our = ours.get(id)
    const isTwice = divergence.ours.begun.has(id) && divergence.theirs.begun.has(id)
    if (our === undefined) merged.set(id, their)
    else if (isTwice) merged.set(id, { ...lesserTerms(our, their), ended: true })
    else if (!our.ended && their.ended) merged.set(id, their)
  }
  return merged
}

/** Picks the terms of a grant that was begun twice, the same ones in every clone. */
export function lesserTerms(a: GrantState, b: GrantState): GrantState {
  if (a.granter !== b.granter) return a.granter < b.granter ? a : b
  if (a.role !== b.role) return a.role === 'writer' ? a : b
  return a.notAfter <= b.notAfter ? a : b
}

/** FORMAT §8.2: the records of both machines are kept, and the device is inactive from then on. */
export function forkedState(a: DeviceState, b: DeviceState): DeviceState {
  const later = isEarlierState(a, b) ? b : a
  return { ...later, forked: true }
}

function isEarlierState(a: DeviceState, b: DeviceState): boolean {
  if (a.sequence !== b.sequence) return a.sequence < b.sequence
  return compareBytes(a.record, b.record) < 0
}

/** Compares by (height, record hash): a descendant is always later. */
function isLater(a: SettingsState, b: SettingsState): boolean {
  if (a.height !== b.height) return a.height > b.height
  return compareBytes(a.record, b.record) > 0
}
