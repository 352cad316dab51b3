// Builds the snapshot after an earlier commit from the history in RAM and the trees in git, so that
// a history that was rewritten above that commit need not be verified from genesis. Trusts both:
// they were verified before.

import { assert } from '../../errors.ts'
import type { RecordKind } from '../../format/change-record.ts'
import { mayGive } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import { decodeKeyring } from '../../format/keyring.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { readKeyringState, readSettingsState } from '../access/authority.ts'
import { decodeCommit, type DecodedCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { forkedState } from '../commits/divergence.ts'
import { createdOf } from '../history/beginning-entry.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { getBlob, getEntry, getTree } from '../snapshot/git-reads.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import { SharedMap } from '../snapshot/shared-map.ts'
import { authorState, type DeviceState, type GrantState, Snapshot } from '../snapshot/snapshot.ts'
import { comparison } from '../snapshot/tree-diff.ts'

/**
 * The snapshot after the commit at `position`, which must be a cut: all commits before it are its
 * past. Yields after each commit and each memory.
 */
export function* snapshotAt(
  source: HistorySource,
  history: History,
  position: number,
): Generator<undefined, Snapshot> {
  const newest = history.commits.at(position)
  assert(newest?.isCut === true, 'all commits before a cut are its past')
  const last = decode(source, newest)
  const { hash: record, oid: commit, parts } = last
  const head = { commit, record, height: last.record.height, tree: parts.tree }
  const state = { head, ...membersAt(source, history, position) }
  const kidOf = yield* sealedUnder(source, history, position)
  const blobs = yield* blobsOf(source, last)
  const memories = yield* currentVersions(history, position, blobs, kidOf)
  const states = yield* deviceStates(source, history, position)
  const devices = SharedMap.of(states)
  const grants = SharedMap.of(yield* grantStates(source, history, position, states))
  const redacted = new Set(history.beginning?.redacted)
  for (const { redacts } of history.commits.range(0, position + 1)) {
    for (const versionId of redacts) redacted.add(versionId)
    yield
  }
  return yield* Snapshot.making(state, { memories, devices, grants, redacted })
}

/** The keyring and the settings in force. */
function membersAt(
  source: HistorySource,
  history: History,
  position: number,
): Pick<Snapshot, 'keyring' | 'settings'> {
  const { beginning } = history
  const lastOf = (isOne: (kind: RecordKind) => boolean) =>
    findLast(source, history, position, ({ kind }) => isOne(kind))
  const keyring = lastOf(bringsKeyring)
  const settings = lastOf((kind) => kind === 'genesis' || kind === 'settings')
  const members = {
    keyring: keyring
      ? readKeyringState(source, entryOf(source, keyring, 'keyring'), keyring.hash)
      : beginning?.keyring,
    settings: settings
      ? readSettingsState(source, entryOf(source, settings, 'settings'), {
          record: settings.hash,
          height: settings.record.height,
          updated: settings.record.time,
          created: beginning?.settings.created ?? history.commits.at(0)?.time ?? 0,
        })
      : beginning?.settings,
  }
  assert(members.keyring !== undefined, 'a history starts with genesis')
  assert(members.settings !== undefined, 'a history starts with genesis')
  return { keyring: members.keyring, settings: members.settings }
}

/** The epoch that a commit is sealed under: that of the newest keyring in its past. */
function* sealedUnder(
  source: HistorySource,
  history: History,
  newest: number,
): Generator<undefined, (commit: CommitEntry) => string> {
  const kids = new Map([[0, history.beginning?.keyring.kid ?? '']])
  /** By position of a commit, the position of the newest keyring in its past or itself. */
  const known = new Int32Array(newest + 1)
  for (const commit of history.commits.range(0, newest + 1)) {
    yield
    const { position } = commit
    if (history.isBeginning(position)) continue
    if (!bringsKeyring(commit.kind)) {
      known[position] = Math.max(
        ...history.parentsOf(commit).map((one) => known[one.position] ?? 0),
      )
      continue
    }
    const entry = entryOf(source, decode(source, commit), 'keyring')
    kids.set(position, decodeKeyring(getBlob(source.objects, entry, 'keyring_mismatch')).kid)
    known[position] = position
  }
  return ({ position }) => kids.get(known[position] ?? 0) ?? ''
}

function* currentVersions(
  history: History,
  position: number,
  blobs: ReadonlyMap<string, Oid>,
  kidOf: (commit: CommitEntry) => string,
): Generator<undefined, ReadonlyMap<string, CurrentVersion>> {
  const memories = new Map<string, CurrentVersion>()
  for (const memoryId of history.memoryIds()) {
    yield
    const entry = history.newestOf(memoryId, (at) => at <= position)
    if (entry === undefined) continue
    const { versionId, operation, path, size, sha256, commit } = entry
    if (history.isBeginning(commit.position)) {
      const version = history.beginning?.current.get(memoryId)
      if (version !== undefined) memories.set(memoryId, version)
      continue
    }
    const blob = blobs.get(memoryId)
    const times = { created: createdOf(history, memoryId) ?? 0, updated: commit.time }
    const known = path !== undefined && size !== undefined && sha256 !== undefined
    const live =
      blob === undefined || !known
        ? undefined
        : { memoryId, versionId, path, size, sha256, ...times, blob, kid: kidOf(commit) }
    memories.set(memoryId, { versionId, operation, created: times.created, live })
  }
  return memories
}

/** A commit that begins a grant, ends some by a row, or ends some as a keyring (FORMAT §12). */
interface GrantEvent {
  readonly commit: CommitEntry
  readonly begins: readonly (readonly [grantId: string, state: GrantState])[]
  readonly ends: (grantId: string, state: GrantState) => boolean
}

/** The grants with a begin that has every record that ends them in its past (FORMAT §12). */
function* grantStates(
  source: HistorySource,
  history: History,
  position: number,
  devices: ReadonlyMap<string, DeviceState>,
): Generator<undefined, ReadonlyMap<string, GrantState>> {
  const events: GrantEvent[] = []
  for (const commit of history.commits.range(0, position + 1)) {
    yield
    const event = grantEvent(source, history, commit)
    if (event !== undefined) events.push(event)
  }
  const active = new Map<string, GrantState>()
  for (const { commit, begins } of events) {
    for (const [grantId, state] of begins) {
      yield
      if (devices.get(state.granter)?.forked === true) continue
      const enders = events.filter((event) => event.commit !== commit && event.ends(grantId, state))
      const isPast = enders.length === 0 ? undefined : history.pastOf(commit)
      if (enders.every((ender) => isPast?.(ender.commit.position))) active.set(grantId, state)
    }
  }
  return active
}

function grantEvent(
  source: HistorySource,
  history: History,
  commit: CommitEntry,
): GrantEvent | undefined {
  if (history.isBeginning(commit.position)) {
    return { commit, begins: [...(history.beginning?.grants ?? [])], ends: () => false }
  }
  if (bringsKeyring(commit.kind)) {
    const decoded = decode(source, commit)
    const oid = entryOf(source, decoded, 'keyring')
    const { directory } = readKeyringState(source, oid, decoded.hash)
    return { commit, begins: [], ends: (_, { granter }) => !mayGive(directory, granter) }
  }
  if (commit.kind !== 'grants') return undefined
  const { deviceId: granter, time: began } = commit
  const { grants } = decode(source, commit).record
  const ended = new Set(grants.flatMap((row) => (row.begins === undefined ? [row.grantId] : [])))
  const begins = grants.flatMap((row): GrantEvent['begins'] => {
    if (row.begins === undefined) return []
    return [[grantIdOf(granter, row.key), { ...row.begins, key: row.key, granter, began }]]
  })
  return { commit, begins, ends: (grantId) => ended.has(grantId) }
}

/** The newest record of each device; a forked one (FORMAT §8.2) has more than one. */
function* deviceStates(
  source: HistorySource,
  history: History,
  position: number,
): Generator<undefined, ReadonlyMap<string, DeviceState>> {
  const states = new Map(history.beginning?.devices)
  const deviceIds = new Set<string>()
  for (const { deviceId, position: at } of history.commits.range(0, position + 1)) {
    if (!history.isBeginning(at)) deviceIds.add(deviceId)
    yield
  }
  for (const deviceId of deviceIds) {
    yield
    const newest = history.newest((commit) => {
      return commit.position <= position && commit.deviceId === deviceId
    })
    if (newest.length > 0) states.delete(deviceId)
    for (const entry of newest) {
      const { record, hash } = decode(source, entry)
      for (const state of authorState(record, hash).values()) {
        const other = states.get(deviceId)
        states.set(deviceId, other === undefined ? state : forkedState(other, state))
      }
    }
  }
  return states
}

function* blobsOf(
  source: HistorySource,
  head: DecodedCommit,
): Generator<undefined, ReadonlyMap<string, Oid>> {
  const blobs = new Map<string, Oid>()
  const root = getTree(source.objects, head.parts.tree)
  const memories = root.find((entry) => entry.name === 'm')?.oid
  yield* comparison(source.objects, undefined, memories, {
    tree: () => undefined,
    blob: (memoryId, oid) => oid !== undefined && blobs.set(memoryId, oid),
  })
  return blobs
}

function findLast(
  source: HistorySource,
  history: History,
  position: number,
  matches: (commit: CommitEntry) => boolean,
): DecodedCommit | undefined {
  for (let at = position; at >= 0; at -= 1) {
    const commit = history.commits.at(at)
    if (commit !== undefined && !history.isBeginning(at) && matches(commit)) {
      return decode(source, commit)
    }
  }
  return undefined
}

function decode(source: HistorySource, { oid }: CommitEntry): DecodedCommit {
  return decodeCommit(source.storeId, source.epochs, oid, readCommitBytes(source.objects, oid))
}

function entryOf(source: HistorySource, commit: DecodedCommit, name: string): Oid {
  return getEntry(getTree(source.objects, commit.parts.tree), name)
}
