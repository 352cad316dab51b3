// Keyrings that both sides of a sync have changed, neither knowing of the other (FORMAT §7.2): this
// device joins them if it is an owner on both sides. What that did is said in the report, for it
// takes rights that one side had given.

import { compareBytes } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { isLower } from '../../format/directory-join.ts'
import { type Directory, findDevice, type Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { joinKeyrings, type NewKeyring, type OpenedKeyring } from '../../keys/keyring.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { checkChanges, checkMayJoin, readChanges } from '../access/keyring-join.ts'
import type { Divergence } from '../commits/divergence.ts'
import type { HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { KeyringState, Snapshot } from '../snapshot/snapshot.ts'

/** What a sync made of two keyrings. Device ids are `dev_…`. */
export interface JoinedKeyrings {
  /**
   * Devices of either side that are none any more: the other had removed them, or knew other keys
   * of them, as where an owner adds a key of its own under the id of another's device.
   */
  readonly removed: readonly string[]
  /** Devices that keep the lower one of the two roles that they had. */
  readonly lowered: readonly { readonly deviceId: string; readonly role: Role }[]
  /** How many passphrases open the store: each that one side has set and no side has replaced. */
  readonly passphrases: number
  /**
   * How many passphrases and recovery keys open it no more that neither side had dropped: each side
   * had other keys of them, or there were too many passphrases.
   */
  readonly dropped: number
}

type Tip = Pick<Snapshot, 'head' | 'keyring'>

export interface Tips {
  readonly ours: Tip
  readonly theirs: Tip
}

/**
 * The keyring that joins those of two heads. Throws `keyring_conflict` where this device must not,
 * or none may, and `store_full`.
 */
export async function joinFor(
  session: Pick<StoreSession, 'storeId' | 'identity' | 'random'>,
  source: HistorySource,
  tips: Tips,
  divergence: Divergence,
): Promise<NewKeyring> {
  const { storeId, identity, random } = session
  const { ours, theirs } = tips
  checkMayJoin(identity.deviceId, [ours.keyring, theirs.keyring])
  checkSides(source, tips, divergence)
  const unlock = { type: 'identity', identity } as const
  const open = ({ head }: Tip): Promise<OpenedKeyring> => {
    return openHeadKeyring(source.objects, storeId, unlock, head.commit)
  }
  const isOursFirst = compareBytes(ours.head.record, theirs.head.record) < 0
  const inOrder = isOursFirst ? ([ours, theirs] as const) : ([theirs, ours] as const)
  const next = joinKeyrings([await open(inOrder[0]), await open(inOrder[1])], random)
  checkStays(next.directory, identity.deviceId)
  return next
}

/** The slot of a keyring may be this device's though its directory lists another key of it. */
function checkStays(directory: Directory, deviceId: string): void {
  if (findDevice(directory, deviceId)?.removed === 0) return
  throw new StoreError(
    'keyring_conflict',
    'Both sides changed who may open the store, and they have different keys of this device: ' +
      'another owner of both sides has to sync, which removes it',
  )
}

function checkSides(source: HistorySource, { ours, theirs }: Tips, divergence: Divergence): void {
  const changes = {
    ours: readChanges(source, divergence.ours.keyrings),
    theirs: readChanges(source, divergence.theirs.keyrings),
  }
  try {
    checkChanges(
      { keyring: ours.keyring, changes: changes.ours },
      { keyring: theirs.keyring, changes: changes.theirs },
    )
  } catch (error) {
    if (!hasCode(error, 'record_late')) throw error
    throw new StoreError(
      'keyring_conflict',
      `Both sides changed who may open the store: ${error.message}. Where nobody else wrote ` +
        'after that, `sync --repair` leaves it out',
      { cause: error },
    )
  }
}

/** What two joins of one sync did. */
export function addJoined(
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

export function describeJoin(
  { ours, theirs }: Readonly<Record<keyof Tips, { keyring: Pick<KeyringState, 'directory'> }>>,
  { directory }: Pick<NewKeyring, 'directory'>,
): JoinedKeyrings {
  const sides = [ours, theirs].map(({ keyring }) => keyring.directory)
  const removed: string[] = []
  const lowered: { deviceId: string; role: Role }[] = []
  for (const { deviceId: id, role, removed: isRemoved } of directory.devices) {
    const before = sides.flatMap((side) => findDevice(side, id) ?? [])
    const deviceId = formatId('device', id)
    if (isRemoved !== 0) {
      if (before.some((device) => device.removed === 0)) removed.push(deviceId)
    } else if (before.some((device) => isLower(role, device.role))) {
      lowered.push({ deviceId, role })
    }
  }
  const passphrases = directory.recovery.filter(({ type }) => type === 'passphrase').length
  return { removed, lowered, passphrases, dropped: countDropped(sides, directory) }
}

function countDropped(sides: readonly Directory[], { gone }: Directory): number {
  const before = new Set(sides.flatMap((side) => side.gone))
  const there = new Set(sides.flatMap(({ recovery }) => recovery.map(({ slotId }) => slotId)))
  return gone.filter((slotId) => there.has(slotId) && !before.has(slotId)).length
}
