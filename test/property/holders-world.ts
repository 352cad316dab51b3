// A store with two devices, their grants, and the clones of the grants' holders. Each change of a
// holder creates a memory of its own, a mark, which no one else changes: the world keeps account of
// the marks that each holder was told are stored and sent, and of those that the device that ended
// its grant had by then. Knows nothing of how a sync works.

import * as fc from 'fast-check'
import { type ErrorCode, hasCode } from '../../src/errors.ts'
import type { MemoryStore } from '../../src/index.ts'
import { bareRemote, type Clone, idOf, joinClone, put, sync } from '../support/clones.ts'
import {
  create,
  hold,
  type HolderPlace,
  holderPlace,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'
import { versionIds } from './convergence-world.ts'
import { changes, toChange } from './store-commands.ts'
import type { PlannedChange } from './store-model.ts'

const HOUR = 3_600_000
/** Begins the path of a mark, which no other change names. */
export const MARKS = '/of-holders/'
const GRANTS_MAX = 3
const HOLDERS_MAX = 4

export type Step =
  | { readonly type: 'write'; readonly who: number; readonly planned: readonly PlannedChange[] }
  | { readonly type: 'sync'; readonly who: number }
  | { readonly type: 'give'; readonly device: number; readonly role: 'reader' | 'writer' }
  | { readonly type: 'hold'; readonly grant: number }
  | { readonly type: 'reopen'; readonly holder: number }
  | { readonly type: 'end'; readonly grant: number }
  | { readonly type: 'rotate' }
  | { readonly type: 'remove' }
  | { readonly type: 'redact'; readonly pick: number }
  | { readonly type: 'time'; readonly hours: number }

const of = <const T extends string>(type: T) => ({ type: fc.constant(type) })
const anyone = fc.nat()

export const holderStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ ...of('write'), who: anyone, planned: changes }) },
  { weight: 9, arbitrary: fc.record({ ...of('sync'), who: anyone }) },
  { weight: 3, arbitrary: fc.record({ ...of('hold'), grant: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ ...of('reopen'), holder: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...of('give'),
      device: fc.nat(),
      role: fc.constantFrom('writer', 'writer', 'writer', 'reader'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...of('end'), grant: fc.nat() }) },
  { weight: 1, arbitrary: fc.record(of('rotate')) },
  { weight: 1, arbitrary: fc.record({ ...of('redact'), pick: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ ...of('time'), hours: fc.constantFrom(-1, -1, 1, 1, 1, 25) }),
  },
  { weight: 1, arbitrary: fc.record(of('remove')) },
)

interface Given {
  readonly grant: string
  readonly grantId: string
  readonly giver: Clone
  /** Set once it was ended: the paths that the device which did so had then. */
  known: ReadonlySet<string> | undefined
  /** Whether the remote has the end. */
  isTold: boolean
}

export interface Holder {
  readonly given: Given
  readonly place: HolderPlace
  store: MemoryStore
  /** The marks that it acknowledged; of them, those that it has sent. */
  readonly acknowledged: Set<string>
  readonly sent: Set<string>
  /** Those that it wrote once the remote had the end of its grant. */
  readonly later: Set<string>
  /** The code with which its newest sync was refused. */
  refused: ErrorCode | undefined
}

/** What a user is told for their own request. */
const refusals: readonly ErrorCode[] = [
  'not_found',
  'path_conflict',
  'invalid_path',
  'invalid_input',
  'content_too_large',
  'store_full',
  'permission_denied',
  'grant_expired',
  'wrong_key',
]

export class HoldersWorld {
  readonly url: string = bareRemote()
  readonly holders: Holder[] = []
  readonly given: Given[] = []
  /** How often a holder's clone has begun anew. */
  begun = 0
  /** After a day, merges may need versions below the floor of a start: none begins from it. */
  #isOld = false
  /** Whether the first device has redacted something that the remote does not know of. */
  #hasRedacted = false
  /** The devices that have not synced since the remote has a redaction. */
  readonly #behind = new Set<Clone>()
  #marks = 0
  #devices: readonly [Clone, ...Clone[]] | undefined
  #now = Date.now() - 200 * HOUR
  readonly #clock = (): number => this.#now

