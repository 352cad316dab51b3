// The options of a sync and its report; the choice of its remote; and which of its errors are a
// verdict on the history of the remote. Every start of the library loads this file, so it must not
// import modules that only a sync needs.

import type { WorkOptions } from '../../async.ts'
import { StoreError, type ErrorCode, hasCode } from '../../errors.ts'
import type { AdmittedBy, Directory, Role } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { unknownRemoteError } from '../../git/refs/remotes.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import type { GrantsReport } from '../grants/publish.ts'
import type { Conflict } from '../history/conflicts.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../redaction/built-on.ts'
import type { MemoryInfo } from '../snapshot/live-memory.ts'
import type { LateChange } from './refusals.ts'

/** What an owner can repeat of the line of keyrings that a repair drops. */
export type Redo = 'redactions' | 'members'

export interface SyncOptions extends WorkOptions {
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  /** Runs one half only: `pull` sends nothing, `push` adopts no other head. */
  readonly only?: 'pull' | 'push' | undefined
  /**
   * Repairs the remote from this store: a head that was rolled back is merged and then replaced, a
   * head that does not verify is replaced if the remote had shown ours before, and all objects are
   * sent.
   */
  readonly repair?: boolean | undefined
  /** With `repair`, by an owner: what to repeat of the line that is dropped. */
  readonly redo?: readonly Redo[] | undefined
  /**
   * Follows the remote where this device and others have changed the keyring without knowing of
   * each other, or where a merge is held: what this device wrote since is written again on top.
   */
  readonly takeTheirs?: boolean | undefined
  /**
   * The commit, 40 hex digits, that an error `merge_held` has named: as an owner, this device
   * merges what a former owner has redacted or set there.
   */
  readonly mergeHeld?: string | undefined
  /** @internal Called before the first byte of a pack is sent. */
  readonly willSend?: (() => void) | undefined
  /** @internal No user waits for it: leaves others time between rounds, and runs more of them. */
  readonly patient?: boolean | undefined
  /** @internal Whether someone reads the report, so that it need not say the same again. */
  readonly isRead?: boolean | undefined
  /** @internal A clone without its early history never fetches that: it is in RAM. */
  readonly staysPartial?: boolean | undefined
  /** @internal The most rows of a merge; tests lower it. */
  readonly rowsMax?: number | undefined
  /** @internal A larger push, in bytes, is sent in steps; tests lower it. */
  readonly stepBytes?: number | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

export interface StoreSyncOptions extends SyncOptions {
  /** The name of a remote; optional if there is only one. */
  readonly remote?: string | undefined
}

/** This machine's own choice: others may have chosen another one. */
export interface MembershipRemote {
  readonly remotes: readonly Remote[]
  /** The name that a user has chosen. */
  readonly chosen: string | undefined
}

/**
 * The remote that changes of the keyring are pushed to: the chosen one, else `origin`, else the
 * only one. Undefined without remotes. Throws `invalid_input` if a user has to choose.
 */
export function membershipRemote({ remotes, chosen }: MembershipRemote): Remote | undefined {
  const named = (name: string | undefined): Remote | undefined =>
    remotes.find((remote) => remote.name === name)
  const found = named(chosen) ?? named('origin') ?? (remotes.length === 1 ? remotes[0] : undefined)
  if (found !== undefined || remotes.length === 0) return found
  throw new StoreError(
    'invalid_input',
    'The store has several remotes: choose the one that changes of its members go to first, with ' +
      '`gitlocket remote set-membership`',
  )
}

/** The named remote, or the only one. Throws `not_found`, or `invalid_input` for several. */
export function chooseRemote(remotes: readonly Remote[], name: string | undefined): Remote {
  const found = name === undefined ? remotes : remotes.filter((remote) => remote.name === name)
  if (found.length > 1) {
    throw new StoreError(
      'invalid_input',
      'The store has several remotes: name the one to sync with',
    )
  }
  if (found[0] !== undefined) return found[0]
  if (name !== undefined) throw unknownRemoteError(name)
  throw new StoreError('not_found', 'The store has no remote')
}

/**
 * A clone that a grant began, and below whose first state something was redacted, has begun anew
 * from a newer state that the device which gave the grant describes.
 */
export interface BegunAnew {
  /** That device, `dev_…`. */
  readonly deviceId: string
  /** The number of changes that the remote lacked and that were written again on top. */
  readonly changes: number
  /**
   * The new versions among them that may hold a redacted text, oldest first: they were written here
   * on a version that is redacted now. No redaction of that version finds them.
   */
  readonly mayRepeat: readonly BuiltOnRedacted[]
  /** By the id that each version had before: what took its place. */
  readonly replaced: ReadonlyMap<string, ReplacedVersion>
}

/** A version that was written again. */
export interface ReplacedVersion {
  readonly commit: string
  readonly versionId: string
  /** The memory that it left, if any. */
  readonly memory: MemoryInfo | undefined
}

/** Changes of one grant that were written again in the name of this device. */
export interface GrantChanges {
  /** `dev_…`, as the author of its records. */
  readonly grantId: string
  readonly changes: number
  /** The live memories that hold them now. */
  readonly memories: readonly { readonly memoryId: string; readonly path: string }[]
}

/**
 * Why a version is lost: `not_here`, the memory exists only through the removed device;
 * `overlaps`, the edit cannot be told apart from what that device wrote; `redacted`, it may hold an
 * erased text; `refused`, the store does not take it, such as above a limit.
 */
export type NotWritten = 'not_here' | 'overlaps' | 'redacted' | 'refused'

/** A version of a grant that was left out and is not written again. */
export interface NotWrittenVersion {
  readonly grantId: string
  /** `memver_…` */
  readonly versionId: string
  /** `mem_…` */
  readonly memoryId: string
  /** Undefined once redacted. */
  readonly path: string | undefined
  readonly why: NotWritten
}

/** What grants in force wrote on top of late records, which were left out (FORMAT §7.4). */
export interface GrantWork {
  readonly again: readonly GrantChanges[]
  readonly notAgain: readonly NotWrittenVersion[]
}

export const noGrantWork: GrantWork = { again: [], notAgain: [] }

/** A commit that was refused, and the code. */
export interface RefusedCommit {
  readonly commit: string
  readonly code: ErrorCode
}

/** A head of the remote that does not verify and that a repair has replaced. */
export interface ReplacedHead {
  readonly commit: string
  readonly code: ErrorCode
  /** The commits of it that were adopted: those below its newest ancestors that verify. */
  readonly kept: number
  readonly dropped: number
  /** Those that were found to be bad, at most 16; the others rest on them. */
  readonly refused: readonly RefusedCommit[]
}

/** The commits that the remote accepted, and the bytes sent. */
export interface Sent {
  readonly commits: number
  readonly bytes: number
}

export const nothingSent: Sent = { commits: 0, bytes: 0 }

/** The part of a report about received commits, and how they were reconciled. */
type Taken = Pick<
  SyncReport,
  | 'received'
  | 'merge'
  | 'outcomes'
  | 'mergedElsewhere'
  | 'settings'
  | 'erased'
  | 'late'
  | 'hasRepeated'
  | 'grantWork'
  | 'replaced'
  | 'begunAnew'
> & {
  /** Whether this brought versions that may repeat a redacted text. */
  readonly builtOnRedacted: boolean
}

export const nothingTaken: Taken = {
  received: { commits: 0, bytes: 0 },
  merge: undefined,
  outcomes: [],
  mergedElsewhere: [],
  settings: undefined,
  builtOnRedacted: false,
  erased: 0,
  late: [],
  hasRepeated: false,
  grantWork: noGrantWork,
  replaced: undefined,
  begunAnew: undefined,
}

export type Moved = Taken & Pick<SyncReport, 'sent'>

/**
 * `replaced`: the settings of another device are in force now. `kept`: another device has changed
 * them too, and ours remain in force.
 */
export type SettingsOutcome = 'replaced' | 'kept'

/** The report of one sync with one remote. */
export interface SyncReport {
  readonly remote: string
  /** The commits that this clone adopted, and the bytes received. */
  readonly received: { readonly commits: number; readonly bytes: number }
  readonly sent: Sent
  /** The commit that joined both histories; undefined where one contained the other. */
  readonly merge: string | undefined
  /** The results for memories that both sides had changed. */
  readonly outcomes: readonly MergeOutcome[]
  /** The results of merges in other clones that came with this sync, newest first. */
  readonly mergedElsewhere: readonly Conflict[]
  /** Undefined if no other device has changed the settings. */
  readonly settings: SettingsOutcome | undefined
  /**
   * All versions that may hold a redacted text, newest first, if this sync brought such versions:
   * they were written on a redacted one by a device that did not know of the redaction.
   */
  readonly builtOnRedacted: readonly BuiltOnRedacted[]
  /** The number of versions that redactions of other clones have erased here. */
  readonly erased: number
  /** The devices that have not acknowledged the redactions that this sync brought. */
  readonly pendingDevices: readonly PendingDevice[]
  /** The newest commit here, 40 hex digits, and its fingerprint for comparison by voice. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /**
   * Changes that are not part of the history: late ones (FORMAT §7.4), and those left because
   * keyrings had changed apart. Redactions first, then oldest first.
   */
  readonly late: readonly LateChange[]
  /** Whether memories of a side that was left were written again here. */
  readonly hasRepeated: boolean
  /** What became of the changes of grants that rested on late ones. */
  readonly grantWork: GrantWork
  /** Undefined unless a repair has replaced a head that does not verify. */
  readonly replaced: ReplacedHead | undefined
  /** Undefined unless this clone has begun anew. */
  readonly begunAnew: BegunAnew | undefined
  /** The devices that this sync brought, which others have enrolled or added. */
  readonly newDevices: readonly NewDevice[]
  /** Devices that write from two machines (FORMAT §8.2). */
  readonly forkedDevices: readonly string[]
  /** The work for the holders of grants; undefined if there was nothing to do. */
  readonly grants: GrantsReport | undefined
  /**
   * The number of refs that the remote lists and that are ignored, since they are more than a store
   * needs: junk that makes each sync read a long list. Anyone who may push there can delete it.
   * Undefined without any, and unless they are more than an earlier report has told.
   */
  readonly ignoredRefs: number | undefined
}

/** The result of reconciling our head with one of theirs. */
export interface ReconcileResult {
  /** The merge commit; undefined where one history contained the other. */
  readonly merge: Oid | undefined
  readonly outcomes: readonly MergeOutcome[]
  /** Versions that their redactions erased here. */
  readonly erased: number
  /** The height from which on our redactions rewrote their commits. */
  readonly theirsIntactBelow?: number | undefined
  /** Commits of theirs that our history did not have. */
  readonly received: number
  /** Whether merges may be among them. */
  readonly hasMerges: boolean
  /** What of ours was left for theirs, redactions first. */
  readonly leftLate: readonly LateChange[]
  /** Whether what this device wrote of that was written again. */
  readonly hasRepeated: boolean
  readonly grantWork: GrantWork
  readonly settings: SettingsOutcome | undefined
  /** Whether either side has versions that may repeat what the other one redacted. */
  readonly builtOnRedacted: boolean
  readonly begunAnew?: BegunAnew | undefined
}

export const nothingMoved: ReconcileResult = {
  merge: undefined,
  outcomes: [],
  erased: 0,
  received: 0,
  hasMerges: false,
  leftLate: [],
  hasRepeated: false,
  grantWork: noGrantWork,
  settings: undefined,
  builtOnRedacted: false,
}

/** The sum of two results, of which `a` is the earlier. */
export function addResult(a: ReconcileResult, b: ReconcileResult): ReconcileResult {
  return {
    merge: b.merge ?? a.merge,
    outcomes: [...a.outcomes, ...b.outcomes],
    erased: a.erased + b.erased,
    received: a.received + b.received,
    hasMerges: a.hasMerges || b.hasMerges,
    leftLate: [...a.leftLate, ...b.leftLate],
    hasRepeated: a.hasRepeated || b.hasRepeated,
    grantWork: addWork(a.grantWork, b.grantWork),
    theirsIntactBelow: lower(a.theirsIntactBelow, b.theirsIntactBelow),
    settings: b.settings ?? a.settings,
    builtOnRedacted: a.builtOnRedacted || b.builtOnRedacted,
    begunAnew: b.begunAnew ?? a.begunAnew,
  }
}

export function addWork(a: GrantWork, b: GrantWork): GrantWork {
  return { again: [...a.again, ...b.again], notAgain: [...a.notAgain, ...b.notAgain] }
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

/** A device that was enrolled or added elsewhere. */
export interface NewDevice {
  /** `dev_…` */
  readonly deviceId: string
  /** FORMAT §1.5: for people, may be empty. */
  readonly name: string
  readonly role: Role
  /** An owner, or who knew a recovery key or the passphrase. */
  readonly admittedBy: AdmittedBy
}

type Devices = Pick<Directory, 'devices'>

/** The active devices of `after` that were not active in `before`, but for this one. */
export function findNewDevices(
  before: Devices,
  after: Devices,
  thisDevice: string,
): readonly NewDevice[] {
  const known = new Set([thisDevice, ...before.devices.map(({ deviceId }) => deviceId)])
  return after.devices
    .filter(({ deviceId }) => !known.has(deviceId))
    .map(({ deviceId, name, role, admittedBy }) => {
      return { deviceId: formatId('device', deviceId), name, role, admittedBy }
    })
}

/**
 * Whether a repair may replace a head with this verdict. False for `wrong_key`: this device may
 * have been removed, which it cannot distinguish from a keyring that no device can open.
 */
export function isReplaceable(verdict: StoreError): boolean {
  return !hasCode(verdict, 'wrong_key')
}
