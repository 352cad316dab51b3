// FORMAT §6.4, two parents: what a record finds in its causal past where two clones have gone on
// side by side. Everything is worked out from the document's definitions: ancestry is asked for
// record by record.

import { isOut } from './directory.ts'
import type { KeyringChange, KeyringHistory } from './keyring-changes.ts'
import type { Epoch } from './keys.ts'
import type { ChangeRecord } from './record.ts'
import { ensure } from './refusal.ts'
import type { Versions } from './rows.ts'

export interface DeviceState {
  readonly sequence: number
  readonly hash: string
  /** §8.2 */
  readonly forked: boolean
}

export interface KeyringState extends KeyringHistory {
  readonly epoch: Epoch
  /** kids, oldest first, the current one last. */
  readonly kids: readonly string[]
  /** The hash of the newest keyring record. */
  readonly recordHash: string
  /** The commit that holds it. */
  readonly commit: string
}

export interface SettingsPlace {
  readonly height: number
  readonly recordHash: string
  readonly commit: string
}

/** What is in force after a record. */
export interface Past {
  /** cur: memory to its newest version. */
  readonly current: ReadonlyMap<string, string>
  readonly devices: ReadonlyMap<string, DeviceState>
  readonly keyring: KeyringState | undefined
  readonly settings: SettingsPlace | undefined
}

export const emptyPast: Past = {
  current: new Map(),
  devices: new Map(),
  keyring: undefined,
  settings: undefined,
}

/** Records by hash, each with its parents' hashes. */
export class Ancestry {
  readonly #records: Map<string, ChangeRecord> = new Map()

  add(hash: string, record: ChangeRecord): void {
    this.#records.set(hash, record)
  }

  get(hash: string): ChangeRecord {
    const record = this.#records.get(hash)
    if (record === undefined) throw new Error('a parent was read before')
    return record
  }

  /** Whether a record is another one or an ancestor of it. */
  isWithin(hash: string, descendant: string): boolean {
    const height = this.#records.get(hash)?.height ?? 0
    const seen = new Set([descendant])
    for (const each of seen) {
      if (each === hash) return true
      const record = this.#records.get(each)
      if (record === undefined || record.height <= height) continue
      for (const parent of record.parents) seen.add(parent)
    }
    return false
  }
}

/** A record hash, and what is in force after it. */
export interface Parent {
  readonly hash: string
  readonly past: Past
}

/** Memories for which a merge must have a row: their versions at its first and second parent. */
export type OpenMemories = ReadonlyMap<string, readonly [first: string, second: string]>

export interface JoinedPast {
  readonly past: Past
  readonly open: OpenMemories
  /** Those of both parents, in their order, if neither is the later one; `past` has the first. */
  readonly concurrent?: readonly [KeyringState, KeyringState] | undefined
}

export function joinPasts(
  first: Parent,
  second: Parent,
  versions: Versions,
  ancestry: Ancestry,
): JoinedPast {
  const both = [first, second] as const
  const related =
    ancestry.isWithin(first.hash, second.hash) || ancestry.isWithin(second.hash, first.hash)
  ensure(!related, 'record_parents', 'One parent of a merge is an ancestor of the other')
  const later = laterKeyring(both, ancestry)
  const keyring = later ?? first.past.keyring
  const concurrent = later === undefined ? keyringsOf(both) : undefined
  if (later !== undefined) checkInTime(both, ancestry)
  const memories = joinMemories(both, versions, ancestry)
  const devices = joinDevices(both, ancestry)
  const settings = [first.past.settings, second.past.settings].toSorted(byHeight).at(-1)
  const past = { current: memories.current, devices, keyring, settings }
  return { past, open: memories.open, concurrent }
}

type Both = readonly [Parent, Parent]

/** Undefined if neither is. */
function laterKeyring(both: Both, ancestry: Ancestry): KeyringState | undefined {
  const [a, b] = keyringsOf(both)
  if (ancestry.isWithin(a.recordHash, b.recordHash)) return b
  return ancestry.isWithin(b.recordHash, a.recordHash) ? a : undefined
}

function keyringsOf([first, second]: Both): readonly [KeyringState, KeyringState] {
  const [a, b] = [first.past.keyring, second.past.keyring]
  if (a === undefined || b === undefined) throw new Error('genesis has brought a keyring')
  return [a, b]
}

