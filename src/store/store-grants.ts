// `store.grants` and `store.as(author).grants`: keys that this device lends to machines without one
// (FORMAT §12). A grant is given once the remote has all that its holder begins with.

import type { WorkOptions } from '../async.ts'
import { StoreError } from '../errors.ts'
import { formatStateOf } from '../format/address.ts'
import type { GrantRole } from '../format/change-record.ts'
import { hasForbidden, hasSpaceAtEnd } from '../format/characters.ts'
import { checkGivers, checkRole, type Givers, type Role } from '../format/directory.ts'
import { formatId, parseId } from '../format/id.ts'
import {
  grantLabelCharactersMax,
  grantMsDefault,
  grantMsMax,
  grantMsMin,
  grantRowsMax,
} from '../limits.ts'
import type { RemoteOptions } from '../transport/remote-access.ts'
import { changesOnline } from './changes-online.ts'
import type { Author } from './commits/commit-context.ts'
import { changeGivers, type RightsChanged } from './devices/device-changes.ts'
import { type EndingGrant, endingGrants } from './devices/ending-grants.ts'
import type { HostCheck } from './grants/check-host.ts'
import type { Grant } from './grants/grants.ts'
import type { GrantsSurvey } from './grants/survey.ts'
import type { History } from './history/history.ts'
import { readConsistently } from './history/read-consistently.ts'
import { checkDeviceIds, checkOptions } from './request-check.ts'
import type { StoreSession } from './session/session.ts'
import { chooseRemote, type SyncReport } from './sync/report.ts'
import type { MemberOptions, MembersChanged } from './sync/sync.ts'

