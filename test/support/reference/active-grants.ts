// FORMAT §12: which grants are active after a record. By the document's recursion, with histories
// and sides as whole sets of records.

import { fromHex, label, toHex } from './bytes.ts'
import { mayGive, type Rights } from './directory.ts'
import { H } from './hash.ts'
import type { ChangeRecord, GrantRole } from './record.ts'

/** What of a record bears on grants. Ids and hashes are hex. */
export interface GrantRecord extends Pick<
  ChangeRecord,
  'parents' | 'deviceId' | 'time' | 'grants'
> {
  /** Those of the directory that a keyring record brings; undefined for others. */
  readonly rights: Rights | undefined
}

/** Records by hash, with all their ancestors. */
export type GrantHistory = ReadonlyMap<string, GrantRecord>

export interface ActiveGrant {
  readonly key: string
  /** A device id. */
  readonly granter: string
  readonly role: GrantRole
  /** The time of the record that began it. */
  readonly began: number
  readonly notAfter: number
}

/** By grant id. */
export type ActiveGrants = ReadonlyMap<string, ActiveGrant>

export function grantIdOf(granter: string, key: string): string {
  return toHex(H(label('GLK1/grant/v1'), fromHex(granter), fromHex(key))).slice(0, 32)
}

/** Those that are active after the record `at`; `known` keeps the results for ancestors. */
export function activeGrants(
  history: GrantHistory,
  at: string,
  known: Map<string, ActiveGrants> = new Map(),
): ActiveGrants {
  const already = known.get(at)
  if (already !== undefined) return already
  const record = recordAt(history, at)
  const before = activeBefore(history, record.parents, known)
  const kept = [...before].filter(([id, { granter }]) => !endsGrant(record, id, granter))
  const after = new Map([...kept, ...begunBy(record)])
  known.set(at, after)
  return after
}

/** Those that are active in the causal past of a record with these parents. */
export function activeBefore(
  history: GrantHistory,
  parents: readonly string[],
  known: Map<string, ActiveGrants> = new Map(),
): ActiveGrants {
  const [first, second] = parents
  if (first === undefined) return new Map()
  const one = activeGrants(history, first, known)
  if (second === undefined) return one
  const other = activeGrants(history, second, known)
  if (one.size + other.size === 0) return one
  return joined(history, { hash: first, active: one }, { hash: second, active: other })
}

interface Parent {
  readonly hash: string
  readonly active: ActiveGrants
}

function joined(history: GrantHistory, first: Parent, second: Parent): ActiveGrants {
  const firstSide = sideOf(history, first.hash, second.hash)
  const secondSide = sideOf(history, second.hash, first.hash)
  const active = new Map<string, ActiveGrant>()
  for (const [id, grant] of [...first.active, ...second.active]) {
    const begins = (record: GrantRecord): boolean => begunBy(record).has(id)
    const ends = (record: GrantRecord): boolean => endsGrant(record, id, grant.granter)
    const [one, other] = [first.active.get(id), second.active.get(id)]
    const byFirst = firstSide.some(begins)
    const bySecond = secondSide.some(begins)
    let stays: ActiveGrant | undefined
    if (byFirst && !bySecond && !secondSide.some(ends)) stays = one
    if (bySecond && !byFirst && !firstSide.some(ends)) stays = other
    if (!byFirst && !bySecond && other !== undefined) stays = one
    if (stays === undefined || isForked(history, [first.hash, second.hash], grant.granter)) continue
    active.set(id, stays)
  }
  return active
}

/** The grants that the rows of a record begin. */
export function begunBy({ deviceId, time, grants }: Omit<GrantRecord, 'rights'>): ActiveGrants {
  const begun = grants.flatMap((row) => {
    if (row.ends) return []
    const { key, role, notAfter } = row
    const grant = { key, granter: deviceId, role, began: time, notAfter }
    return [[grantIdOf(deviceId, key), grant] as const]
  })
  return new Map(begun)
}

/** Whether a record ends a grant: by a row, or by a directory in which the granter may not give. */
export function endsGrant({ grants, rights }: GrantRecord, id: string, granter: string): boolean {
  const byRow = grants.some((row) => row.ends && row.grantId === id)
  return byRow || (rights !== undefined && !mayGive(rights, granter))
}

/** §8.2: whether two records of the device that the tips know of know nothing of each other. */
export function isForked(
  history: GrantHistory,
  tips: readonly string[],
  deviceId: string,
): boolean {
  const all = tips.flatMap((tip) => [...historyOf(history, tip)])
  const own = [...new Set(all)].filter((hash) => recordAt(history, hash).deviceId === deviceId)
  const pasts = own.map((hash) => [hash, historyOf(history, hash)] as const)
  return pasts.some(([one, past]) => {
    return pasts.some(([other, otherPast]) => !past.has(other) && !otherPast.has(one))
  })
}

/** A record and its ancestors. */
export function historyOf(history: GrantHistory, hash: string): ReadonlySet<string> {
  const within = new Set([hash])
  for (const each of within) {
    for (const parent of recordAt(history, each).parents) within.add(parent)
  }
  return within
}

/** §7.2: the records in the history of one that are not in that of the other. */
function sideOf(history: GrantHistory, one: string, other: string): readonly GrantRecord[] {
  const others = historyOf(history, other)
  const own = [...historyOf(history, one)].filter((hash) => !others.has(hash))
  return own.map((hash) => recordAt(history, hash))
}

function recordAt(history: GrantHistory, hash: string): GrantRecord {
  const record = history.get(hash)
  if (record === undefined) throw new Error('An ancestor is missing')
  return record
}
