// What clones do with what a remote shows (FORMAT §9): fetch, merge, push, and the commands that a
// person gives where two keyrings have changed apart. The state is small and copied at each step.

import {
  type Edit,
  isInForce,
  isOwner,
  type Ledger,
  type Made,
  makesSense,
  type Rule,
} from './ledger.ts'

export interface Clone {
  readonly head: number
  /** For each remote: what it showed last and this clone accepted. */
  readonly noted: readonly number[]
  /** A keyring record of its own whose push had no answer. */
  readonly pending?: number | undefined
}

export interface World {
  readonly clones: Readonly<Record<string, Clone>>
  readonly remotes: readonly number[]
}

export type Outcome =
  | 'done'
  /** Not in force any more: it follows, and pushes nothing. */
  | 'locked_out'
  | 'refused'
  | 'rolled_back'
  | 'keyring_conflict'
  | 'merge_held'
  | 'waits'

/** A record that a clone had and has no more, which it has told its user of. */
export interface Dropped {
  readonly device: string
  readonly number: number
}

export interface Step {
  readonly world: World
  readonly outcome: Outcome
  readonly dropped: readonly Dropped[]
}

export class Clones {
  readonly #ledger: Ledger
  readonly #without: Rule | undefined

  constructor(ledger: Ledger, without?: Rule) {
    this.#ledger = ledger
    this.#without = without
  }

  sync(world: World, device: string, remote: number): Step {
    const ledger = this.#ledger
    const clone = cloneOf(world, device)
    const { head } = clone
    const theirs = world.remotes[remote] ?? 0
    const noted = clone.noted[remote] ?? 0
    if (!ledger.isValid(theirs)) return stopped(world, 'refused')
    if (ledger.areApart(theirs, head) || ledger.areApart(theirs, noted)) {
      return this.#repeatPending(world, device, remote) ?? stopped(world, 'keyring_conflict')
    }
    const lacks = ledger.side(noted, theirs)
    if (!this.#areOut(lacks, theirs)) return stopped(world, 'rolled_back')
    if (ledger.has(theirs, head)) return this.#moved(world, device, remote, theirs)
    if (ledger.has(head, theirs)) return this.#moved(world, device, remote, head)
    const late = ledger.late(head, theirs)
    const kept = ledger.side(head, theirs).filter(({ number }) => !late.has(number))
    const next = late.has(head)
      ? this.#merge(device, theirs, ledger.newest(kept))
      : this.#merge(device, head, [ledger.at(theirs)])
    if (next === undefined) return stopped(world, 'merge_held')
    const left = ledger.side(theirs, next)
    if (this.#without !== 'push check' && !this.#areOut(left, next)) return stopped(world, 'waits')
    return this.#moved(world, device, remote, next)
  }

  /** Any member: adopts the remote's line, and repeats what this device wrote apart from it. */
  takeTheirs(world: World, device: string, remote: number): Step {
    const ledger = this.#ledger
    const { head } = cloneOf(world, device)
    const theirs = world.remotes[remote] ?? 0
    const merged = this.#mergeBeforeConflict(device, theirs, head)
    const own = ledger.side(head, merged).filter(({ author }) => author === device)
    return this.#moved(world, device, remote, this.#repeat(device, merged, own))
  }

  /** An owner: the own line, and what devices in force wrote on the other one once more. */
  repair(world: World, device: string, remote: number): Step {
    const ledger = this.#ledger
    const { head } = cloneOf(world, device)
    const theirs = world.remotes[remote] ?? 0
    const merged = this.#mergeBeforeConflict(device, head, theirs)
    const { directory } = ledger.at(merged)
    const rest = ledger.side(theirs, merged)
    const kept = rest.filter(({ author }) => isInForce(directory, author))
    const next = this.#repeat(device, merged, kept)
    const dropped = rest.map(({ number }) => ({ device, number }))
    const step = this.#moved(world, device, remote, next)
    return { ...step, dropped: [...step.dropped, ...dropped] }
  }

  /**
   * One change of the keyring, and its push to a remote. Undefined if a clone would not begin.
   * `isAnswered` tells whether the answer of the push arrives; the remote has the record then.
   */
  change(
    world: World,
    device: string,
    remote: number,
    edit: Edit,
    isAnswered: boolean,
  ): { readonly step: Step; readonly made: number } | undefined {
    const ledger = this.#ledger
    const step = this.sync(world, device, remote)
    const clone = cloneOf(step.world, device)
    const { directory } = ledger.at(clone.head)
    if (step.outcome !== 'done' || clone.pending !== undefined) return undefined
    if (!isOwner(directory, device) || !makesSense(directory, edit)) return undefined
    const made = ledger.add({ kind: 'keyring', author: device, parents: [clone.head], edit })
    // The host has it, and may show it at any time.
    if (!isAnswered && this.#without === 'pending stays') return { step, made }
    const next = isAnswered
      ? this.#moved(step.world, device, remote, made).world
      : withClone(step.world, device, { ...clone, head: made, pending: made })
    return { step: { ...step, world: next }, made }
  }

  #areOut(records: readonly Made[], head: number): boolean {
    const ledger = this.#ledger
    if (this.#without !== 'out by its own pair') {
      return records.every(({ number }) => ledger.isOut(number, head))
    }
    return ledger.newest(records).every(({ number }) => {
      if (ledger.areApart(number, head)) return false
      const late = ledger.late(number, head)
      return ledger.side(number, head).every((one) => late.has(one.number))
    })
  }

  /** A change whose answer was lost, where another keyring was first: its edit, on that one. */
  #repeatPending(world: World, device: string, remote: number): Step | undefined {
    const ledger = this.#ledger
    const { pending, head } = cloneOf(world, device)
    const theirs = world.remotes[remote] ?? 0
    if (pending === undefined || ledger.at(head).keyring !== pending) return undefined
    if (!isOwner(ledger.at(theirs).directory, device)) return undefined
    const step = this.takeTheirs(world, device, remote)
    const next = cloneOf(step.world, device).head
    const { edit } = ledger.at(pending)
    const { directory } = ledger.at(next)
    if (edit === undefined || !isOwner(directory, device)) return step
    if (!makesSense(directory, edit)) return step
    const made = ledger.add({ kind: 'keyring', author: device, parents: [next], edit })
    return { ...step, ...this.#moved(step.world, device, remote, made), dropped: step.dropped }
  }

  /** What can be merged of a line from before its first keyring record that the other has not. */
  #mergeBeforeConflict(device: string, base: number, other: number): number {
    const ledger = this.#ledger
    const before = ledger.side(other, base).filter(({ number }) => {
      return ledger.isValid(number) && !ledger.areApart(number, base)
    })
    return this.#merge(device, base, ledger.newest(before)) ?? base
  }

  /** Each judged against the new head. Undefined if only an owner could sign the merge. */
  #merge(device: string, base: number, heads: readonly Made[]): number | undefined {
    const ledger = this.#ledger
    let head = base
    const todo = heads.map(({ number }) => number)
    for (let one = todo.shift(); one !== undefined; one = todo.shift()) {
      if (ledger.has(head, one)) continue
      if (ledger.has(one, head)) {
        head = one
        continue
      }
      const side = ledger.side(one, head).filter(({ number }) => number !== one)
      if (ledger.areApart(head, one)) {
        todo.push(...ledger.newest(side).map(({ number }) => number))
        continue
      }
      const late = ledger.late(one, head)
      if (late.has(one)) {
        const kept = side.filter(({ number }) => !late.has(number))
        todo.push(...ledger.newest(kept).map(({ number }) => number))
        continue
      }
      // What ends the base cannot be merged into it.
      if (ledger.late(head, one).has(head)) continue
      const directory = ledger.directoryOf(head, one)
      if (ledger.verdict(head, one) === 'needs_owner' && !isOwner(directory, device)) {
        return undefined
      }
      if (!ledger.mayMerge(head, one, device)) continue
      head = ledger.add({ kind: 'change', author: device, parents: [head, one] })
    }
    return head
  }

