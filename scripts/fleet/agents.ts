// The load of `npm run fleet`: agents with the official SDK, each with a key of its own, read and
// change memories of many stores through whichever server is next. An agent repeats what a server
// that was killed has not answered; every other error is a fault. In the end a fresh server shows
// each acknowledged line once.

import Anthropic, {
  APIConnectionError,
  APIError,
  AuthenticationError,
  ConflictError,
} from '@anthropic-ai/sdk'
import { seededChoice } from '../bench/workload.ts'
import { hashOf, Lines } from '../load/lines.ts'
import { inParallel, type Memory, note, problemsOf } from '../load/load.ts'
import { rest } from '../load/server-process.ts'
import type { ApiKey, Fleet, FleetServer } from './fleet.ts'

export interface AgentsPlan {
  readonly stores: number
  readonly seconds: number
  readonly seed: string
}

interface Counts {
  reads: number
  updates: number
  /** Updates that were refused since another one was faster. */
  races: number
  /** Requests to a server that was killed. */
  broken: number
  /** Requests with a key that was revoked. */
  refused: number
}

/** What an agent does in one store before it turns to another one. */
const CHANGES_PER_STORE = 8
/** One store of so many is one of the same few, so that there are races. */
const HOT_OF = 8
const HOT_STORES = 4
const LANES = 32
const TIMEOUT_MS = 60_000
const PAUSE_MS = 50

type Work<T> = (stores: Anthropic['beta']['memoryStores']) => Promise<T>

/** An agent's connections: one client of the SDK for each server. */
class Caller {
  readonly #servers: readonly FleetServer[]
  readonly #choose: (bound: number) => number
  readonly #counts: Counts
  #key: ApiKey
  #clients: readonly Anthropic[]
  #next: ApiKey | undefined

  constructor(servers: readonly FleetServer[], key: ApiKey, seed: string, counts: Counts) {
    this.#servers = servers
    this.#choose = seededChoice(seed)
    this.#counts = counts
    this.#key = key
    this.#clients = this.#connect(key)
  }

  get key(): ApiKey {
    return this.#key
  }

  /** The key that counts once the present one is refused. */
  replaceKey(next: ApiKey): void {
    this.#next = next
  }

  /** Repeats work until a server has answered. Throws an error of the SDK that is a fault. */
  async call<T>(work: Work<T>): Promise<T> {
    for (;;) {
      const done = await this.attempt(work)
      if (done !== undefined) return done.value
      await rest(PAUSE_MS)
    }
  }

  /** Undefined if it is unknown whether the work was done, or if the key was revoked. */
  async attempt<T>(work: Work<T>): Promise<{ readonly value: T } | undefined> {
    const at = this.#choose(this.#servers.length)
    const [server, client] = [this.#servers[at], this.#clients[at]]
    if (server === undefined || client === undefined) throw new Error('there is no such server')
    const sentAt = performance.now()
    try {
      return { value: await work(client.beta.memoryStores) }
    } catch (error) {
      if (isBroken(error) && server.mayBreak(sentAt)) this.#counts.broken += 1
      else if (error instanceof AuthenticationError && this.#next !== undefined) {
        this.#counts.refused += 1
        this.#takeNext(this.#next)
      } else throw error
      return undefined
    }
  }

  #takeNext(next: ApiKey): void {
    this.#key = next
    this.#clients = this.#connect(next)
    this.#next = undefined
  }

  #connect({ token }: ApiKey): readonly Anthropic[] {
    return this.#servers.map(({ url }) => clientOf(url, token))
  }
}

export class Agents {
  readonly counts: Counts = { reads: 0, updates: 0, races: 0, broken: 0, refused: 0 }
  readonly faults: string[] = []
  readonly #plan: AgentsPlan
  readonly #fleet: Fleet
  readonly #callers: readonly Caller[]
  readonly #memories: Memory[] = []
  readonly #times: number[] = []
  #isOver = false

