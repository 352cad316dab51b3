// FORMAT §6.4, two parents: what a record finds in its causal past where two clones have gone on
// side by side. Everything is worked out from the document's definitions: ancestry is asked for
// record by record.

import { begunBy, endsGrant, type GrantHistory, type GrantRecord } from './active-grants.ts'
import { type Directory, isInForce, type Rights, roleIn } from './directory.ts'
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

export interface KeyringState {
  readonly directory: Directory
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

/** The state that is in force after a record. */
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
  readonly #grants: Map<string, GrantRecord> = new Map()
  readonly #granters: Map<string, string> = new Map()

  /** `rights` are those of the directory that the record brings, if it does. */
  add(hash: string, record: ChangeRecord, rights: Rights | undefined): void {
    const { parents, deviceId, time, grants } = record
    this.#records.set(hash, record)
    this.#grants.set(hash, { parents, deviceId, time, grants, rights })
    for (const [id, { granter }] of begunBy(record)) this.#granters.set(id, granter)
  }

  /** What bears on grants. */
  get grants(): GrantHistory {
    return this.#grants
  }

  /** Whether a record ends the grant with this id (§12). */
  endsGrant(hash: string, id: string): boolean {
    const [record, granter] = [this.#grants.get(hash), this.#granters.get(id)]
    return record !== undefined && granter !== undefined && endsGrant(record, id, granter)
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

/** A record hash, and the state after it. */
export interface Parent {
  readonly hash: string
  readonly past: Past
}

/** Memories for which a merge must have a row: their versions at its first and second parent. */
export type OpenMemories = ReadonlyMap<string, readonly [first: string, second: string]>

export interface JoinedPast {
  readonly past: Past
  readonly open: OpenMemories
  /** Whether only an owner of now may merge the two parents. */
  readonly needsOwner: boolean
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
  const keyring = laterKeyring(both, ancestry)
  const { directory } = keyring
  for (const [own, other] of [both, [second, first] as const]) {
    const after = afterRevocation(own, other, directory, ancestry)
    const stands = !after.has(own.hash)
    ensure(stands, 'record_after_revocation', 'A parent is after the revocation of its author')
  }
  const needsOwner = [both, [second, first] as const].some(([own, other]) => {
    return hasLostOwners(own, other, directory, ancestry)
  })
  const memories = joinMemories(both, versions, ancestry)
  const devices = joinDevices(both, ancestry)
  const settings = [first.past.settings, second.past.settings].toSorted(byHeight).at(-1)
  const past = { current: memories.current, devices, keyring, settings }
  return { past, open: memories.open, needsOwner }
}

type Both = readonly [Parent, Parent]

/** §7.2 */
function laterKeyring([first, second]: Both, ancestry: Ancestry): KeyringState {
  const [a, b] = [first.past.keyring, second.past.keyring]
  if (a === undefined || b === undefined) throw new Error('genesis has brought a keyring')
  if (ancestry.isWithin(a.recordHash, b.recordHash)) return b
  const isLater = ancestry.isWithin(b.recordHash, a.recordHash)
  ensure(isLater, 'keyring_conflict', 'Two keyring records know nothing of each other')
  return a
}

/** §7.4: the records of a side that are after revocation, found from the oldest on. */
function afterRevocation(
  parent: Parent,
  other: Parent,
  directory: Directory,
  ancestry: Ancestry,
): ReadonlySet<string> {
  const before = parent.past.keyring?.directory
  const otherSide = sideOf(other, parent, ancestry)
  const after = new Set<string>()
  for (const hash of sideOf(parent, other, ancestry)) {
    const { kind, deviceId: author, parents } = ancestry.get(hash)
    if (kind === 'keyring' || isInForce(directory, author)) continue
    const hasEnded =
      isInForce(before, author) || otherSide.some((each) => ancestry.endsGrant(each, author))
    if (hasEnded || parents.some((each) => after.has(each))) after.add(hash)
  }
  return after
}

/** §7.4: whether a side has records that only owners write, by a former owner. */
function hasLostOwners(
  parent: Parent,
  other: Parent,
  directory: Directory,
  ancestry: Ancestry,
): boolean {
  const before = parent.past.keyring?.directory
  return sideOf(parent, other, ancestry).some((hash) => {
    const { kind, deviceId } = ancestry.get(hash)
    const wasOwner = roleIn(before, deviceId) === 'owner' && roleIn(directory, deviceId) !== 'owner'
    return ['redact', 'settings', 'grants'].includes(kind) && wasOwner
  })
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
