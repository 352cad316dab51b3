// FORMAT §12: who may begin and end grants, and what their holders may write.

import { fromHex, label, toHex } from './bytes.ts'
import { type Directory, isInForce, roleIn } from './directory.ts'
import { H } from './hash.ts'
import type { ChangeRecord } from './record.ts'
import { ensure, refuse } from './refusal.ts'

/** A grant that was begun in the causal past. */
export interface GrantState {
  readonly key: string
  readonly granter: string
  readonly role: 'writer' | 'reader'
  readonly notAfter: number
  readonly ended: boolean
  /** The hash of the record that begins it. */
  readonly begin: string
}

export type Grants = ReadonlyMap<string, GrantState>

export function grantIdOf(key: string): string {
  return toHex(H(label('GLK1/grant/v1'), fromHex(key))).slice(0, 32)
}

/** Those of a kind 6 record, after it. */
export function applyGrants(
  before: Grants,
  record: ChangeRecord,
  hash: string,
  directory: Directory,
): Grants {
  const grants = new Map(before)
  const { deviceId: author } = record
  const entries = [...directory.devices, ...directory.recoveries]
  const used = new Set(entries.map(({ signingKey }) => toHex(signingKey)))
  for (const { key, ends, role, notAfter } of record.grants) {
    const id = grantIdOf(key)
    const known = before.get(id)
    if (ends) {
      if (known === undefined) return refuse('grant_foreign', 'No such grant was begun')
      const mayEnd = known.granter === author || roleIn(directory, author) === 'owner'
      ensure(mayEnd, 'grant_foreign', 'Another device gave the grant')
      ensure(!known.ended, 'grant_ended', 'The grant has ended before')
      grants.set(id, { ...known, ended: true })
    } else {
      ensure(known === undefined && !used.has(key), 'grant_known', 'The key is not a new one')
      if (role === undefined) return refuse('record_rows', 'A grant has a role')
      grants.set(id, { key, granter: author, role, notAfter, ended: false, begin: hash })
    }
  }
  return grants
}

/** That the holder of a grant may write this record. */
export function checkGrantAuthor(
  record: ChangeRecord,
  grant: GrantState,
  directory: Directory,
  isForked: boolean,
): void {
  const changes = record.kind === 'change' && grant.role === 'writer'
  ensure(changes, 'record_role', 'The holder of a grant changes memories alone')
  ensure(record.sequence === 0, 'record_sequence', 'A grant uses sequence 0')
  const runs = !grant.ended && record.time <= grant.notAfter
  ensure(runs, 'grant_ended', 'The grant has ended')
  const stands = isInForce(directory, grant.granter) && !isForked
  ensure(stands, 'record_device', 'The granter may not write any more')
}

interface Side {
  readonly hash: string
  readonly past: { readonly grants: Grants }
}

/** What either parent has ended, and what both have begun apart, has ended. */
export function joinGrants(
  first: Side,
  second: Side,
  isWithin: (hash: string, tip: string) => boolean,
): Grants {
  const grants = new Map(first.past.grants)
  for (const [id, b] of second.past.grants) {
    const a = grants.get(id)
    const apart =
      a !== undefined && !isWithin(a.begin, second.hash) && !isWithin(b.begin, first.hash)
    const terms = apart ? lesser(a, b) : (a ?? b)
    grants.set(id, { ...terms, ended: a?.ended === true || b.ended || apart })
  }
  return grants
}

/** By granter, role, not after. */
function lesser(a: GrantState, b: GrantState): GrantState {
  const numbers = { writer: 2, reader: 3 }
  if (a.granter !== b.granter) return a.granter < b.granter ? a : b
  const byRole = numbers[a.role] - numbers[b.role]
  return (byRole || a.notAfter - b.notAfter) <= 0 ? a : b
}