  constructor(plan: AgentsPlan, fleet: Fleet, keys: readonly ApiKey[]) {
    this.#plan = plan
    this.#fleet = fleet
    this.#callers = keys.map((key, number) => {
      return new Caller(fleet.servers, key, `${plan.seed} servers of ${number}`, this.counts)
    })
  }

  /** How many stores an agent has changed. */
  get changed(): number {
    return this.#memories.filter(({ lines }) => lines.acknowledged > 0).length
  }

  /** Milliseconds that a share of the updates took at most, their repetitions included. */
  updateTime(share: number): number {
    return this.#times.toSorted((a, b) => a - b)[Math.floor(this.#times.length * share)] ?? 0
  }

  async createStores(): Promise<void> {
    const numbers = Array.from({ length: this.#plan.stores }, (_, number) => number)
    await inParallel(LANES, numbers, async (number) => {
      const caller = this.#caller(number)
      const { id } = await caller.call((stores) => stores.create({ name: `store ${number}` }))
      const made = await caller.call(({ memories }) => {
        return memories.create(id, { path: '/log.md', content: 'start\n' })
      })
      this.#memories.push({
        storeId: id,
        memoryId: made.id,
        lines: new Lines(),
        winners: new Map(),
      })
    })
  }

  async work(): Promise<void> {
    setTimeout(() => {
      this.#isOver = true
    }, this.#plan.seconds * 1000)
    await Promise.all(this.#callers.map((_, number) => this.#work(number)))
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Revokes the key of an agent, which every server must refuse at once. */
  async revokeOne(number: number): Promise<void> {
    const caller = this.#caller(number)
    const { key } = caller
    caller.replaceKey(await this.#fleet.createKey())
    await this.#fleet.revokeKey(key)
    for (const server of this.#fleet.servers) {
      const sentAt = performance.now()
      try {
        await clientOf(server.url, key.token).beta.memoryStores.list({ limit: 1 })
        this.faults.push(`${server.url} takes the revoked key ${key.id}`)
      } catch (error) {
        const isRefused = error instanceof AuthenticationError
        if (!isRefused && !(isBroken(error) && server.mayBreak(sentAt))) this.#fail(error)
      }
    }
  }

  /** What is wrong with what a server shows in the end. */
  async check(server: FleetServer, key: ApiKey): Promise<readonly string[]> {
    const problems: string[] = []
    const { memories, memoryVersions } = clientOf(server.url, key.token).beta.memoryStores
    await inParallel(LANES, this.#memories, async (memory) => {
      const { storeId, memoryId } = memory
      const { content } = await memories.retrieve(memoryId, { memory_store_id: storeId })
      let versions = 0
      for await (const version of memoryVersions.list(storeId, { memory_id: memoryId })) {
        if (version.memory_id === memoryId) versions += 1
      }
      problems.push(...problemsOf(memory, content ?? '', versions))
    })
    return problems
  }

  async #work(number: number): Promise<void> {
    const choose = seededChoice(`${this.#plan.seed} ${number}`)
    let memory: Memory | undefined
    for (let change = 0; !this.#isOver; change += 1) {
      if (change % CHANGES_PER_STORE === 0) {
        const isHot = choose(HOT_OF) === 0
        memory = this.#memories[choose(isHot ? HOT_STORES : this.#memories.length)]
      }
      if (memory === undefined) return
      try {
        await this.#change(memory, this.#caller(number), `${number}.${change}`, choose(2) === 0)
      } catch (error) {
        this.#fail(error)
      }
    }
  }

  /** Repeats an update until it is acknowledged, or seen after an answer was lost. */
  async #change(memory: Memory, caller: Caller, line: string, readsOnly: boolean): Promise<void> {
    const started = performance.now()
    const where = { memory_store_id: memory.storeId }
    while (!this.#isOver) {
      const read = await caller.call(({ memories }) => memories.retrieve(memory.memoryId, where))
      this.counts.reads += 1
      if (readsOnly) return
      const { content, content_sha256: base } = read
      const before = content ?? ''
      if (hashOf(before) !== base) throw new Error(`${memory.storeId}: a wrong hash was read`)
      if (before.includes(`\n${line}\n`)) {
        memory.lines.note(line, 'acknowledged')
        return
      }
      const outcome = await this.#update(memory, caller, { before, base, line })
      note(memory, line, base, outcome)
      if (outcome !== 'acknowledged') continue
      this.#times.push(performance.now() - started)
      return
    }
  }

  async #update(
    { storeId, memoryId }: Memory,
    caller: Caller,
    { before, base, line }: Record<'before' | 'base' | 'line', string>,
  ): Promise<'acknowledged' | 'refused' | 'lost'> {
    const content = `${before}${line}\n`
    const precondition = { type: 'content_sha256', content_sha256: base } as const
    const change = { memory_store_id: storeId, content, precondition }
    try {
      const done = await caller.attempt(({ memories }) => memories.update(memoryId, change))
      if (done !== undefined) this.counts.updates += 1
      return done === undefined ? 'lost' : 'acknowledged'
    } catch (error) {
      if (!isRace(error)) throw error
      this.counts.races += 1
      return 'refused'
    }
  }

  #caller(number: number): Caller {
    const caller = this.#callers[number % this.#callers.length]
    if (caller === undefined) throw new Error('there are no agents')
    return caller
  }

  #fail(error: unknown): void {
    this.faults.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  }
}

/** Without repetitions: they would hide errors, and not know which server was killed. */
function clientOf(baseURL: string, apiKey: string): Anthropic {
  return new Anthropic({ baseURL, apiKey, maxRetries: 0, timeout: TIMEOUT_MS })
}

/** No answer, or that of a server that does not serve. */
function isBroken(error: unknown): boolean {
  if (error instanceof APIConnectionError) return true
  return error instanceof APIError && error.status === 503
}

function isRace(error: unknown): boolean {
  return (
    error instanceof ConflictError && error.message.includes('memory_precondition_failed_error')
  )
}
