// The grants of this device (FORMAT §12): their numbers, from which their secrets follow. The notes
// (grant-notes.ts) have them; if those were lost, they are found again by trial, as a device that
// was installed again from its identity needs. No number is used twice.

import { assert } from '../../errors.ts'
import { grantIdOf } from '../../format/id.ts'
import { grantKeysOf, grantOf, refName } from '../../keys/wraps.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { type GivenGrant, type GrantsFile, noGrants } from '../local/grant-notes.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** After this many numbers in a row that no grant of the history has, the search ends. */
const GAP_MAX = 1024

/** The ids of the grants of this device that have not ended, ascending. */
export function liveGrants({ grants }: Snapshot, deviceId: string): string[] {
  return [...grants].flatMap(([id, { granter }]) => (granter === deviceId ? [id] : []))
}

/** The names of devices' refs at remotes (FORMAT §12), at the newest head. Call in a turn. */
export function refNames({ snapshot, epochs }: StoreSession): (deviceId: string) => string {
  const { kid, archived } = snapshot.keyring
  const first = epochs.get(archived[0] ?? kid)
  assert(first !== undefined, 'a member has the keys of all epochs')
  return (deviceId) => refName(first, deviceId)
}

/** The notes, with what the history knows and they have lost. Call while planning or writing. */
export async function readNotes(session: StoreSession): Promise<GrantsFile> {
  const { snapshot, identity } = session
  const { deviceId } = identity
  const file = await session.grantNotes.read()
  const known = new Set(file?.given.map(({ id }) => id))
  // Without a file the numbers of ended grants are needed too: they must not be given again.
  const ids = file === undefined ? await everGiven(session) : liveGrants(snapshot, deviceId)
  const missing = ids.filter((id) => !known.has(id))
  if (missing.length === 0) return file ?? noGrants
  const found = findByTrial(session, new Set(missing))
  const before = file ?? noGrants
  const next = Math.max(before.next, ...found.map(({ number }) => number + 1))
  return { ...before, next, given: [...before.given, ...found] }
}

/** The ids of all grants that this device has begun, from the history. */
async function everGiven(session: StoreSession): Promise<readonly string[]> {
  const { deviceId } = session.identity
  const history = await session.historyNow()
  const ids = new Set<string>()
  for (const commit of history.commits) {
    if (commit.kind !== 'grants' || commit.deviceId !== deviceId) continue
    for (const row of decodeAt(session, commit.oid).record.grants) {
      if (row.begins !== undefined) ids.add(grantIdOf(deviceId, row.key))
    }
  }
  return [...ids]
}

function findByTrial({ identity, storeId }: StoreSession, wanted: Set<string>): GivenGrant[] {
  const found: GivenGrant[] = []
  let last = -1
  for (let number = 0; found.length < wanted.size && number - last <= GAP_MAX; number += 1) {
    const { grantId: id } = grantKeysOf(grantOf(identity, storeId, number))
    if (!wanted.has(id)) continue
    found.push({ id, number, label: '' })
    last = number
  }
  return found
}

/** A number that was never given, durable when it resolves. Call while writing. */
export async function reserveGrant(session: StoreSession, label: string): Promise<GivenGrant> {
  const { identity, storeId } = session
  const known = await readNotes(session)
  const file = await session.grantNotes.change((now) => {
    const number = Math.max(now.next, known.next)
    const { grantId: id } = grantKeysOf(grantOf(identity, storeId, number))
    const given = now.given.length < known.given.length ? known.given : now.given
    return { ...now, next: number + 1, given: [...given, { id, number, label }] }
  })
  const grant = file.given.at(-1)
  if (grant === undefined) throw new Error('a reserved number is noted')
  return grant
}
