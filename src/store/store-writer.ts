// `store.as(author)`: all that writes a record, in the name of one author. A call that resolves is
// durable. Must decide nothing that a room of this folder decides.

import type { WorkOptions } from '../async.ts'
import { StoreError } from '../errors.ts'
import { checkNewDeviceName } from '../format/device-name.ts'
import type { Role } from '../format/directory.ts'
import { formatId } from '../format/id.ts'
import { ChangeWriter } from './change-writer.ts'
import { changesOnline } from './changes-online.ts'
import type { Applied } from './changes/apply.ts'
import { expire, type Expiry, type ExpiryRule } from './changes/retention.ts'
import type { Author } from './commits/commit-context.ts'
import { type SettingsChange, updateSettings } from './devices/administration.ts'
import {
  addDeviceByCard,
  changePassphrase,
  changePassphraseQuota,
  changeRole,
  type DeviceAdded,
  type DevicesRemoved,
  type KeysChanged,
  type KeysRotated,
  makeRecoveryKey,
  nameOfDevice,
  type RecoveryKeyMade,
  type RecoveryKeyOptions,
  removeDevices,
  resealAll,
  type RightsChanged,
  rotateKeys,
  type SecretsReplaced,
} from './devices/device-changes.ts'
import type { RedactionRequest } from './redaction/redaction-plan.ts'
import type { Redaction } from './redaction/redaction.ts'
import {
  checkDeviceIds,
  checkObject,
  checkOptions,
  checkRedaction,
  checkRestore,
  checkRollback,
  checkText,
} from './request-check.ts'
import type { RestoreRequest, Revert, RollbackRequest } from './revert/restore.ts'
import { revert, type RevertOptions } from './revert/revert.ts'
import type { UndoRequest } from './revert/undo.ts'
import type { StoreSession } from './session/session.ts'
import { GrantWriter } from './store-grants.ts'
import { membershipRemote, type StoreSyncOptions, type SyncReport } from './sync/report.ts'
import type { MemberOptions, MembersChanged } from './sync/sync.ts'

// Commands run in the order of their calls: code that joins the queue of writers is imported here,
// and only plans when they run. Redactions, and what begins with a sync, may be later.

export class StoreWriter extends ChangeWriter {
  readonly #session: StoreSession
  readonly #author: Author
  /** The members and their rights. Owners only. */
  readonly devices: DeviceWriter
  /** Keys that this device lends for a time. Owners and writers. */
  readonly grants: GrantWriter
  /** Passphrases and recovery keys. Owners only. */
  readonly keys: KeyWriter
  /** Name, description, metadata, limits and the archive mark. Owners only. */
  readonly settings: SettingsWriter

  /** @internal Use `store.as`. */
  constructor(session: StoreSession, author: Author) {
    super(session, author)
    this.#session = session
    this.#author = author
    this.devices = new DeviceWriter(session, author)
    this.grants = new GrantWriter(session, author)
    this.keys = new KeyWriter(session, author)
    this.settings = new SettingsWriter(session, author)
  }