  /** `early`: how many commits there are before the first grant, more than a sync fetches again. */
  static async start(early: number): Promise<HoldersWorld> {
    const world = new HoldersWorld()
    const clock = world.#clock
    const { store, place } = await newStore({ clock })
    const first = { store, place }
    await store.remotes.add('origin', world.url)
    for (let n = 0; n < early; n += 1) await put(first, `/early/${n % 5}.md`, `early ${n}`)
    await sync(first)
    const second = await joinClone(first, world.url, { clock })
    world.#devices = [first, second]
    await world.take({ type: 'give', device: 0, role: 'writer' })
    await world.take({ type: 'hold', grant: 0 })
    return world
  }

  /** An owner to the end. */
  get first(): Clone {
    return this.#devices?.[0] ?? never()
  }

  get devices(): readonly Clone[] {
    return this.#devices ?? never()
  }

  async take(step: Step): Promise<void> {
    try {
      await this.#take(step)
    } catch (error) {
      if (!hasCode(error, ...refusals)) throw error
    }
  }

  /** Syncs until no one has news. */
  async settle(): Promise<void> {
    for (let moved = true, rounds = 0; moved; rounds += 1) {
      if (rounds > 3 * (this.holders.length + 2)) throw new Error('They do not come to rest')
      moved = false
      for (const device of this.devices) if (await this.#syncDevice(device)) moved = true
      for (const holder of this.holders) if (await this.#syncHolder(holder)) moved = true
    }
  }

  async close(): Promise<void> {
    for (const { store } of [...this.devices, ...this.holders]) await store.close()
  }

  async #take(step: Step): Promise<unknown> {
    const { first, devices, holders } = this
    switch (step.type) {
      case 'write':
        return this.#write(step.who, step.planned)
      case 'sync': {
        const holder = holders[step.who % (holders.length + devices.length)]
        const device = devices[step.who % devices.length] ?? first
        return holder === undefined ? this.#syncDevice(device) : this.#syncHolder(holder)
      }
      case 'give':
        return this.#give(devices[step.device % devices.length] ?? first, step.role)
      case 'hold':
        return this.#hold(this.given[step.grant % Math.max(1, this.given.length)])
      case 'reopen':
        return this.#reopen(holders[step.holder % Math.max(1, holders.length)])
      case 'end':
        return this.#end(this.given[step.grant % Math.max(1, this.given.length)])
      case 'rotate':
        return this.#rotate()
      case 'remove':
        return this.#remove()
      case 'redact':
        return this.#redact(step.pick)
      case 'time':
        this.#now += step.hours * HOUR
        if (step.hours > 1) this.#isOld = true
        return undefined
      default:
        throw new Error('Not a step')
    }
  }

  async #write(who: number, planned: readonly PlannedChange[]): Promise<void> {
    const { holders, devices, first } = this
    const holder = holders[who % (holders.length + 1)]
    const wanted = planned.map(toChange)
    if (holder === undefined) {
      await (devices[who % devices.length] ?? first).store.as(author).apply(wanted)
      return
    }
    this.#marks += 1
    const mark = `${MARKS}${this.#marks}.md`
    try {
      await writeAs(holder.store, ...wanted, create(mark))
    } catch (error) {
      if (!hasCode(error, ...refusals)) throw error
      await writeAs(holder.store, create(mark))
    }
    holder.acknowledged.add(mark)
    if (holder.given.isTold) holder.later.add(mark)
  }

