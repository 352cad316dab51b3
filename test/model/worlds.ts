// Every order in which honest clones, a host that replays and an attacker can act, up to bounds,
// and the laws of each state that they reach (FORMAT §0).

import { Clones, cloneOf, type Step, type World } from './clones.ts'
import { Laws } from './laws.ts'
import {
  type Author,
  type Edit,
  type Entry,
  granterOf,
  isGrant,
  isOwner,
  Ledger,
  mayGive,
  type Row,
  type Rule,
} from './ledger.ts'

export type Hostile = 'nobody' | 'O2' | 'W' | 'passphrase' | 'grant'

export interface Bounds {
  readonly hostile: Hostile
  /** 1, or 2: the owners then change the keyring at different ones. */
  readonly remotes: number
  /** How often the host shows an earlier state again. */
  readonly replays: number
  /** The device whose grant is active at first. Its holder is `grant` if that means harm. */
  readonly granter: 'O2' | 'W'
  readonly role?: 'writer' | 'proposer'
  /** Whether owners change members, or givers of grants; other actions are the same. */
  readonly about: 'members' | 'grants'
}

interface State extends World {
  /** What the host has seen, by number. */
  readonly pool: readonly number[]
  readonly counts: Readonly<Record<string, number>>
}

/** How a state was reached. */
interface Reached {
  readonly state: State
  readonly action: string
  readonly from: Reached | undefined
}

export interface Violation {
  readonly what: string
  readonly actions: readonly string[]
}

export interface Explored {
  readonly states: number
  readonly depth: number
  readonly violations: readonly Violation[]
}

const devices = ['O1', 'O2', 'W']
const edits: readonly Edit[] = [
  { type: 'role', device: 'O1', role: 'removed' },
  { type: 'role', device: 'O2', role: 'removed' },
  { type: 'role', device: 'W', role: 'removed' },
  { type: 'role', device: 'O2', role: 'writer' },
  { type: 'role', device: 'O2', role: 'reader' },
  { type: 'passphrase' },
]
/** A granter loses the right to give, and gets it back. */
const editsOfGivers: readonly Edit[] = [
  { type: 'role', device: 'O2', role: 'reader' },
  { type: 'role', device: 'O2', role: 'writer' },
  { type: 'role', device: 'O2', role: 'owner' },
  { type: 'role', device: 'W', role: 'reader' },
  { type: 'role', device: 'W', role: 'writer' },
  { type: 'givers', givers: 'owners alone' },
  { type: 'givers', givers: 'owners and writers' },
]
/** Two devices that may begin the same key. */
const grants = ['O2/V', 'W/V']
/** How often each may happen on one way. */
const caps = {
  members: { write: 1, redact: 1, begin: 0, end: 1, keyring: 2, harm: 3 },
  grants: { write: 1, redact: 0, begin: 2, end: 2, keyring: 3, harm: 3 },
}
/** Syncs of everybody after which a store has settled, or will not. */
const rounds = 6

export class Worlds {
  readonly #ledger: Ledger
  readonly #clones: Clones
  readonly #bounds: Bounds
  readonly #honest: readonly string[]
  readonly #holder: Author
  readonly #laws: Laws
  readonly #violations = new Map<string, Violation>()
  /** Heads, and clones with remotes, that were judged before, on another way. */
  readonly #judged = new Set<number | string>()

