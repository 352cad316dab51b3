// The clones of a store, the changes that each has acknowledged, and the checks at the end. Knows
// nothing of how a sync works: only who sent what, and which versions the remover of a device had
// of it by then (FORMAT §7.4).

import { existsSync } from 'node:fs'
import { expect } from 'vitest'
import { type ErrorCode, hasCode, StoreError } from '../../src/errors.ts'
import { formatId } from '../../src/format/id.ts'
import {
  type Device,
  formatDeviceCard,
  generateIdentity,
  type Identity,
  joinStore,
  type MemoryStore,
  type OpenOptions,
  type Role,
} from '../../src/index.ts'
import { bareRemote, firstClone } from '../support/clones.ts'
import { author, reopen, type TestPlace } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { Auditor, canary } from './convergence-auditor.ts'
import { type Death, dying } from './convergence-death.ts'
import type { Step, Work } from './convergence-steps.ts'
import { toChange } from './store-commands.ts'

const MEMBERS_MAX = 5

/** One machine. */
export interface Member {
  readonly deviceId: string
  readonly place: TestPlace
  store: MemoryStore
  /** Versions, and redacted versions, that it has acknowledged; of them, those that it has sent. */
  readonly acknowledged: Set<string>
  readonly sent: Set<string>
  readonly redacted: Set<string>
  readonly sentRedactions: Set<string>
  /** By who removed it: the versions that they had then. */
  readonly removals: Map<Member, ReadonlySet<string>>
  /** The code with which its newest sync was refused. */
  refused: ErrorCode | undefined
}

/** What the user of a clone is told for their own request. */
const refusals: readonly ErrorCode[] = [
  'not_found',
  'path_conflict',
  'invalid_path',
  'invalid_input',
  'content_too_large',
  'store_full',
  'permission_denied',
  // Of a change of devices or keys, which asks the remote first.
  'wrong_key',
  'keyring_conflict',
  'merge_held',
  'membership_pending',
]

export class World {
  readonly remote: string = bareRemote()
  readonly members: Member[] = []
  /** Everyone who was let in as an auditor, even if removed since. */
  readonly auditors: Auditor[] = []
  /** Devices that were added by a card. */
  readonly invited: Identity[] = []
  #recoveryKey: string | undefined
  #passphrase: string | undefined
  #drawn = 0

  static async start(): Promise<World> {
    const world = new World()
    const { store, place } = await firstClone(world.remote)
    world.#recoveryKey = place.recoveryKey
    world.#admit(store, place)
    const secret = { type: 'create', path: `/${canary}.md`, content: canary } as const
    await store.as({ ...author, reason: canary }).apply([secret])
    await world.#invite(store, 'auditor')
    await store.as(author).sync()
    for (let n = 0; n < 2; n += 1) await world.#join('recovery', undefined)
    return world
  }

  /** The founder of the store: an owner to the end. */
  get first(): Member {
    return chosen(this.members, 0)
  }

  async take(step: Step): Promise<void> {
    if (step.type === 'join') return this.#join(step.by, step.death)
    if (step.type === 'audit') return chosen(this.auditors, step.auditor).sync(step.trouble)
    const member = chosen(this.members, step.clone)
    switch (step.type) {
      case 'work':
        return this.#work(member, step.work)
      case 'cut': {
        const signal = AbortSignal.timeout(step.after)
        await this.sync(member, signal)
        return undefined
      }
      case 'reopen':
        await member.store.close()
        member.store = await reopen(member.place)
        return undefined
      case 'kill':
        return this.#kill(member, step.works, step.death)
      default:
        throw new Error('Not a step')
    }
  }

  /** Whether anything moved. Does what the store advises where it is refused. */
  async sync(member: Member, signal?: AbortSignal): Promise<boolean> {
    member.refused = undefined
    const before = await versionIds(member.store)
    try {
      const { received, sent, late } = await member.store.as(author).sync({ signal })
      const told = new Set(late.flatMap(({ versions }) => versions.map((one) => one.versionId)))
      const now = await versionIds(member.store)
      // A sync reports what it takes back.
      for (const id of before) if (!now.has(id)) expect(told).toContain(id)
      for (const id of member.acknowledged) member.sent.add(id)
      for (const id of member.redacted) member.sentRedactions.add(id)
      return received.commits + sent.commits > 0
    } catch (error) {
      if (hasCode(error, 'keyring_conflict', 'merge_held')) return this.#takeTheirs(member)
      if (signal?.aborted === true && error instanceof StoreError) return false
      if (!hasCode(error, 'wrong_key', 'permission_denied')) throw error
      member.refused = error.code
      return false
    }
  }

  /** Syncs until no clone has news. */
  async settle(): Promise<void> {
    for (let moved = true, rounds = 0; moved; rounds += 1) {
      if (rounds > 3 * this.members.length) throw new Error('The clones do not come to rest')
      moved = false
      for (const member of this.members) if (await this.sync(member)) moved = true
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map(({ store }) => store.close()))
  }

