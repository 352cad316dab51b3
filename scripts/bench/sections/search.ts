// Searches: the first one of a process and of an open store, and those with an index; what the
// index takes, and for how long building it holds up the event loop.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  type MemoryStore,
  openStore,
} from 'gitlocket'
import { commandLine } from '../machine.ts'
import { atMost, type Bound, type Section } from '../report.ts'
import { timed } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { bytes, digits, milliseconds, summarize, type Summary } from '../statistics.ts'
import { seededChoice } from '../workload.ts'

/** The bounds are those of a store of this size. */
const boundedMemories = 10_000
const batch = 1000
const textBytes = 1024
const vocabularySize = 20_000
const author = { actor: { type: 'user', id: 'bench' } } as const

interface Home {
  readonly directory: string
  readonly places: Parameters<typeof openStore>[0]
}

interface Measured {
  readonly memories: number
  readonly cold: Summary
  readonly first: number
  readonly second: number
  readonly delay: number
  readonly indexBytes: number
  readonly kinds: readonly (readonly [name: string, summary: Summary])[]
}

export async function measureSearch(context: RunContext): Promise<Section> {
  const measured: Measured[] = []
  for (const memories of context.scale.search.memories) {
    context.log(`searches in ${digits(memories)} memories`)
    measured.push(await measureStore(context, memories))
  }
  return {
    bounds: measured.filter(({ memories }) => memories === boundedMemories).flatMap(boundsOf),
    tables: [
      {
        title: 'Searches',
        columns: ['', ...measured.map(({ memories }) => `${digits(memories)} memories`)],
        rows: rowsOf(measured),
        notes: [
          `Memories of 1 kB, of ${digits(vocabularySize)} words of which a few are frequent. A ` +
            'new process is `gitlocket search` with all that it starts. The first search of an ' +
            'open store reads every memory, the second one makes the index. Warm ones: median, ' +
            '95th percentile; a page of 20 hits with their lines.',
        ],
      },
    ],
  }
}

async function measureStore(context: RunContext, memories: number): Promise<Measured> {
  const { scale } = context
  const home = await makeHome(context.directory(`search/${memories}`), memories)
  const words = new Words('queries')
  const cold: number[] = []
  for (let index = 0; index < scale.search.processes; index += 1) {
    cold.push(await timed(async () => runCommand(home, words.next())))
  }
  const store = await openStore(home.places)
  const search = (query: string, fuzzy = false) => timed(() => store.search({ query, fuzzy }))
  const before = heapBytes()
  const first = await search(words.next())
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  const second = await search(words.next())
  loop.disable()
  const indexBytes = heapBytes() - before
  const kinds = [
    ['one word', () => search(words.next())],
    ['two words', () => search(`${words.next()} ${words.next()}`)],
    ['three letters', () => search(words.next().slice(0, 3))],
    ['one word, fuzzy', () => search(words.next(), true)],
    ['after a write', () => afterWrite(store, words)],
  ] as const
  const taken: [string, Summary][] = []
  for (const [name, take] of kinds) {
    const samples: number[] = []
    for (let index = 0; index < scale.search.searches; index += 1) samples.push(await take())
    taken.push([name, summarize(samples)])
  }
  await store.close()
  const delay = loop.max / 1e6
  return { memories, cold: summarize(cold), first, second, delay, indexBytes, kinds: taken }
}

async function afterWrite(store: MemoryStore, words: Words): Promise<number> {
  await store.as(author).write('/0/0.md', words.text())
  return timed(() => store.search({ query: words.next() }))
}

function boundsOf({ cold, delay, kinds }: Measured): readonly Bound[] {
  const warm = kinds.filter(([name]) => !name.includes('write')).map(([, summary]) => summary)
  const most = (of: (summary: Summary) => number): number => Math.max(...warm.map(of))
  return [
    atMost(
      'warm search, median of the slowest kind',
      most(({ median }) => median),
      20,
      milliseconds,
    ),
    atMost(
      'warm search, p95 of the slowest kind',
      most(({ p95 }) => p95),
      50,
      milliseconds,
    ),
    atMost('`gitlocket search` in a new process', cold.median, 1000, milliseconds),
    atMost('event loop held up by an index', delay, 20, milliseconds),
  ]
}

function rowsOf(measured: readonly Measured[]): readonly (readonly string[])[] {
  const row = (name: string, cell: (one: Measured) => string): readonly string[] => [
    name,
    ...measured.map(cell),
  ]
  const [first] = measured
  return [
    row('a new process', ({ cold }) => milliseconds(cold.median)),
    row('the first search of an open store', (one) => milliseconds(one.first)),
    row('the second one', ({ second }) => milliseconds(second)),
    row('longest delay of the event loop meanwhile', ({ delay }) => milliseconds(delay)),
    row('RAM of the index', ({ indexBytes }) => bytes(indexBytes)),
    ...(first?.kinds ?? []).map(([name], index) =>
      row(name, ({ kinds }) => {
        const { median = Number.NaN, p95 = Number.NaN } = kinds[index]?.[1] ?? {}
        return `${milliseconds(median)}, ${milliseconds(p95)}`
      }),
    ),
  ]
}

/** Where the command line looks for its store by default. */
async function makeHome(directory: string, memories: number): Promise<Home> {
  const identity = await generateIdentity()
  const stateDirectory = join(directory, '.local/state/gitlocket')
  const places = { directory: join(directory, 'store'), stateDirectory, identity }
  mkdirSync(join(directory, '.config/gitlocket'), { recursive: true, mode: 0o700 })
  const options = { mode: 0o600 }
  writeFileSync(join(directory, '.config/gitlocket/identity'), formatIdentity(identity), options)
  const { store } = await createStore({ ...places, limits: { memories: 1_000_000 } })
  const words = new Words('texts')
  for (let done = 0; done < memories; done += batch) {
    const creates = Array.from({ length: Math.min(batch, memories - done) }, (_, index) => {
      const path = `/${Math.floor((done + index) / 100)}/${(done + index) % 100}.md`
      return { type: 'create', path, content: words.text() } as const
    })
    await store.as(author).apply(creates)
  }
  await store.close()
  return { directory, places }
}

function runCommand({ directory, places }: Home, word: string): void {
  const env = { PATH: process.env['PATH'], HOME: directory, GITLOCKET_STORE: places.directory }
  execFileSync(process.execPath, [commandLine, 'search', word], { env, stdio: 'ignore' })
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}

/** Words of which a few are frequent, as in any language. */
class Words {
  readonly #choose: (bound: number) => number

  constructor(seed: string) {
    this.#choose = seededChoice(seed)
  }

  next(): string {
    const share = this.#choose(1_000_000) / 1_000_000
    return wordOf(Math.floor(share ** 3 * vocabularySize))
  }

  text(): string {
    let text = ''
    for (let count = 1; text.length < textBytes; count += 1) {
      text += `${this.next()}${count % 10 === 0 ? '\n' : ' '}`
    }
    return `${text.slice(0, textBytes - 1)}\n`
  }
}

/** Of four to eleven letters; close numbers give words that differ. */
function wordOf(number: number): string {
  const letters = Array.from({ length: 4 + (number % 8) }, (_, index) => {
    return String.fromCharCode(97 + ((number * 7919 + (index + 1) * 104_729 * (number + 1)) % 26))
  })
  return letters.join('')
}