  /** Puts one memory, also a deleted one, back into a state of its past: a change as any other. */
  restore(request: RestoreRequest, options: RevertOptions = {}): Promise<Revert> {
    return this.#revert(async (source) => {
      const { planRestore } = await import('./revert/restore.ts')
      return planRestore(source, checkRestore(request))
    }, options)
  }

  /** Puts all memories, or those below a path, back into a state of the past, in one commit. */
  rollback(request: RollbackRequest, options: RevertOptions = {}): Promise<Revert> {
    return this.#revert(async (source) => {
      const { planRollback } = await import('./revert/restore.ts')
      return planRollback(source, checkRollback(request))
    }, options)
  }

  /**
   * Takes back what an actor or a session wrote, in one commit, and keeps what others wrote since.
   * What cannot be told apart is left and listed.
   */
  undo(request: UndoRequest, options: RevertOptions = {}): Promise<Revert> {
    return this.#revert(async (source) => {
      const { planUndo } = await import('./revert/undo.ts')
      return planUndo(source, checkObject(request, 'An undo'))
    }, options)
  }

  /**
   * Erases versions from the history and from every file of the store: content, path, hash, size
   * and reason go, who did what when stays (FORMAT §10). Cannot be undone. What is erased already
   * is left out. Rejects with the codes of `redact` in redaction.ts.
   */
  async redact(request: RedactionRequest, options: WorkOptions = {}): Promise<Redaction> {
    const { redact } = await import('./redaction/redaction.ts')
    return redact(this.#session, checkRedaction(request), this.#author, checkOptions(options))
  }

  /** Deletes memories by a rule of retention, as ordinary changes. Nothing runs by itself. */
  async expire(rule: ExpiryRule, options: { readonly dryRun?: boolean } = {}): Promise<Expiry> {
    checkObject(rule, 'A rule of retention')
    return expire(this.#session, this.#session.reads, rule, this.#author, checkOptions(options))
  }

  /**
   * Takes over what a remote has, merges, and sends what it lacks, all that was acknowledged before
   * the call at least: of several at once, each waits for the one before. Rejects with a remote
   * code, and with the code of what is wrong with the remote's history; local work is safe anyway.
   */
  async sync(options: StoreSyncOptions = {}): Promise<SyncReport> {
    const { syncStore } = await import('./sync/sync.ts')
    const asked = { isRead: true, ...checkOptions(options) }
    const report = await syncStore(this.#session, this.#author, asked)
    const waiting = await this.#session.seenRemotes.removals()
    if (waiting.length > 0) await this.#removeWaiting(report, waiting, options)
    return report
  }

  /** Removes the devices whose removal waits for the remote. */
  async #removeWaiting(
    { remote }: SyncReport,
    waiting: readonly string[],
    options: StoreSyncOptions,
  ): Promise<void> {
    const { objects, seenRemotes } = this.#session
    const remotes = objects.exchange.remotes()
    const chosen = await seenRemotes.membership()
    if (membershipRemote({ remotes, chosen })?.name !== remote) return
    const { devices } = await this.#session.reading(({ keyring }) => keyring.directory)
    const active = new Set(devices.map(({ deviceId }) => formatId('device', deviceId)))
    const removed = waiting.filter((id) => active.has(id))
    const { access, signal } = options
    if (removed.length > 0) await this.devices.remove(removed, { access, signal })
    await noteRemovals(this.#session, (now) => now.filter((id) => !waiting.includes(id)))
  }

  async #revert(plan: Parameters<typeof revert>[1], options: RevertOptions): Promise<Revert> {
    return revert(this.#session, plan, this.#author, checkOptions(options))
  }
}

export class DeviceWriter {
  readonly #session: StoreSession
  readonly #author: Author
  readonly #change: ReturnType<typeof changesOnline>

  /** @internal */
  constructor(session: StoreSession, author: Author) {
    this.#session = session
    this.#author = author
    this.#change = changesOnline(session, author)
  }

  /**
   * Makes a device of the machine whose card this is (`formatDeviceCard`). The card came over a
   * channel that may lie: give the `fingerprint`, `dev_…`, that the machine itself shows. Rejects
   * with `invalid_input`, or `permission_denied` for one that was removed.
   */
  async add(
    card: string,
    role: Role,
    options: MemberOptions & { readonly fingerprint?: string; readonly name?: string } = {},
  ): Promise<DeviceAdded & MembersChanged> {
    const { fingerprint, name } = checkOptions(options)
    checkText(card, 'A device card')
    return this.#change(options, () =>
      addDeviceByCard(this.#session, card, { role, fingerprint, name }, this.#author),
    )
  }

  /**
   * Gives a device, `dev_…`, another role. A new epoch begins. If the device may give no grants any
   * more, its grants end for good (`grants.endedBy`).
   */
  async changeRole(
    deviceId: string,
    role: Role,
    options: MemberOptions = {},
  ): Promise<RightsChanged & MembersChanged> {
    const id = checkText(deviceId, 'A device id')
    return this.#change(options, () => changeRole(this.#session, id, role, this.#author))
  }

  /**
   * Takes the access of devices, `dev_…`, for good: a new epoch begins, and they open nothing that
   * is written from then on (FORMAT §7.3). Their grants end with them. Their users may know the
   * passphrase and recovery keys, with which another device joins: `replaced` replaces those in the
   * same commit.
   */
  async remove(
    deviceIds: readonly string[],
    options: SecretsReplaced & MemberOptions & RemovalOptions = {},
  ): Promise<DevicesRemoved & MembersChanged & { readonly waits: boolean }> {
    const ids = checkDeviceIds(deviceIds)
    const { passphrase, whenOnline = false } = checkOptions(options)
    if (passphrase !== undefined) checkPassphrase(passphrase)
    const session = this.#session
    try {
      const removed = await this.#change(options, () => {
        return removeDevices(session, ids, options, this.#author)
      })
      return { ...removed, waits: false }
    } catch (error) {
      const { isFailureOfRemote } = await import('./verify/verdict.ts')
      if (!whenOnline || !isFailureOfRemote(error)) throw error
      await noteRemovals(session, (before) => [...new Set([...before, ...ids])])
      return { ...nothingRemoved, waits: true }
    }
  }

  /** Names a device, `dev_…`, in up to 64 characters: for people, it identifies nothing. */
  async rename(
    deviceId: string,
    name: string,
    options: MemberOptions = {},
  ): Promise<Applied & MembersChanged> {
    const id = checkText(deviceId, 'A device id')
    const checked = checkNewDeviceName(name)
    return this.#change(options, () => nameOfDevice(this.#session, id, checked, this.#author))
  }
}

export class KeyWriter {
  readonly #session: StoreSession
  readonly #author: Author
  readonly #change: ReturnType<typeof changesOnline>

  /** @internal */
  constructor(session: StoreSession, author: Author) {
    this.#session = session
    this.#author = author
    this.#change = changesOnline(session, author)
  }

  /**
   * Sets (text) or removes (null) the passphrase: a new epoch begins, and the old passphrase opens
   * nothing written from then on (FORMAT §7.3). Removing a missing one does nothing.
   */
  async changePassphrase(
    passphrase: string | null,
    options: MemberOptions = {},
  ): Promise<KeysChanged & MembersChanged> {
    checkPassphrase(passphrase)
    return this.#change(options, () => changePassphrase(this.#session, passphrase, this.#author))
  }

  /**
   * Makes a recovery key, which is returned here and nowhere else. It replaces all that there were,
   * in a new epoch, unless `keepOld` is given.
   */
  async makeRecoveryKey(
    options: RecoveryKeyOptions & MemberOptions = {},
  ): Promise<RecoveryKeyMade & MembersChanged> {
    const checked = checkOptions(options)
    return this.#change(options, () => makeRecoveryKey(this.#session, checked, this.#author))
  }

  /** Sets how many active devices there may be that a passphrase has admitted: 0 to 250. */
  async setPassphraseQuota(
    devices: number,
    options: MemberOptions = {},
  ): Promise<Applied & MembersChanged> {
    return this.#change(options, () => changePassphraseQuota(this.#session, devices, this.#author))
  }

  /**
   * Begins an epoch of keys although no one loses access, after a key leaked. With `reseal`, every
   * live memory is sealed again under it, as a new version with the same content, so that the
   * leaked key alone opens none of them in what is sent from then on.
   */
  async rotate(
    options: MemberOptions & { readonly reseal?: boolean } = {},
  ): Promise<KeysRotated & MembersChanged> {
    const { reseal = false } = checkOptions(options)
    const session = this.#session
    const rotated = await this.#change(options, () => {
      return rotateKeys(session, { reseal }, this.#author)
    })
    return { ...rotated, resealed: reseal ? await resealAll(session, this.#author) : 0 }
  }
}

export interface RemovalOptions {
  /** If the remote cannot be reached, the next sync that reaches it removes the devices. */
  readonly whenOnline?: boolean
}

const nothingRemoved: DevicesRemoved & MembersChanged = {
  commit: undefined,
  versionIds: [],
  residualAccess: undefined,
  endsGrants: [],
  knownSecrets: { passphrases: 0, recoveryKeys: 0 },
  recoveryKey: undefined,
  pending: undefined,
}

async function noteRemovals(
  session: StoreSession,
  change: (before: readonly string[]) => readonly string[],
): Promise<void> {
  const { objects, seenRemotes } = session
  await session.planning(() => objects.exclusive(() => seenRemotes.noteRemovals(change)))
}

export class SettingsWriter {
  readonly #session: StoreSession
  readonly #author: Author

  /** @internal */
  constructor(session: StoreSession, author: Author) {
    this.#session = session
    this.#author = author
  }

  /**
   * Changes what is given, and leaves the rest. A function gets the settings in force, and its
   * change is made before anybody else's: it must be pure, and may run more than once. Rejects with
   * `invalid_input`; `store_archived` once `archivedAt` is set, which is for good.
   */
  async update(change: SettingsChange): Promise<Applied> {
    return updateSettings(this.#session, change, this.#author)
  }
}

function checkPassphrase(passphrase: unknown): void {
  if (passphrase === null || typeof passphrase === 'string') return
  throw new StoreError('invalid_input', 'A passphrase must be a string, or null for no passphrase')
}
