// A store's report on itself: its state and sizes, and whether its whole history verifies.
// Changes nothing.

import { hasCode } from '../errors.ts'
import { findDevice, type Givers, type MemberRole } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import type { Settings } from '../format/settings.ts'
import type { Remote } from '../git/exchange.ts'
import type { Reclaimable, StorageStatus } from '../git/object-store.ts'
import { roleOf } from './access/authority.ts'
import { countSecrets, type Secrets } from './devices/devices.ts'
import { onCurrentHead } from './session/one-state.ts'
import type { StoreSession } from './session/session.ts'
import { shownAt } from './session/shown-age.ts'
import type { ClockLeap } from './session/writer-clock.ts'
import { type ComparedState, comparedOf } from './snapshot/compared.ts'
import type { RemoteStatus } from './sync/remote-state.ts'
import { membershipRemote } from './sync/report.ts'
import { verifyHistory, type VerifyOptions } from './verify/verify.ts'

/** The contents of each place, before and after. */
export interface CompactReport {
  readonly before: StorageStatus
  readonly after: StorageStatus
}

export interface VerifyReport {
  readonly commits: number
  readonly versions: number
  readonly memories: number
  /** The newest commit, 40 hex digits. */
  readonly head: string
}

/** Times are ms since 1970. */
export interface StoreInfo {
  readonly storeId: string
  readonly settings: Settings
  readonly createdAt: number
  /** When the settings were changed last. */
  readonly updatedAt: number
}

export interface StoreStatus extends ComparedState {
  readonly storeId: string
  readonly deviceId: string
  /** FORMAT §1.5: for people, may be empty; undefined for a device that was removed. */
  readonly deviceName: string | undefined
  /** Undefined for a device that was removed. */
  readonly role: MemberRole | undefined
  /** The newest commit, 40 hex digits. */
  readonly head: string
  readonly commits: number
  readonly memories: number
  readonly contentBytes: number
  readonly epochs: number
  /** The passphrases and recovery keys. */
  readonly secrets: Secrets
  /** How many active devices there may be that a passphrase has admitted. */
  readonly passphraseQuota: number
  /** Whose devices may give grants. */
  readonly givers: Givers
  readonly settings: Settings
  readonly storage: StorageStatus
  /** What the next checkpoint or a repack would free. */
  readonly reclaimable: Reclaimable
  readonly remotes: readonly RemoteStatus[]
  /** Whether a change of the members made here may not have reached the remote for that. */
  readonly membershipPending: boolean
  /** The devices, `dev_…`, that the next sync with that remote removes. */
  readonly waitingRemovals: readonly string[]
  /** The remote that changes of the members go to; undefined without, or if none is chosen. */
  readonly membershipRemote: string | undefined
  /** When the grant that opens this clone ends, ms since 1970; undefined without a grant. */
  readonly grantExpiresAt: number | undefined
  /** Where such a clone begins; undefined for the whole history. */
  readonly beginning: HistoryBeginning | undefined
  /**
   * When the newest state that the remote has shown to such a clone was current: the time of the
   * granter's baseline, or of a newer record of a device; ms since 1970.
   */
  readonly shownAt: number | undefined
  /** Whether the clock and the newest record are far apart: undefined if they are not. */
  readonly clockLeap: ClockLeap | undefined
}

/** What a page about a store shows at once: no more than is in RAM, whatever the store's size. */
export interface StoreSummary extends Pick<
  StoreStatus,
  | 'storeId'
  | 'deviceId'
  | 'deviceName'
  | 'role'
  | 'head'
  | 'headFingerprint'
  | 'address'
  | 'keyringFingerprint'
  | 'memories'
  | 'contentBytes'
  | 'settings'
  | 'remotes'
> {
  /** Undefined until the history is read, if no cache has the number. */
  readonly commits: number | undefined
}

/** From genesis, reading git alone. Throws the code of the first violation. */
export function verifyStore(session: StoreSession, options: VerifyOptions): Promise<VerifyReport> {
  return onCurrentHead(session, async (head) => {
    const { snapshot, versions, commits } = await verifyHistory(session, head, options)
    return { commits, versions: versions.size, memories: snapshot.count, head }
  })
}