  /**
   * Does what the error advises: follows the remote, and writes the changes of this clone again.
   */
  async #takeTheirs(member: Member): Promise<boolean> {
    const { store, acknowledged, redacted } = member
    const before = await versionIds(store)
    const { late } = await store.as(author).sync({ takeTheirs: true })
    const now = await versionIds(store)
    for (const id of before) if (!now.has(id)) acknowledged.delete(id)
    for (const { redacts } of late) for (const id of redacts) redacted.delete(id)
    return true
  }

  async #work(member: Member, work: Work): Promise<void> {
    if (work.type === 'sync') {
      await this.sync(member)
      return
    }
    try {
      await this.#ask(member, work)
    } catch (error) {
      if (!hasCode(error, ...refusals)) throw error
    }
  }

  async #ask(member: Member, work: Exclude<Work, { readonly type: 'sync' }>): Promise<void> {
    const { store } = member
    switch (work.type) {
      case 'apply': {
        const applied = await store.as(author).apply(work.planned.map(toChange))
        for (const id of applied.versionIds) member.acknowledged.add(id)
        return
      }
      case 'settings':
        await store.as(author).settings.update({ name: work.name })
        return
      case 'redact':
        return this.#redact(member, work.pick)
      case 'add':
        this.invited.push(await this.#invite(store, work.role))
        return
      case 'role': {
        const device = await this.#pickDevice(member, work.whose)
        if (device !== undefined)
          await store.as(author).devices.changeRole(device.deviceId, work.role)
        return
      }
      case 'remove':
        return this.#remove(member, work.whose)
      case 'passphrase': {
        this.#passphrase = undefined
        const passphrase = `correct horse ${this.#drawn++}`
        await store.as(author).keys.changePassphrase(passphrase)
        this.#passphrase = passphrase
        return
      }
      case 'recovery':
        if (!work.keepOld) this.#recoveryKey = undefined
        this.#recoveryKey = (await store.as(author).keys.makeRecoveryKey(work)).recoveryKey
        return
      default:
        throw new Error('Not a work')
    }
  }

  async #redact(member: Member, pick: number): Promise<void> {
    const ids = [...(await versionIds(member.store))]
    const versionId = ids[pick % Math.max(1, ids.length)]
    if (versionId === undefined) return
    const request = { select: { versionIds: [versionId] }, reason: 'unspecified' } as const
    await member.store.as(author).redact({ ...request, current: 'keep' })
    const { redactedAt } = await member.store.history.version(versionId)
    if (redactedAt !== undefined) member.redacted.add(versionId)
  }

  async #invite(store: MemoryStore, role: Role): Promise<Identity> {
    const identity = await generateIdentity()
    await store.as(author).devices.add(formatDeviceCard(identity), role)
    if (role === 'auditor') this.auditors.push(new Auditor(identity, this.remote))
    return identity
  }

  async #remove(member: Member, whose: number): Promise<void> {
    const { deviceId } = (await this.#pickDevice(member, whose)) ?? {}
    if (deviceId === undefined) return
    const known = await versionIds(member.store)
    const removed = this.members.find((one) => one.deviceId === deviceId)
    try {
      await member.store.as(author).devices.remove([deviceId])
    } finally {
      // A process that dies may have done it.
      removed?.removals.set(member, known)
    }
  }

  /** An active device, but for who made the store and who asks. */
  async #pickDevice({ store }: Member, number: number): Promise<Device | undefined> {
    const devices = (await store.devices.list()).filter(({ deviceId, removed, isThis }) => {
      return removed === undefined && !isThis && deviceId !== this.first.deviceId
    })
    return devices[number % Math.max(1, devices.length)]
  }

  async #kill(member: Member, works: readonly Work[], death: Death): Promise<void> {
    await member.store.close()
    await dying(death, async (options) => {
      const { directory } = member.place
      member.store = await reopen(member.place, options(directory))
      for (const work of works) await this.#work(member, work)
    })
    member.store = await reopen(member.place)
  }

  async #join(by: 'card' | 'passphrase' | 'recovery', death: Death | undefined): Promise<void> {
    if (this.members.length >= MEMBERS_MAX) return
    const identity = by === 'card' ? this.invited.shift() : await generateIdentity()
    const secret = this.#secret(by)
    if (identity === undefined || secret === undefined) return
    const root = temporaryDirectory()
    const at = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
    const pinned = `${this.remote}#${this.members[0]?.store.id ?? ''}`
    const trustFirstContact = async (): Promise<boolean> => true
    const options = { ...at, ...secret, url: pinned, author, trustFirstContact }
    try {
      if (death !== undefined) {
        await dying(death, async (faulty) => {
          await (await joinStore({ ...options, ...faulty(at.directory) })).close()
        })
      }
      const isThere = existsSync(at.directory)
      const store = isThere ? await reopen({ ...at, recoveryKey: '' }) : await joinStore(options)
      this.#admit(store, { ...at, recoveryKey: '' })
    } catch (error) {
      // Not added yet, removed before it came, or an auditor; or the secret is not there yet.
      if (!hasCode(error, 'wrong_key', 'permission_denied')) throw error
      if (by === 'card') this.invited.push(identity)
    }
  }

  #secret(by: 'card' | 'passphrase' | 'recovery'): Partial<OpenOptions> | undefined {
    if (by === 'card') return {}
    if (by === 'passphrase')
      return this.#passphrase === undefined ? undefined : { passphrase: this.#passphrase }
    return this.#recoveryKey === undefined ? undefined : { recoveryKey: this.#recoveryKey }
  }

  #admit(store: MemoryStore, place: TestPlace): void {
    const sets = {
      acknowledged: new Set<string>(),
      sent: new Set<string>(),
      redacted: new Set<string>(),
      sentRedactions: new Set<string>(),
    }
    const deviceId = formatId('device', place.identity.deviceId)
    this.members.push({ deviceId, place, store, ...sets, removals: new Map(), refused: undefined })
  }
}

function chosen<T>(list: readonly T[], number: number): T {
  const one = list[number % list.length]
  if (one === undefined) throw new Error('There is nobody')
  return one
}

/** Every version that a store knows of. */
export async function versionIds(store: MemoryStore): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (let after: string | undefined; ;) {
    const page = await store.history.versions({ limit: 1000, page: after })
    for (const { versionId } of page.data) ids.add(versionId)
    after = page.nextPage
    if (after === undefined) return ids
  }
}
