// Joins the concurrent keyrings of a sync (FORMAT §7.2), if this device is an owner in what they
// make, and reports the result, since a join takes away rights that one side had given. Must not
// decide the joined directory: format/directory-join.ts does.

import { compareBytes } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { isLower, joinDirectories } from '../../format/directory-join.ts'
import { type DeviceEntry, type Directory, findDevice, type Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import {
  joinKeyrings,
  type NewKeyring,
  type OpenedKeyring,
  openKnownKeyring,
} from '../../keys/keyring.ts'
import { readHeadKeyring } from '../access/authority.ts'
import { checkChangesSound, checkOwnsJoin, readKeyringChanges } from '../access/keyring-join.ts'
import type { Divergence } from '../commits/divergence.ts'
import type { HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { KeyringState, Snapshot } from '../snapshot/snapshot.ts'

/** The effects of joining two keyrings. Device ids are `dev_…`. */
export interface JoinedKeyrings {
  /**
   * Devices that one side had as active and the join has not: the other side had removed them, had
   * dropped the passphrase that let them in, or had a different key for them.
   */
  readonly removed: readonly string[]
  /** Devices that had two roles and keep the lower one. */
  readonly lowered: readonly { readonly deviceId: string; readonly role: Role }[]
  /** The number of passphrases that open the store: all that one side has set and none replaced. */
  readonly passphrases: number
  /**
   * The number of passphrases and recovery keys that the join dropped, and neither side before: the
   * sides had different keys for them, or there were too many passphrases.
   */
  readonly dropped: number
}

type Tip = Pick<Snapshot, 'head' | 'keyring'>

export interface Tips {
  readonly ours: Tip
  readonly theirs: Tip
}

/**
 * Makes the keyring that joins those of two heads. Throws `keyring_conflict` if this device may not
 * join them, or nobody may, and `store_full`.
 */
export async function joinHeadKeyrings(
  session: Pick<StoreSession, 'storeId' | 'identity' | 'random'>,
  source: HistorySource,
  tips: Tips,
  divergence: Divergence,
): Promise<NewKeyring> {
  const { storeId, identity, random } = session
  const { ours, theirs } = tips
  const isOursFirst = compareBytes(ours.head.record, theirs.head.record) < 0
  const [first, second] = isOursFirst ? ([ours, theirs] as const) : ([theirs, ours] as const)
  const joined = joinDirectories(storeId, [first.keyring.directory, second.keyring.directory])
  checkOwnsJoin(identity.deviceId, joined)
  checkSidesSound(source, tips, divergence)
  // One side may not know this device, and be of an epoch that it has in its archives.
  const open = ({ head }: Tip): OpenedKeyring => {
    const bytes = readHeadKeyring(source.objects, head.commit)
    return openKnownKeyring(bytes, storeId, source.epochs)
  }
  return joinKeyrings([open(first), open(second)], random)
}

function checkSidesSound(
  source: HistorySource,
  { ours, theirs }: Tips,
  divergence: Divergence,
): void {
  const changes = {
    ours: readKeyringChanges(source, divergence.ours.keyrings),
    theirs: readKeyringChanges(source, divergence.theirs.keyrings),
  }
  try {
    checkChangesSound(
      { keyring: ours.keyring, changes: changes.ours },
      { keyring: theirs.keyring, changes: changes.theirs },
    )
  } catch (error) {
    if (!hasCode(error, 'record_late')) throw error
    throw new StoreError(
      'keyring_conflict',
      `Both sides changed who may open the store: ${error.message}. ` +
        '`sync --repair` leaves it out, with what the devices that it admitted have written: ' +
        '`gitlocket export` on them saves that. If it refuses too, one side joins anew, ' +
        'or replaces what the remote shows: `git push --force <address> main`',
      { cause: error },
    )
  }
}

/** The sum of the reports of two joins in one sync; undefined if there was none. */
export function addJoinReports(
  first: JoinedKeyrings | undefined,
  second: JoinedKeyrings | undefined,
): JoinedKeyrings | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const lowered = [...first.lowered, ...second.lowered].map((one) => [one.deviceId, one] as const)
  return {
    removed: [...new Set([...first.removed, ...second.removed])],
    lowered: [...new Map(lowered).values()],
    passphrases: second.passphrases,
    dropped: first.dropped + second.dropped,
  }
}

/** Compares the directory of a join with those of both sides. */
export function describeJoin(
  { ours, theirs }: Readonly<Record<keyof Tips, { keyring: Pick<KeyringState, 'directory'> }>>,
  { directory }: Pick<NewKeyring, 'directory'>,
): JoinedKeyrings {
  const sides = [ours, theirs].map(({ keyring }) => keyring.directory)
  const sidesHave = (id: string): readonly DeviceEntry[] => {
    return sides.flatMap((side) => findDevice(side, id) ?? [])
  }
  const before = new Set(sides.flatMap(({ devices }) => devices.map((one) => one.deviceId)))
  const removed = [...before]
    .filter((deviceId) => findDevice(directory, deviceId) === undefined)
    .map((deviceId) => formatId('device', deviceId))
    .toSorted()
  const lowered = directory.devices
    .filter(({ deviceId, role }) => sidesHave(deviceId).some((one) => isLower(role, one.role)))
    .map(({ deviceId, role }) => ({ deviceId: formatId('device', deviceId), role }))
  const passphrases = directory.recovery.filter(({ type }) => type === 'passphrase').length
  return { removed, lowered, passphrases, dropped: countDropped(sides, directory) }
}

function countDropped(sides: readonly Directory[], { gone }: Directory): number {
  const before = new Set(sides.flatMap((side) => side.gone))
  const entries = new Set(sides.flatMap(({ recovery }) => recovery.map(({ slotId }) => slotId)))
  return gone.filter((slotId) => entries.has(slotId) && !before.has(slotId)).length
}