/** §7.4 */
export function checkInTime([first, second]: Both, ancestry: Ancestry): void {
  const late = isLate(first, second, ancestry) || isLate(second, first, ancestry)
  ensure(!late, 'record_late', 'A parent is late')
}

/** Whether a parent is late, by the definition: late records are found from the oldest on. */
function isLate(parent: Parent, other: Parent, ancestry: Ancestry): boolean {
  const removed = new Set(changesOfSide(other, parent).flatMap((change) => change.removed))
  if (removed.size === 0) return false
  const vouching = vouchingDevices(parent, other)
  const late = new Set<string>()
  for (const hash of sideOf(parent, other, ancestry)) {
    const { deviceId, parents } = ancestry.get(hash)
    // No device has the id of a recovery identity, which vouches for nothing.
    if (vouching.has(deviceId)) continue
    if (removed.has(deviceId) || parents.some((each) => late.has(each))) late.add(hash)
  }
  return late.has(parent.hash)
}

/** The records of a parent's side, by height. */
function sideOf(parent: Parent, other: Parent, ancestry: Ancestry): readonly string[] {
  const side = new Set([parent.hash])
  for (const each of side) {
    for (const next of ancestry.get(each).parents) {
      if (!ancestry.isWithin(next, other.hash)) side.add(next)
    }
  }
  return [...side].toSorted((a, b) => ancestry.get(a).height - ancestry.get(b).height)
}

/** The keyring records of a parent's side. */
function changesOfSide(parent: Parent, other: Parent): readonly KeyringChange[] {
  const [own, others] = [parent, other].map(({ past }) => past.keyring?.changes ?? new Map())
  return [...(own ?? [])].filter(([record]) => !others?.has(record)).map(([, change]) => change)
}

function vouchingDevices(parent: Parent, other: Parent): ReadonlySet<string> {
  const removing = changesOfSide(other, parent).filter(({ removed }) => removed.length > 0)
  const removals = removing.map(({ directory }) => directory)
  const isRemoved = (id: string): boolean => removals.some((directory) => isOut(id, directory))
  const staysIn = (id: string): boolean =>
    removals.every(({ devices }) => devices.some((d) => d.deviceId === id))
  const ids = removals.flatMap(({ devices }) => devices).map(({ deviceId }) => deviceId)
  const there = other.past.keyring?.directory.devices ?? []
  const admitted = there.filter((d) => d.admittedBy === 1).map(({ deviceId }) => deviceId)
  const known = [...ids.filter(staysIn), ...admitted]
  const vouching = new Set(known.filter((id) => !isRemoved(id)))
  const own = changesOfSide(parent, other)
  for (const _ of own) {
    // As often as there are records: each may need what another one adds.
    for (const { authorId, added } of own) {
      if (!vouching.has(authorId)) continue
      for (const { deviceId } of added) if (!isRemoved(deviceId)) vouching.add(deviceId)
    }
  }
  return vouching
}

function joinMemories(
  [first, second]: Both,
  versions: Versions,
  ancestry: Ancestry,
): { current: Map<string, string>; open: Map<string, readonly [string, string]> } {
  const current = new Map(first.past.current)
  const open = new Map<string, readonly [string, string]>()
  const knows = (head: Parent, version: string): boolean => {
    return ancestry.isWithin(versions.get(version)?.record ?? '', head.hash)
  }
  for (const [memoryId, q] of second.past.current) {
    const p = first.past.current.get(memoryId)
    if (p === undefined || knows(second, p)) current.set(memoryId, q)
    else if (!knows(first, q)) open.set(memoryId, [p, q])
  }
  return { current, open }
}

/** §8.2 */
function joinDevices([first, second]: Both, ancestry: Ancestry): ReadonlyMap<string, DeviceState> {
  const devices = new Map(first.past.devices)
  for (const [deviceId, b] of second.past.devices) {
    const a = devices.get(deviceId)
    if (a === undefined) devices.set(deviceId, b)
    else if (a.forked || b.forked) devices.set(deviceId, { ...a, forked: true })
    else if (ancestry.isWithin(a.hash, b.hash)) devices.set(deviceId, b)
    else if (!ancestry.isWithin(b.hash, a.hash)) devices.set(deviceId, { ...a, forked: true })
  }
  return devices
}

function byHeight(a: SettingsPlace | undefined, b: SettingsPlace | undefined): number {
  const [one, other] = [a?.height ?? 0, b?.height ?? 0]
  if (one !== other) return one - other
  return (a?.recordHash ?? '') < (b?.recordHash ?? '') ? -1 : 1
}