  async #syncDevice(device: Clone): Promise<boolean> {
    try {
      const { received, sent } = await sync(device)
      this.#told(device)
      return received.commits + sent.commits > 0
    } catch (error) {
      if (device === this.first || !hasCode(error, 'wrong_key', 'permission_denied')) throw error
      return false
    }
  }

  async #syncHolder(holder: Holder): Promise<boolean> {
    holder.refused = undefined
    const before = new Set(holder.acknowledged)
    try {
      const { received, sent, begunAnew } = await syncHolder(holder.store)
      for (const mark of before) holder.sent.add(mark)
      if (begunAnew !== undefined) this.begun += 1
      return received.commits + sent.commits > 0
    } catch (error) {
      const isEnded = holder.given.known !== undefined
      const mayRefuse: readonly ErrorCode[] = [
        ...(isEnded ? (['grant_expired', 'permission_denied', 'wrong_key'] as const) : []),
        ...(this.#behind.has(holder.given.giver) ? (['history_needed'] as const) : []),
      ]
      if (!hasCode(error, ...mayRefuse)) throw error
      holder.refused = error.code
      return false
    }
  }

  async #give(giver: Clone, role: 'reader' | 'writer'): Promise<void> {
    if (this.given.length >= GRANTS_MAX) return
    const lastsMs = 90 * 24 * HOUR
    const { text, grantId } = await giver.store.as(author).grants.give({ role, lastsMs })
    this.given.push({ grant: text, grantId, giver, known: undefined, isTold: false })
    this.#told(giver)
  }

  async #hold(given: Given | undefined): Promise<void> {
    if (given === undefined || this.holders.length >= HOLDERS_MAX) return
    const [place, { url }] = [holderPlace(), this]
    try {
      const { grant } = given
      const store = await hold({ url, grant }, { ...place, clock: this.#clock })
      const sets = { acknowledged: new Set<string>(), sent: new Set<string>() }
      const rest = { ...sets, later: new Set<string>(), refused: undefined }
      this.holders.push({ given, place, store, ...rest })
    } catch (error) {
      const codes = ['grant_expired', 'grant_keys_missing', 'not_found'] as const
      const isEnded = given.known !== undefined && hasCode(error, ...codes)
      const isDue = this.#isOld || this.#behind.has(given.giver)
      const waits = isDue && hasCode(error, 'history_needed', 'not_found')
      if (!isEnded && !waits) throw error
    }
  }

  async #rotate(): Promise<void> {
    await this.first.store.as(author).keys.rotate()
    this.#told(this.first)
  }

  async #reopen(holder: Holder | undefined): Promise<void> {
    if (holder === undefined || holder.given.known !== undefined) return
    await holder.store.close()
    const { given, place } = holder
    const at = { ...place, clock: this.#clock }
    holder.store = await hold({ url: this.url, grant: given.grant }, at)
  }

  async #end(given: Given | undefined): Promise<void> {
    if (given === undefined || given.known !== undefined) return
    const { store } = given.giver
    const known = await marksOf(store)
    await store.as(author).grants.end([given.grantId])
    given.known = known
    this.#told(given.giver)
  }

  /** Another device had given what it gave: its grants end with it. */
  async #remove(): Promise<void> {
    const [first, second] = this.devices
    if (first === undefined || second === undefined) return
    await this.#syncDevice(first)
    const known = await marksOf(first.store)
    await first.store.as(author).devices.remove([idOf(second)])
    for (const given of this.given) if (given.giver === second) given.known ??= known
    await second.store.close()
    this.#devices = [first]
    this.#told(first)
  }

  async #redact(pick: number): Promise<void> {
    const { store } = this.first
    const ids = [...(await versionIds(store))]
    const versionId = ids[pick % Math.max(1, ids.length)]
    if (versionId === undefined) return
    this.#hasRedacted = true
    const select = { versionIds: [versionId] }
    await store.as(author).redact({ select, reason: 'unspecified', current: 'keep' })
  }

  /** The remote has the ends and redactions that this device knows, and the start of its state. */
  #told(device: Clone): void {
    if (device === this.first && this.#hasRedacted) {
      this.#hasRedacted = false
      for (const other of this.devices) this.#behind.add(other)
    }
    this.#behind.delete(device)
    for (const given of this.given) {
      const isHere = given.giver === device || !this.devices.includes(given.giver)
      if (given.known !== undefined && isHere) given.isTold = true
    }
  }
}

/** The marks that a store has. */
export async function marksOf(store: MemoryStore): Promise<ReadonlySet<string>> {
  const paths = Object.keys(await contentsOf(store))
  return new Set(paths.filter((path) => path.startsWith(MARKS)))
}

function never(): never {
  throw new Error('The world has not started')
}
