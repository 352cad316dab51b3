// The load of `npm run load` and of the bench: clients read and change the memories of many stores
// of one server, each change on condition that nobody else was faster, while the server is killed
// again and again. In the end each memory is compared with what was acknowledged.

import { seededChoice } from '../bench/workload.ts'
import { type Answer, type Client, Fault, textOf } from './client.ts'
import { hashOf, Lines, type Outcome } from './lines.ts'
import { rest, type ServerProcess } from './server-process.ts'

const memoriesPerStore = 4
/** One request of so many goes to the same few memories, so that there are races. */
const hotOf = 8
const hotMemories = 4

export interface Memory {
  readonly storeId: string
  readonly memoryId: string
  readonly lines: Lines
  /** By hash of the state that they changed, how many updates were acknowledged. */
  readonly winners: Map<string, number>
}

export interface Plan {
  readonly stores: number
  readonly clients: number
  readonly seconds: number
  /** Seconds between two kills of the server; 0 for none. */
  readonly killEvery: number
  readonly seed: string
}

interface Counts {
  reads: number
  updates: number
  /** Updates that were refused since another one was faster. */
  races: number
  /** Updates without an answer. */
  lost: number
}

export class Load {
  readonly #plan: Plan
  readonly #client: Client
  readonly #server: ServerProcess
  readonly #memories: Memory[] = []
  readonly #counts: Counts = { reads: 0, updates: 0, races: 0, lost: 0 }
  #isOver = false

  /** The server must not have been started. */
  constructor(plan: Plan, client: Client, server: ServerProcess) {
    this.#plan = plan
    this.#client = client
    this.#server = server
  }

  get counts(): Readonly<Counts> {
    return this.#counts
  }

  /** What is wrong with what the stores hold in the end. Throws a `Fault` for any other answer. */
  async run(): Promise<readonly string[]> {
    const { clients, seconds } = this.#plan
    await this.#server.start()
    try {
      await this.#createStores()
      setTimeout(() => {
        this.#isOver = true
      }, seconds * 1000)
      const working = Array.from({ length: clients }, (_, number) => this.#work(number))
      await Promise.all([...working, this.#killAgainAndAgain()])
      return await this.#check()
    } finally {
      this.#isOver = true
      await this.#server.stop()
    }
  }

  async #createStores(): Promise<void> {
    const numbers = Array.from({ length: this.#plan.stores }, (_, number) => number)
    await inParallel(8, numbers, async (number) => {
      const made = await this.#client.ask('POST', '', { name: `load ${number}` })
      const storeId = textOf(made, 'id')
      for (let n = 0; n < memoriesPerStore; n += 1) {
        const body = { path: `/notes/${n}.md`, content: 'start\n' }
        const memory = await this.#client.ask('POST', `/${storeId}/memories`, body)
        const memoryId = textOf(memory, 'id')
        this.#memories.push({ storeId, memoryId, lines: new Lines(), winners: new Map() })
      }
    })
  }

  async #work(number: number): Promise<void> {
    const choose = seededChoice(`${this.#plan.seed} ${number}`)
    for (let change = 0; !this.#isOver; change += 1) {
      const isHot = choose(hotOf) === 0
      const memory = this.#memories[choose(isHot ? hotMemories : this.#memories.length)]
      if (memory === undefined) return
      const isAnswered = await this.#change(memory, `${number}.${change}`, choose(2) === 0)
      if (!isAnswered) await rest(50)
    }
  }

  /** False if the server did not answer. */
  async #change(memory: Memory, line: string, readsOnly: boolean): Promise<boolean> {
    const path = `/${memory.storeId}/memories/${memory.memoryId}`
    const read = await this.#client.ask('GET', path)
    if (read === undefined) return false
    this.#counts.reads += 1
    if (readsOnly) return true
    const before = textOf(read, 'content')
    const base = textOf(read, 'content_sha256')
    if (hashOf(before) !== base) throw new Fault(`${path} was read with a wrong hash`)
    const precondition = { type: 'content_sha256', content_sha256: base }
    const content = `${before}${line}\n`
    const answer = await this.#client.ask('POST', path, { content, precondition }, [200, 409])
    note(memory, line, base, outcomeOf(answer))
    if (answer === undefined) this.#counts.lost += 1
    else if (answer.status === 409) this.#counts.races += 1
    else this.#counts.updates += 1
    return answer !== undefined
  }

  async #killAgainAndAgain(): Promise<void> {
    const { killEvery } = this.#plan
    if (killEvery === 0) return
    for (let next = Date.now() + killEvery * 1000; !this.#isOver;) {
      await rest(200)
      if (Date.now() < next) continue
      await this.#server.kill()
      await this.#server.start()
      next = Date.now() + killEvery * 1000
    }
  }

  async #check(): Promise<readonly string[]> {
    const problems: string[] = []
    await inParallel(8, this.#memories, async (memory) => {
      const { storeId, memoryId } = memory
      const read = await this.#client.ask('GET', `/${storeId}/memories/${memoryId}`)
      const versions = await this.#countVersions(storeId, memoryId)
      problems.push(...problemsOf(memory, textOf(read, 'content'), versions))
    })
    return problems
  }

  async #countVersions(storeId: string, memoryId: string): Promise<number> {
    let count = 0
    for (let page: unknown = ''; typeof page === 'string';) {
      const query = `memory_id=${memoryId}&limit=100${page && `&page=${encodeURIComponent(page)}`}`
      const answer = await this.#client.ask('GET', `/${storeId}/memory_versions?${query}`)
      const data: unknown = answer?.body['data']
      if (!Array.isArray(data)) throw new Fault('A list of versions has no data')
      count += data.length
      page = answer?.body['next_page']
    }
    return count
  }
}

export function note(
  { lines, winners }: Memory,
  line: string,
  base: string,
  outcome: Outcome,
): void {
  lines.note(line, outcome)
  if (outcome === 'acknowledged') winners.set(base, (winners.get(base) ?? 0) + 1)
}

/** What is wrong with a memory as it was read at the end, and with its number of versions. */
export function problemsOf(memory: Memory, content: string, versions: number): readonly string[] {
  const found = content.split('\n').slice(1, -1)
  const races = [...memory.winners.values()].filter((winners) => winners > 1)
  const problems = [
    ...memory.lines.problems(found),
    ...races.map((winners) => `${winners} updates of one state were acknowledged`),
    ...(versions === found.length + 1 ? [] : [`${versions} versions, ${found.length} updates`]),
  ]
  return problems.map((problem) => `${memory.storeId} ${memory.memoryId}: ${problem}`)
}

function outcomeOf(answer: Answer): Outcome {
  if (answer === undefined) return 'lost'
  return answer.status === 200 ? 'acknowledged' : 'refused'
}

export async function inParallel<T>(
  lanes: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const pending = items.values()
  const lane = async (): Promise<void> => {
    for (const item of pending) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