/** Where a clone without the earlier history begins. */
export interface HistoryBeginning {
  /** The device, `dev_…`, that says what was before, and when it did, ms since 1970. */
  readonly deviceId: string
  readonly time: number
  /** The commit, 40 hex digits, whose state it describes. */
  readonly commit: string
}

export function beginningOf({ beginning }: StoreSession): HistoryBeginning | undefined {
  if (beginning === undefined) return undefined
  const { deviceId, time, snapshot } = beginning
  return { deviceId: formatId('device', deviceId), time, commit: snapshot.head.commit }
}

function shownAtOf({ identity, snapshot, beginning }: StoreSession): number | undefined {
  const held = identity.grant
  return held && shownAt({ snapshot, beginning, held })
}

export function readInfo(session: StoreSession): Promise<StoreInfo> {
  return session.reading(({ settings: { value, created, updated } }) => ({
    storeId: formatId('store', session.storeId),
    settings: structuredClone(value),
    createdAt: created,
    updatedAt: updated,
  }))
}

export async function readSummary(session: StoreSession): Promise<StoreSummary> {
  const { readRemoteStatus } = await import('./sync/remote-state.ts')
  const remotes = await readRemoteStatus(session)
  return session.planning(() => summaryOf(session, remotes))
}

export async function readStatus(session: StoreSession): Promise<StoreStatus> {
  const { objects, epochs } = session
  const { readRemoteStatus } = await import('./sync/remote-state.ts')
  const commits = await countCommits(session)
  const remotes = await readRemoteStatus(session)
  return session.planning(async () => {
    const { snapshot } = session
    const summary = await summaryOf(session, remotes)
    return {
      ...summary,
      // For the commits since: few, so that no writer has to wait.
      commits: summary.commits ?? commits,
      epochs: epochs.size,
      secrets: countSecrets(snapshot),
      passphraseQuota: snapshot.keyring.directory.quota,
      givers: snapshot.keyring.directory.givers,
      storage: objects.status(),
      reclaimable: objects.reclaimable(),
      membershipPending: (await session.seenRemotes.pending()) !== undefined,
      waitingRemovals: await session.seenRemotes.removals(),
      membershipRemote: (await findMembershipRemote(session))?.name,
      grantExpiresAt: snapshot.grants.get(session.identity.deviceId)?.notAfter,
      beginning: beginningOf(session),
      shownAt: shownAtOf(session),
      clockLeap: session.clock.findLeap(snapshot),
    }
  })
}

async function findMembershipRemote({
  objects,
  seenRemotes,
}: StoreSession): Promise<Remote | undefined> {
  const remotes = objects.exchange.remotes()
  try {
    return membershipRemote({ remotes, chosen: await seenRemotes.membership() })
  } catch (error) {
    // There are several remotes, and the user has not chosen one yet.
    if (hasCode(error, 'invalid_input')) return undefined
    throw error
  }
}

/** Within one turn of the session. */
async function summaryOf(
  { identity, storeId, snapshot, local }: StoreSession,
  remotes: readonly RemoteStatus[],
): Promise<StoreSummary> {
  const counted = await local.findCount(snapshot.head.commit)
  return {
    storeId: formatId('store', storeId),
    deviceId: formatId('device', identity.deviceId),
    deviceName: findDevice(snapshot.keyring.directory, identity.deviceId)?.name,
    role: roleOf(snapshot, identity.deviceId),
    head: snapshot.head.commit,
    ...(await comparedOf(storeId, snapshot)),
    commits: counted?.commits,
    memories: snapshot.count,
    contentBytes: snapshot.paths.root.bytes,
    settings: snapshot.settings.value,
    remotes,
  }
}

/** With the history in RAM only where no count is known to go on from, which is then kept. */
async function countCommits(session: StoreSession): Promise<number> {
  const { commit } = await session.reading((snapshot) => snapshot.head)
  const known = await session.local.findCount(commit)
  if (known !== undefined) return known.commits
  const { head, commits } = await session.loadHistory()
  if (head !== undefined) session.local.counted = { commit: head.oid, commits: commits.length }
  return commits.length
}
