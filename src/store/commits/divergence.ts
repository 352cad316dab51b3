// Finds the commits that only one of two heads has, and what their merge takes from each side
// (FORMAT §6.4). Reads back from both heads until everything left is common, so the cost is that of
// the divergence. Open memories are decided in merge/.

import { compareBytes } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { type Directory, mayGive } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import { writesVersions } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import { openDirectory } from '../../keys/keyring.ts'
import { TimeSlice } from '../../time-slice.ts'
import { getBlob, getEntry, getTree } from '../snapshot/git-reads.ts'
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
  /** The ids of grants that records begin, and of those that a row ends. */
  readonly begun: ReadonlySet<string>
  readonly ended: ReadonlySet<string>
  /** Those of the keyrings that it brings. */
  readonly directories: readonly Directory[]
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
    if (next.reach !== 'both') sides[next.reach].add(source, commit)
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
  readonly ended: Set<string> = new Set()
  readonly directories: Directory[] = []
  readonly keyrings: Oid[] = []

  add({ objects, epochs }: CommitSource, { oid, record, parts }: DecodedCommit<AuditKeys>): void {
    this.commits.push(oid)
    if (record.sequence > 0) this.devices.add(record.deviceId)
    if (record.kind === 'keyring') {
      this.keyrings.push(oid)
      const entry = getEntry(getTree(objects, parts.tree), 'keyring')
      const bytes = getBlob(objects, entry, 'keyring_mismatch')
      this.directories.push(openDirectory(bytes, epochs).directory)
    }
    for (const row of record.grants) {
      if (row.begins === undefined) this.ended.add(row.grantId)
      else this.begun.add(grantIdOf(record.deviceId, row.key))
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
  const hasKeyring = divergence.theirs.directories.length > 0
  const areKeyringsApart = hasKeyring && divergence.ours.directories.length > 0
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
  const devices = mergeDevices(ours.devices, theirs.devices, divergence)
  const other: OtherParent = {
    head: theirs.head,
    memories,
    devices,
    grants: mergeGrants(ours.grants, theirs.grants, divergence, devices),
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

/**
 * How the grants that are active after a merge differ from ours (FORMAT §12). One that one side
 * alone has begun is active if it is there and the other side does not end it, any other if it is
 * active on both; those of a device that is forked now have ended.
 */
function mergeGrants(
  ours: Snapshot['grants'],
  theirs: Snapshot['grants'],
  divergence: Divergence<Touched>,
  devices: ReadonlyMap<string, DeviceState>,
): ReadonlyMap<string, GrantState | undefined> {
  const merged = new Map<string, GrantState | undefined>()
  const isForked = ({ granter }: GrantState): boolean => devices.get(granter)?.forked === true
  for (const [id, our] of ours) {
    const isOurs = divergence.ours.begun.has(id) && !divergence.theirs.begun.has(id)
    const isActive = isOurs ? !endsGrant(divergence.theirs, id, our) : theirs.has(id)
    if (!isActive || isForked(our)) merged.set(id, undefined)
  }
  for (const [id, their] of theirs) {
    const isTheirs = divergence.theirs.begun.has(id) && !divergence.ours.begun.has(id)
    const isActive = isTheirs && !endsGrant(divergence.ours, id, their) && !isForked(their)
    if (isActive) merged.set(id, their)
  }
  return merged
}

/** Whether a record of one side ends a grant, by a row or as a keyring. */
function endsGrant({ ended, directories }: Touched, id: string, { granter }: GrantState): boolean {
  return ended.has(id) || directories.some((directory) => !mayGive(directory, granter))
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
