// A sandbox: an empty directory with a grant, where agents live one after the other. Each writes,
// and ends at a random time by SIGKILL, SIGTERM or the end of its input. The next one finds the
// directory that it left, or an empty one. The link of the machine is cut now and then.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, type AgentKind, agentKinds, type Ending, startAgent } from './agent.ts'
import { type Ended, Home } from './home.ts'
import { type Journal, type Kind, syncClone, type Tally } from './journal.ts'
import type { Place } from './network.ts'

/** Memories that all machines add lines to. */
export const sharedMemories = 4
/** The longest life of an agent, and the longest time without a link. */
const [lifeMs, cutMs] = [90_000, 20_000]
const endings: readonly Ending[] = ['SIGKILL', 'SIGTERM', 'input']
/** What SIGTERM may take: 10 s for the last sync, and the rest where many share two processors. */
const endsWithinMs = 30_000
/** Of a program that SIGTERM ended, at once or while it opened its store. */
const terminatedCodes: ReadonlySet<number | undefined> = new Set([143, 130])

export interface World {
  readonly root: string
  readonly journal: Journal
  readonly tally: Tally
  readonly remote: string
  /** Aborted when the work is over. */
  readonly signal: AbortSignal
  /** The mean time between two writes of a machine. */
  readonly everyMs: number
}

/** A grant, which its granter may end. */
export interface Lent {
  readonly text: string
  isEnded: boolean
}

export type Choose = (bound: number) => number

export class Sandbox {
  readonly #name: string
  readonly #world: World
  readonly #place: Place
  readonly #choose: Choose
  readonly #grants: readonly Lent[]
  #homes = 0
  /** The clone of the agent, or the one that the last agent has left. */
  home: Home | undefined
  #lent: Lent | undefined

  /** A new clone is made with the first of the grants that has not ended. */
  constructor(name: string, world: World, place: Place, choose: Choose, grants: readonly Lent[]) {
    this.#name = name
    this.#world = world
    this.#place = place
    this.#choose = choose
    this.#grants = grants
  }

