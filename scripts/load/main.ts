// `npm run load`: clients read and change the memories of many stores of one server, each change on
// condition that nobody else was faster, while the server is killed again and again. Ends with exit
// code 1 if a change that was acknowledged is lost or there twice, if two won one race, if any
// answer was a fault, or if the server held more than it may.

import { readFileSync } from 'node:fs'
import { seededChoice } from '../bench/workload.ts'
import { type Answer, Client, Fault, textOf } from './client.ts'
import { hashOf, type Memory, newMemory, note, problemsOf } from './model.ts'
import { type Options, parseOptions, usage } from './options.ts'
import { measureRatio } from './ratio.ts'
import { rest, ServerProcess } from './server-process.ts'

const memoriesPerStore = 4
/** One request of so many goes to the same few memories, so that there are races. */
const hotOf = 8
const hotMemories = 4
/** Lives differ in how many stores they open, and in the packs of these. */
const handlesMore = 1.5
const handlesFew = 100

interface Counts {
  reads: number
  updates: number
  races: number
  lost: number
}

class Load {
  readonly #options: Options
  readonly #client: Client
  readonly #server: ServerProcess
  readonly #memories: Memory[] = []
  readonly #counts: Counts = { reads: 0, updates: 0, races: 0, lost: 0 }
  #isOver = false

  constructor(options: Options) {
    this.#options = options
    this.#client = new Client(options.url, options.key)
    this.#server = new ServerProcess(options.command, options.url)
  }

  async run(): Promise<readonly string[]> {
    const { clients, seconds } = this.#options
    await this.#server.start()
    try {
      await this.#createStores()
      setTimeout(() => {
        this.#isOver = true
      }, seconds * 1000)
      const working = Array.from({ length: clients }, (_, number) => this.#work(number))
      await Promise.all([...working, this.#killAgainAndAgain()])
      return [...(await this.#check()), ...this.#checkMeasures()]
    } finally {
      this.#isOver = true
      await this.#server.stop()
    }
  }

  describe(): string {
    const { reads, updates, races, lost } = this.#counts
    const { lives } = this.#server
    const memory = lives.map((life) => life.memory.toFixed(0)).join(' ')
    const handles = lives.map((life) => life.handles).join(' ')
    return (
      `${reads} reads, ${updates} updates, ${races} lost races, ${lost} unanswered; ` +
      `of each life, MiB: ${memory}; handles: ${handles}`
    )
  }

  async #createStores(): Promise<void> {
    const numbers = Array.from({ length: this.#options.stores }, (_, number) => number)
    await inParallel(8, numbers, async (number) => {
      const made = await this.#client.ask('POST', '', { name: `load ${number}` })
      const storeId = textOf(made, 'id')
      for (let n = 0; n < memoriesPerStore; n += 1) {
        const body = { path: `/notes/${n}.md`, content: 'start\n' }
        const memory = await this.#client.ask('POST', `/${storeId}/memories`, body)
        this.#memories.push(newMemory(storeId, textOf(memory, 'id')))
      }
    })
  }

  async #work(number: number): Promise<void> {
    const choose = seededChoice(`${this.#options.seed} ${number}`)
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
    const { killEvery } = this.#options
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

  #checkMeasures(): readonly string[] {
    const { maxMemory = Infinity } = this.#options
    const { lives } = this.#server
    const most = Math.max(...lives.map(({ memory }) => memory))
    const [first = 0, ...later] = lives.map(({ handles }) => handles)
    const problems: string[] = []
    if (most > maxMemory) {
      problems.push(`The server held ${most.toFixed(0)} MiB, and may hold ${maxMemory}`)
    }
    if (Math.max(first, ...later) > handlesMore * first + handlesFew) {
      problems.push(`From ${first} file handles it came to ${Math.max(...later)}`)
    }
    return problems
  }
}

function outcomeOf(answer: Answer): 'acknowledged' | 'refused' | 'lost' {
  if (answer === undefined) return 'lost'
  return answer.status === 200 ? 'acknowledged' : 'refused'
}

async function inParallel<T>(
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

async function compare({ command, url, key, clients }: Options): Promise<number> {
  const server = new ServerProcess(command, url)
  await server.start()
  try {
    for (const line of await measureRatio(new Client(url, key), clients)) console.log(line)
  } finally {
    await server.stop()
  }
  return 0
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), (file) => readFileSync(file, 'utf8'))
  if (options.ratio) return compare(options)
  const load = new Load(options)
  const problems = await load.run()
  console.log(load.describe())
  for (const problem of problems.slice(0, 20)) console.error(problem)
  console.log(problems.length === 0 ? 'Nothing is wrong' : `${problems.length} problems`)
  return problems.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof TypeError) || error instanceof Fault) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
