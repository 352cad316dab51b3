// The server of the Memory Stores API, beside the library where both do the same, and on its own.

import {
  httpUpdater,
  libraryUpdater,
  repeat,
  type Update,
  type Updater,
} from '../../load/updates.ts'
import { type Hosted, newHosted, serving } from '../hosted.ts'
import { atLeast, atMost, type Bound, type Section, type Table } from '../report.ts'
import { takeTurns, timed, type Turn } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, percent, ratio, summarize } from '../statistics.ts'
import { measureLoads } from './server-load.ts'
import { measureRedactions } from './server-redaction.ts'
import { measureStores } from './server-stores.ts'

const aloneMax = 2
const togetherMin = 0.6
const clients = 64
/** Short turns, so that both see the same machine. */
const updatesAlone = 10
const updatesTogether = 5
const warmUpTurns = 5

export async function measureServer(context: RunContext): Promise<Section> {
  const sections = [
    await measureUpdates(context),
    await measureStores(context),
    await measureRedactions(context),
    await measureLoads(context),
  ]
  return {
    bounds: sections.flatMap(({ bounds }) => bounds),
    tables: sections.flatMap(({ tables }) => tables),
  }
}

async function measureUpdates(context: RunContext): Promise<Section> {
  context.log('guarded updates by the library and over HTTP')
  const hosted = await newHosted(context, 'server-updates')
  return serving(hosted, async () => {
    const [library, http] = await startLanes(context, hosted)
    await takeTurns([library, http], context.scale.server.turns)
    await library.close()
    return { bounds: boundsOf(library, http), tables: [table(library, http)] }
  })
}

async function startLanes(
  context: RunContext,
  { client }: Hosted,
): Promise<readonly [UpdateLane, UpdateLane]> {
  const directory = context.directory('server-library')
  const lanes = [
    await UpdateLane.start('the library', await libraryUpdater(directory)),
    await UpdateLane.start('over HTTP', await httpUpdater(client)),
  ] as const
  await takeTurns(lanes, warmUpTurns)
  for (const lane of lanes) lane.forget()
  return lanes
}

/** One side of the comparison: in each turn some updates alone, then some of all clients. */
class UpdateLane implements Turn {
  readonly every = 1
  readonly name: string
  readonly #updater: Updater
  readonly #alone: Update
  readonly #together: readonly Update[]
  /** Milliseconds of each update. */
  #single: number[] = []
  /** Updates a second, of each turn. */
  #throughput: number[] = []

  private constructor(name: string, updater: Updater, updates: readonly [Update, ...Update[]]) {
    this.name = name
    this.#updater = updater
    const [alone, ...together] = updates
    this.#alone = alone
    this.#together = together
  }

  static async start(name: string, updater: Updater): Promise<UpdateLane> {
    const alone = await updater.begin('alone')
    const together: Update[] = []
    for (let n = 0; n < clients; n += 1) together.push(await updater.begin(`client ${n}`))
    return new UpdateLane(name, updater, [alone, ...together])
  }

  get alone() {
    return summarize(this.#single)
  }

  get throughput() {
    return summarize(this.#throughput)
  }

  forget(): void {
    this.#single = []
    this.#throughput = []
  }

  async take(): Promise<void> {
    for (let n = 0; n < updatesAlone; n += 1) this.#single.push(await timed(this.#alone))
    const all = () => Promise.all(this.#together.map((update) => repeat(update, updatesTogether)))
    this.#throughput.push((1000 * clients * updatesTogether) / (await timed(all)))
  }

  close(): Promise<void> {
    return this.#updater.close()
  }
}

function boundsOf(library: UpdateLane, http: UpdateLane): readonly Bound[] {
  const cost = http.alone.median / library.alone.median
  const share = http.throughput.median / library.throughput.median
  const together = `${clients} clients over HTTP, share of the library's throughput`
  return [
    atMost('guarded update over HTTP, × the library', cost, aloneMax, ratio),
    atLeast(together, share, togetherMin, percent),
  ]
}

function table(library: UpdateLane, http: UpdateLane): Table {
  const rows = [library, http].map(({ name, alone, throughput }) => [
    name,
    ratio(alone.median / library.alone.median),
    milliseconds(alone.median),
    milliseconds(alone.p99),
    digits(alone.n),
    percent(throughput.median / library.throughput.median),
    digits(throughput.median),
    digits(throughput.n * clients * updatesTogether),
  ])
  return {
    title: 'Guarded updates, 1 kB each, over HTTP and by the library',
    columns: ['', '× library', 'median', 'p99', 'n', `${clients} at once`, 'per second', 'n'],
    rows,
    notes: [
      'Each update is on condition of the SHA-256 of the content before it. The server is a ' +
        'process of its own, its client is the bench, by plain HTTP over loopback and with ' +
        `connections that stay. Turns of ${updatesAlone} updates, one after another, and of ` +
        `${updatesTogether} by each of ${clients} clients, each of its own memory in one store; ` +
        `${warmUpTurns} turns of each do not count. Packing in the background is that of either ` +
        'side, and falls into the turns of both. Per second: the median of the turns. The ' +
        'processors are shared by server and clients.',
    ],
  }
}