  /** Until the work is over. */
  async work(): Promise<void> {
    await this.#pause(this.#world.everyMs)
    while (!this.#world.signal.aborted) await this.#live()
    this.#place.restore()
  }

  /** Whether its clone was made with a grant that has ended since. */
  get hasEndedGrant(): boolean {
    return this.#lent?.isEnded === true
  }

  async #live(): Promise<void> {
    const { journal, tally } = this.#world
    const home = (this.home ??= this.#newHome())
    const kind = agentKinds[this.#choose(agentKinds.length)] ?? 'stream'
    const how = endings[this.#choose(endings.length)] ?? 'input'
    const agent = startAgent(kind, home)
    journal.note(`${home.directory}: begins ${kind}`)
    const [since, faults] = [journal.writes.length, tally.faults.size]
    const life = new AbortController()
    const ending = this.#pause(lifeMs, life.signal).then(() => {
      life.abort()
      return this.#end(agent, home, how)
    })
    const cutting = this.#choose(3) === 0 ? this.#cut(life.signal) : undefined
    const isKept = await this.#writeAll(agent, home, kind, life.signal)
    life.abort()
    const ended = await ending
    await cutting
    tally.count(`${kind} ended by ${how}`)
    journal.note(`${home.directory}: ${kind} ended by ${how}: ${ended?.stderr ?? ''}`)
    if (kind !== 'commands' && how !== 'SIGKILL') this.#judgeEnd(home, ended, since)
    // Evidence is kept.
    if (tally.faults.size > faults) this.home = undefined
    else if (!isKept || this.#choose(2) === 0) this.discard()
  }

  /** Until the end of the agent's life. False if its clone cannot go on. */
  async #writeAll(agent: Agent, home: Home, kind: AgentKind, life: AbortSignal): Promise<boolean> {
    const { everyMs, tally } = this.#world
    while (!life.aborted) {
      await this.#pause(2 * everyMs, life)
      const failures = [await this.#write(agent, home, kind)]
      if (this.#choose(3) === 0) {
        const killAfter = this.#choose(8) === 0 ? this.#choose(1500) : undefined
        failures.push(await syncClone(home, this.#world, killAfter))
      }
      if (failures.includes('ended')) return true
      if (failures.includes('grant_expired')) {
        tally.count('clones that could not go on')
        return false
      }
    }
    return true
  }

  async #end(agent: Agent, home: Home, how: Ending): Promise<Ended | undefined> {
    const begun = performance.now()
    const ended = await agent.end(how)
    const ms = Math.round(performance.now() - begun)
    if (how === 'SIGTERM' && ms > endsWithinMs)
      this.#world.tally.faults.add(`${home.directory}: ${how} took ${ms} ms`)
    return ended
  }

  /** The code of the failure, if any; `ended` if the agent has ended. */
  async #write(agent: Agent, home: Home, agentKind: AgentKind): Promise<string | undefined> {
    const { journal, tally } = this.#world
    const kinds: readonly Kind[] = ['memory', 'line', 'text']
    const kind = kinds[this.#choose(agentKind === 'commands' ? 3 : 2)] ?? 'memory'
    const write = journal.begin(home, kind, (token) => this.#pathOf(kind, home, token))
    const answer = await agent.write(write)
    if (answer === undefined) return 'ended'
    if (!answer.isDone) return tally.fail(home, answer.failure)
    write.isAcknowledged = true
    write.isSynced = answer.isSent
    if (agentKind === 'commands' && !answer.isSent) tally.count('ends with something unsent')
    return undefined
  }

  #pathOf(kind: Kind, home: Home, token: string): string {
    if (kind === 'line') return `/shared/${this.#choose(sharedMemories)}.md`
    const directory = home.directory.slice(this.#world.root.length)
    return kind === 'text' ? `${directory}/text.md` : `${directory}/${token}.md`
  }

  /** What was acknowledged has been sent, or the process has said that it was not. */
  #judgeEnd(home: Home, ended: Ended | undefined, since: number): void {
    const { journal, tally } = this.#world
    if (ended === undefined) return
    const isTerminated = terminatedCodes.has(ended.exitCode)
    const isEarly = isTerminated && journal.acknowledged(home, since).length === 0
    if (isEarly) tally.count('ended before they began')
    else if (ended.exitCode !== 0) tally.fail(home, ended)
    else if (ended.stderr.includes('not sent')) tally.count('ends with something unsent')
    else for (const write of journal.acknowledged(home, since)) write.isSynced = true
  }

  /** Deletes the clone: what was not sent is lost. */
  discard(): void {
    this.home?.remove()
    this.home = undefined
  }

  #newHome(): Home {
    this.#homes += 1
    this.#lent = this.#grants.find(({ isEnded }) => !isEnded)
    const directory = join(this.#world.root, `${this.#name}-${this.#homes}`)
    return new Home(directory, this.#place, {
      GITLOCKET_GRANT: this.#lent?.text ?? '',
      GITLOCKET_REMOTE: this.#world.remote,
      NODE_DEBUG: 'gitlocket',
    })
  }

  async #cut(life: AbortSignal): Promise<void> {
    await this.#pause(lifeMs / 2, life)
    this.#place.cut(this.#choose(2) === 0 ? 'unplugged' : 'silent')
    this.#world.tally.count('cut links')
    await this.#pause(cutMs)
    this.#place.restore()
  }

  /** A random time below `ms`, cut short when the work or the life is over. */
  #pause(ms: number, life?: AbortSignal): Promise<void> {
    return pause(this.#choose(ms), this.#world.signal, life)
  }
}

export async function pause(ms: number, work: AbortSignal, life?: AbortSignal): Promise<void> {
  const signal = life === undefined ? work : AbortSignal.any([work, life])
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