  constructor(bounds: Bounds, without?: Rule) {
    this.#bounds = bounds
    this.#ledger = new Ledger(without)
    this.#clones = new Clones(this.#ledger, without)
    this.#laws = new Laws(this.#ledger)
    this.#holder = `${bounds.granter}/V`
    const isHolderHonest = bounds.about === 'grants' && bounds.hostile !== 'grant'
    const all = isHolderHonest ? [...devices, this.#holder] : devices
    this.#honest = all.filter((device) => device !== bounds.hostile)
  }

  /** All states that `depth` actions reach. */
  explore(depth: number): Explored {
    const seen = new Set<string>()
    let level: readonly Reached[] = [this.#first()]
    for (let at = 0; at < depth; at += 1) {
      const next: Reached[] = []
      for (const from of level) {
        for (const reached of this.#next(from)) {
          const key = keyOf(reached.state)
          if (seen.has(key)) continue
          seen.add(key)
          this.#check(reached)
          next.push(reached)
        }
      }
      level = next
    }
    return { states: seen.size, depth, violations: [...this.#violations.values()] }
  }

  /** Ways that are chosen by `random`, a number from 0 to below its argument. */
  walk(walks: number, length: number, random: (below: number) => number): Explored {
    let states = 0
    for (let walk = 0; walk < walks; walk += 1) {
      let at = this.#first()
      for (let step = 0; step < length; step += 1) {
        const all = [...this.#next(at)]
        // By kind first: there are many ways to do harm, and few to write.
        const kinds = [/ syncs /, /^(?:harm|host)/, /./].map((kind, index, list) => {
          const earlier = list.slice(0, index)
          return all.filter(({ action }) => {
            return kind.test(action) && !earlier.some((other) => other.test(action))
          })
        })
        const some = kinds.filter((list) => list.length > 0)
        const chosen = some[random(some.length)] ?? []
        const next = chosen[random(chosen.length)]
        if (next === undefined) break
        this.#check(next)
        states += 1
        at = next
      }
    }
    return { states, depth: length, violations: [...this.#violations.values()] }
  }

  #first(): Reached {
    const ledger = this.#ledger
    if (ledger.size === 0) {
      const roles = { O1: 'owner', O2: 'owner', W: 'writer' } as const
      ledger.found({ roles, passphrase: 0, givers: 'owners and writers' })
    }
    const { role = 'writer' } = this.#bounds
    const row = { type: 'begins', grant: this.#holder, role } as const
    const author = granterOf(this.#holder)
    const head = ledger.add({ kind: 'grants', author, parents: [0], row })
    const remotes = Array.from({ length: this.#bounds.remotes }, () => head)
    const clone = { head, noted: remotes }
    const clones = Object.fromEntries([...devices, this.#holder].map((one) => [one, clone]))
    const state = { clones, remotes, pool: [0, head], counts: {} }
    return { state, action: 'begin', from: undefined }
  }

  *#next(from: Reached): Generator<Reached> {
    const { state } = from
    for (const device of this.#honest) yield* this.#honestly(from, device)
    for (const [remote, shown] of state.remotes.entries()) {
      for (const number of state.pool) {
        if (number === shown) continue
        const remotes = state.remotes.with(remote, number)
        const next = counted({ ...state, remotes }, 'replay', this.#bounds.replays)
        if (next !== undefined) yield this.#reached(from, next, `host shows ${number} at ${remote}`)
      }
    }
    yield* this.#harm(from)
  }

  *#honestly(from: Reached, device: string): Generator<Reached> {
    const { state } = from
    const ledger = this.#ledger
    for (const remote of state.remotes.keys()) {
      const { world, outcome } = this.#clones.sync(state, device, remote)
      const action = `${device} syncs with ${remote}: ${outcome}`
      yield this.#reached(from, { ...state, ...world }, action)
    }
    const { head } = cloneOf(state, device)
    const { directory } = ledger.at(head)
    if (!ledger.mayWrite(head, device)) return
    yield* this.#writes(from, device, { kind: 'change' }, 'write', `write ${device}`)
    if (isGrant(device)) return
    for (const row of this.#rows(head, device)) {
      yield* this.#writes(from, device, { kind: 'grants', row }, counterOf(row), counterOf(row))
    }
    if (!isOwner(directory, device)) return
    yield* this.#writes(from, device, { kind: 'redact' }, 'redact', 'redact')
    yield* this.#changes(from, device)
  }

  *#changes(from: Reached, device: string): Generator<Reached> {
    const { state } = from
    const { about } = this.#bounds
    const remote = device === 'O2' ? state.remotes.length - 1 : 0
    for (const edit of about === 'grants' ? editsOfGivers : edits) {
      if (edit.type === 'role' && edit.device === device) continue
      for (const isAnswered of [true, false]) {
        const next = counted(state, 'keyring', caps[about].keyring)
        if (next === undefined) continue
        const changed = this.#clones.change(next, device, remote, edit, isAnswered)
        if (changed === undefined) continue
        const what = `${device} ${JSON.stringify(edit)} ${isAnswered ? 'answered' : 'unanswered'}`
        // The host has the record, whatever its answer.
        const pool = withNumber(state.pool, changed.made)
        yield this.#reached(
          from,
          { ...next, ...changed.step.world, pool, counts: next.counts },
          what,
        )
      }
    }
  }

  /** What a device that is in force may begin and end. */
  #rows(head: number, device: string): readonly Row[] {
    const { about, hostile } = this.#bounds
    const { directory } = this.#ledger.at(head)
    if (about === 'members' && hostile !== 'grant') return []
    return grants.flatMap((grant): readonly Row[] => {
      const isGranter = granterOf(grant) === device
      if (this.#ledger.begin(head, grant) !== undefined) {
        return isGranter || isOwner(directory, device) ? [{ type: 'ends', grant }] : []
      }
      if (!isGranter || !mayGive(directory, device)) return []
      const roles = hostile === 'grant' ? (['writer', 'proposer'] as const) : ['writer' as const]
      return roles.map((role) => ({ type: 'begins', grant, role }))
    })
  }

  *#writes(
    from: Reached,
    device: string,
    what: Pick<Entry, 'kind' | 'row'>,
    cap: 'write' | 'redact' | 'begin' | 'end',
    counter: string,
  ): Generator<Reached> {
    const { state } = from
    const next = counted(state, counter, caps[this.#bounds.about][cap])
    if (next === undefined) return
    const clone = cloneOf(state, device)
    const head = this.#ledger.add({ ...what, author: device, parents: [clone.head] })
    const clones = { ...next.clones, [device]: { ...clone, head } }
    yield this.#reached(from, { ...next, clones }, this.#name(head))
  }

  /** What one who means harm can put on anything that the host has seen. */
  *#harm(from: Reached): Generator<Reached> {
    const { hostile, about } = this.#bounds
    const { state } = from
    if (hostile === 'nobody') return
    for (const on of state.pool) {
      for (const number of this.#forged(on, state.pool)) {
        if (!this.#ledger.isValid(number) || state.pool.includes(number)) continue
        const { harm } = caps[about]
        const next = counted({ ...state, pool: withNumber(state.pool, number) }, 'harm', harm)
        if (next !== undefined) yield this.#reached(from, next, `harm: ${this.#name(number)}`)
      }
    }
  }

  #forged(on: number, pool: readonly number[]): readonly number[] {
    const ledger = this.#ledger
    const { hostile, about } = this.#bounds
    const parents = [on]
    const text = 'harm'
    if (hostile === 'grant') {
      const all = about === 'grants' ? grants : [this.#holder]
      return all.flatMap((author) => {
        const made = ledger.add({ kind: 'change', author, parents, text })
        return about === 'grants' ? [made, ...this.#merges(author, on, pool)] : [made]
      })
    }
    if (hostile === 'passphrase') {
      const edit = { type: 'role', device: 'P', role: 'writer' } as const
      return [
        ledger.add({ kind: 'keyring', author: 'passphrase', parents, edit }),
        ledger.add({ kind: 'change', author: 'P', parents, text }),
      ]
    }
    const own = (['change', 'redact'] as const).map((kind) => {
      return ledger.add({ kind, author: hostile, parents, text })
    })
    const keyrings = (['removed', 'reader'] as const).map((role) => {
      const device = role === 'removed' ? 'O1' : 'W'
      const edit = { type: 'role', device, role } as const
      return ledger.add({ kind: 'keyring', author: hostile, parents, edit })
    })
    const given = about === 'grants' ? this.#forgedGrants(hostile, on) : []
    return [...own, ...this.#merges(hostile, on, pool), ...keyrings, ...given]
  }

  #merges(author: Author, on: number, pool: readonly number[]): readonly number[] {
    return pool
      .filter((other) => other < on && !this.#ledger.has(on, other))
      .map((other) => this.#ledger.add({ kind: 'change', author, parents: [on, other] }))
  }

  /** The key of another one's holder, a key that it has itself, and the ends of everybody's. */
  #forgedGrants(author: string, on: number): readonly number[] {
    const ledger = this.#ledger
    const parents = [on]
    const own = [`${author}/V`, `${author}/X`]
    const begun = own.map((grant): Row => ({ type: 'begins', grant, role: 'writer' }))
    const ended = [...new Set([...own, ...grants])].map((grant): Row => ({ type: 'ends', grant }))
    return [
      ...[...begun, ...ended].map((row) => ledger.add({ kind: 'grants', author, parents, row })),
      ledger.add({ kind: 'change', author: `${author}/X`, parents, text: 'harm' }),
    ]
  }

  /** With all that the remotes show among what the host has seen. */
  #reached(from: Reached, state: State, action: string): Reached {
    const pool = state.remotes.reduce(withNumber, state.pool)
    return { state: { ...state, pool }, action, from }
  }

  #check(reached: Reached): void {
    const ledger = this.#ledger
    const { clones, remotes } = reached.state
    for (const device of this.#honest) {
      const { head } = cloneOf(reached.state, device)
      if (this.#judged.has(head)) continue
      this.#judged.add(head)
      if (!ledger.isValid(head)) this.#violated(reached, 'a clone has a head that is not valid')
      const history = [...ledger.past(head), ledger.at(head)]
      if (this.#honest.some((one) => ledger.isForked(history, one))) {
        this.#violated(reached, 'an honest device is forked')
      }
      for (const law of this.#laws.brokenBy(head)) this.#violated(reached, law)
    }
    const key = JSON.stringify([Object.values(clones), remotes])
    if (this.#judged.has(key)) return
    this.#judged.add(key)
    this.#checkAgreement(reached)
  }

  /** With honest remotes from now on, all that are in force get one head, by one command each. */
  #checkAgreement(reached: Reached): void {
    const commands: Record<string, number> = {}
    const outcomes: Record<string, string> = {}
    const told = new Set<number>()
    let world: World = reached.state
    let repairer: string | undefined
    const take = (step: Step): void => {
      world = step.world
      for (const { number } of step.dropped) told.add(number)
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const device of this.#honest) {
        const step = this.#clones.sync(world, device, 0)
        take(step)
        outcomes[device] = step.outcome
        if (!['refused', 'rolled_back', 'keyring_conflict', 'merge_held'].includes(step.outcome)) {
          continue
        }
        const isHeld = step.outcome === 'merge_held'
        const { directory } = this.#ledger.at(cloneOf(world, device).head)
        const mayRepair = repairer === undefined && isOwner(directory, device) && !isHeld
        // Others wait until an owner had time to act.
        if (!mayRepair && (isHeld ? round < 3 || commands[device] : !repairer && round < 2))
          continue
        commands[device] = (commands[device] ?? 0) + 1
        if (mayRepair) repairer = device
        take(this.#clones[mayRepair ? 'repair' : 'takeTheirs'](world, device, 0))
        outcomes[device] = 'by command'
      }
    }
    const [end = 0] = world.remotes
    const ledger = this.#ledger
    const members = this.#honest.filter((one) => {
      return ledger.mayWrite(end, one) && this.#mayFollow(one, cloneOf(world, one).head)
    })
    const isOne = members.every((one) => {
      return cloneOf(world, one).head === end && outcomes[one] === 'done'
    })
    if (!isOne) this.#violated(reached, `no agreement: ${JSON.stringify(outcomes)}`)
    if (Object.values(commands).some((count) => count > 1)) {
      this.#violated(reached, 'somebody needs more than one command')
    }
    this.#checkNothingVanishes(reached, end, told)
  }

  /**
   * Whether others can wait for a clone. The clone of a grant cannot merge records that together
   * fork a hostile granter, and it pushes no end that the host showed to it alone.
   */
  #mayFollow(device: string, head: number): boolean {
    if (!isGrant(device)) return true
    return granterOf(device) !== this.#bounds.hostile && this.#ledger.mayWrite(head, device)
  }

  /** What an honest clone had is in the end, or its user was told of it. */
  #checkNothingVanishes(reached: Reached, end: number, told: ReadonlySet<number>): void {
    const ledger = this.#ledger
    for (const device of this.#honest) {
      const { head } = cloneOf(reached.state, device)
      if (!ledger.mayWrite(end, device) || !this.#mayFollow(device, head)) continue
      const lost = ledger.side(head, end).find(({ number }) => !told.has(number))
      if (lost !== undefined) this.#violated(reached, 'a record is gone, and nobody was told')
    }
  }

  #violated(reached: Reached, what: string): void {
    if (this.#violations.has(what)) return
    const actions: string[] = []
    for (let at: Reached | undefined = reached; at?.from; at = at.from) actions.unshift(at.action)
    this.#violations.set(what, { what, actions })
  }

  #name(number: number): string {
    const { kind, author, parents, edit, row } = this.#ledger.at(number)
    const more = edit ?? row
    const what = more === undefined ? '' : ` ${JSON.stringify(more)}`
    return `${number} = ${author} ${kind}${what} on ${parents.join(' and ')}`
  }
}

function counterOf({ type }: Row): 'begin' | 'end' {
  return type === 'begins' ? 'begin' : 'end'
}

function counted(state: State, counter: string, most: number): State | undefined {
  const count = (state.counts[counter] ?? 0) + 1
  return count > most ? undefined : { ...state, counts: { ...state.counts, [counter]: count } }
}

function withNumber(pool: readonly number[], number: number): readonly number[] {
  return pool.includes(number) ? pool : [...pool, number].toSorted((a, b) => a - b)
}

function keyOf({ clones, remotes, pool, counts }: State): string {
  const sorted = Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([Object.values(clones), remotes, pool, sorted])
}