export class StoreGrants {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** Every grant that the store has or had, in the order in which they were given. */
  async list(options: WorkOptions = {}): Promise<readonly Grant[]> {
    const checked = checkOptions(options)
    // Imported here and below: few devices give grants.
    const { listGrants } = await import('./grants/grants.ts')
    const list = (history: History): Promise<readonly Grant[]> => listGrants(this.#session, history)
    return readConsistently(this.#session, list, checked)
  }

  /** The grants that a change of rights would end, as far as this clone knows, oldest first. */
  async endedBy(change: RightsChange): Promise<readonly EndingGrant[]> {
    const { removed = [], roles = new Map(), givers } = checkOptions(change)
    const changes = {
      removed: checkDeviceIds(removed).map((id) => parseId('device', id)),
      roles: new Map(Array.from(roles, ([id, role]) => [parseId('device', id), checkRole(role)])),
      ...(givers !== undefined && { givers: checkGivers(givers) }),
    }
    return this.#session.planning(() => endingGrants(this.#session, changes))
  }

  /** @internal What holders of this device's grants would miss; undefined without grants. */
  async survey(access: RemoteOptions): Promise<GrantsSurvey | undefined> {
    const { identity } = this.#session
    if (identity.grant !== undefined) return undefined
    if (await this.#session.reading(({ grants }) => grants.size === 0)) return undefined
    const { surveyGrants } = await import('./grants/survey.ts')
    return surveyGrants(this.#session, access)
  }
}

/** Devices, `dev_…`, that are removed, the new roles of others, and who may give grants. */
export interface RightsChange {
  readonly removed?: readonly string[] | undefined
  readonly roles?: ReadonlyMap<string, Role> | undefined
  readonly givers?: Givers | undefined
}

/** How to reach the remote. */
export interface OnlineOptions {
  /** The name of a remote; optional if there is only one. */
  readonly remote?: string | undefined
  readonly access?: RemoteOptions | undefined
  readonly signal?: AbortSignal | undefined
}

export interface GrantRequest extends OnlineOptions {
  /** Default: `writer`, who also changes memories. */
  readonly role?: GrantRole | undefined
  /** How long it lasts, in ms: from a minute to 90 days, by default 8 hours. */
  readonly lastsMs?: number | undefined
  /** For people, up to 64 characters; kept on this device. */
  readonly label?: string | undefined
}

export interface GrantGiven {
  /** As the author of its holder's changes is shown: `dev_…`. */
  readonly grantId: string
  /** `GLKG1-…`, given here and nowhere else. */
  readonly text: string
  readonly role: GrantRole
  readonly label: string
  readonly expiresAt: number
  /**
   * The address that the holder begins from: it names the store and its newest state, so that a
   * remote which shows an older one is refused.
   */
  readonly url: string
}

export interface GrantsEnded {
  /** `dev_…`, without those that had ended before. */
  readonly grantIds: readonly string[]
  /** Why the remote does not know it yet: the next sync tells it. */
  readonly pending: StoreError | undefined
}

/** How often a sync is repeated while others write here. */
const ATTEMPTS = 16
const HOLD_MS = 2000

export class GrantWriter {
  readonly #session: StoreSession
  readonly #author: Author

  /** @internal */
  constructor(session: StoreSession, author: Author) {
    this.#session = session
    this.#author = author
  }

  /**
   * Gives a grant: the holder of its text reads the store and, as writer, changes memories, until
   * it ends. Syncs before and after. Rejects with `invalid_input`, `permission_denied`, `not_found`
   * without a remote, or a remote code; then no grant is left.
   */
  async give(request: GrantRequest = {}): Promise<GrantGiven> {
    const { remote: name, access, signal, ...asked } = checkOptions(request)
    const terms = checkTerms(asked)
    const session = this.#session
    const remotes = session.objects.exchange.remotes()
    if (remotes.length === 0) throw remotelessError()
    const { url, name: remote } = chooseRemote(remotes, name)
    const sync = await this.#syncTo({ remote, access, signal })
    const { beginGrant, endGrants } = await import('./grants/grants.ts')
    // The grant is begun on top of the changes of others, if the remote can be reached.
    await sync()
    const { commit: _, ...begun } = await beginGrant(session, terms, this.#author)
    try {
      await this.#publish(begun.grantId, remote, sync)
    } catch (error) {
      // No one has its text.
      await endGrants(session, [begun.grantId], this.#author).catch(() => undefined)
      throw error
    }
    const { role, label } = terms
    const state = await session.reading(({ keyring }) => keyring.record)
    return { ...begun, role, label, url: `${url}#${formatStateOf(session.storeId, state)}` }
  }

  /**
   * Ends grants for good, `dev_…`, and syncs with all remotes, or with the given one. What their
   * holders have sent before is kept: the first of these remotes is asked before, if it can be
   * reached. Rejects with `invalid_input`, `not_found` or `permission_denied`.
   */
  async end(grantIds: readonly string[], options: OnlineOptions = {}): Promise<GrantsEnded> {
    if (!Array.isArray(grantIds)) {
      throw new StoreError('invalid_input', 'The ids of grants must be a list')
    }
    const { remote, access, signal } = checkOptions(options)
    const ids = grantIds.map((id: string) => formatId('device', parseId('device', id)))
    const remotes = this.#session.objects.exchange.remotes()
    const [first, ...others] = remote === undefined ? remotes.map(({ name }) => name) : [remote]
    const ended: string[] = []
    let pending: StoreError | undefined
    for (let at = 0; at < ids.length; at += grantRowsMax) {
      const how = { remote: first, access, signal }
      const done = await this.#endAt(ids.slice(at, at + grantRowsMax), how)
      ended.push(...done.grantIds)
      pending ??= done.pending
    }
    for (const name of others) {
      const sync = await this.#syncTo({ remote: name, access, signal })
      try {
        const { grants } = await sync()
        pending ??= grants?.failure
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        pending ??= error
      }
    }
    return { grantIds: ended, pending }
  }

  /**
   * Sets who may give grants: `owners and writers`, as in a new store, or `owners`. In the latter
   * case a new epoch begins, and the grants of writers end for good, which `endedBy` tells before.
   * Owners only.
   */
  async setGivers(
    givers: Givers,
    options: MemberOptions = {},
  ): Promise<RightsChanged & MembersChanged> {
    const checked = checkGivers(givers)
    const change = changesOnline(this.#session, this.#author)
    return change(options, () => changeGivers(this.#session, checked, this.#author))
  }

  async #endAt(ids: readonly string[], how: OnlineOptions): Promise<GrantsEnded> {
    const session = this.#session
    const { endGrants } = await import('./grants/grants.ts')
    const end = () => endGrants(session, ids, this.#author)
    if (how.remote === undefined) return { ...(await end()), pending: undefined }
    const { changeOnNewest } = await import('./sync/sync.ts')
    return changeOnNewest(session, this.#author, how, end)
  }

  /** Syncs until the remote has start and wraps: others may write here at the same time. */
  async #publish(grantId: string, remote: string, sync: () => Promise<SyncReport>): Promise<void> {
    const id = parseId('device', grantId)
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // The second time our own commands wait.
      const goOn = attempt === 0 ? undefined : this.#session.holdBack(HOLD_MS)
      const { grants } = await sync().finally(() => goOn?.())
      if (grants?.failure !== undefined) throw grants.failure
      const notes = await this.#session.grantNotes.read()
      if (notes?.published[remote]?.grants.includes(id) === true) return
    }
    throw new StoreError(
      'remote_busy',
      'Others write to this store without a pause: give the grant again later',
    )
  }

  /** Tries what grants need of the host of a remote, with a ref of its own, which it deletes. */
  async check({ remote: name, access, signal }: OnlineOptions = {}): Promise<HostCheck> {
    const remote = chooseRemote(this.#session.objects.exchange.remotes(), name)
    const { checkHost } = await import('./grants/check-host.ts')
    return checkHost(this.#session, remote, { signal, ...access, url: remote.url })
  }

  async #syncTo(options: OnlineOptions): Promise<() => Promise<SyncReport>> {
    const { syncStore } = await import('./sync/sync.ts')
    return () => syncStore(this.#session, this.#author, options)
  }
}

function remotelessError(): StoreError {
  return new StoreError(
    'not_found',
    'The holder of a grant begins at a remote: add a remote to the store first',
  )
}

function checkTerms({ role = 'writer', lastsMs = grantMsDefault, label = '' }: GrantRequest): {
  readonly role: GrantRole
  readonly lastsMs: number
  readonly label: string
} {
  if (role !== 'writer' && role !== 'reader') {
    throw new StoreError('invalid_input', 'A grant is for a writer or a reader')
  }
  if (!Number.isSafeInteger(lastsMs) || lastsMs < grantMsMin || lastsMs > grantMsMax) {
    throw new StoreError('invalid_input', 'A grant lasts from a minute to 90 days')
  }
  const isLabel =
    typeof label === 'string' &&
    Array.from(label).length <= grantLabelCharactersMax &&
    !hasForbidden(label) &&
    !hasSpaceAtEnd(label)
  if (!isLabel) {
    throw new StoreError(
      'invalid_input',
      `A label must be text of at most ${grantLabelCharactersMax} characters, without control or ` +
        'invisible characters, or white space at its ends',
    )
  }
  return { role, lastsMs, label }
}