  /** One change with the texts of others that the head has not. */
  #repeat(device: string, head: number, records: readonly Made[]): number {
    const texts = records.filter(({ kind, parents }) => kind === 'change' && parents.length === 1)
    if (texts.length === 0 || !this.#ledger.mayWrite(head, device)) return head
    const text = `again ${texts.map(({ number }) => number).join(' ')}`
    return this.#ledger.add({ kind: 'change', author: device, parents: [head], text })
  }

  /**
   * The clone and the remote continue from a head; records of the clone that are not below it are
   * listed.
   */
  #moved(world: World, device: string, remote: number, head: number): Step {
    const ledger = this.#ledger
    const clone = cloneOf(world, device)
    const isSettled = clone.pending === undefined || ledger.has(head, clone.pending)
    const pending = isSettled ? undefined : clone.pending
    const isIn = ledger.mayWrite(head, device)
    // A device that is not in force pushes nothing, and no holder of an ended grant.
    const shown = isIn ? head : (world.remotes[remote] ?? 0)
    const next = { head, noted: clone.noted.with(remote, shown), pending }
    return {
      world: { ...withClone(world, device, next), remotes: world.remotes.with(remote, shown) },
      outcome: isIn ? 'done' : 'locked_out',
      dropped: ledger.side(clone.head, head).map(({ number }) => ({ device, number })),
    }
  }
}

export function cloneOf(world: World, device: string): Clone {
  const clone = world.clones[device]
  if (clone === undefined) throw new RangeError(`There is no clone of ${device}`)
  return clone
}

function withClone(world: World, device: string, clone: Clone): World {
  return { ...world, clones: { ...world.clones, [device]: clone } }
}

function stopped(world: World, outcome: Outcome): Step {
  return { world, outcome, dropped: [] }
}
