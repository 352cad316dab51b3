// One durable command of 1 kB, single client: medians beside all peers, then the p99 of a sustained
// load, checkpoints included, beside the fast ones.

import { append } from '../contenders/append.ts'
import type { ContenderKind } from '../contenders/contender.ts'
import { ageCommit, gitCommit } from '../contenders/git-commit.ts'
import { isomorphic } from '../contenders/isomorphic.ts'
import { pass } from '../contenders/pass.ts'
import { plainFiles } from '../contenders/plain-files.ts'
import {
  countedDisk,
  createBenchStore,
  handlersOf,
  memoryCommands,
  product,
} from '../contenders/product.ts'
import { sqlite } from '../contenders/sqlite.ts'
import { type Absent, type Lane, startLanes } from '../lane.ts'
import { atLeast, atMost, type Bound, type Section, type Table, unmeasured } from '../report.ts'
import { takeTurns } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, ratio, type Summary } from '../statistics.ts'

/** Until the compiler has seen enough. */
const warmUpTurns = 12
/** Below this many samples a p99 is only the worst of them. */
const p99SamplesMin = 100

export async function measureCommands(context: RunContext): Promise<Section> {
  const single = await measureSingle(context)
  const sustained = await measureSustained(context)
  return {
    bounds: [...single.bounds, ...sustained.bounds],
    tables: [...single.tables, ...sustained.tables],
  }
}

async function measureSingle(context: RunContext): Promise<Section> {
  const { rounds, commandsPerTurn } = context.scale
  const peers = [gitCommit, ageCommit, pass, isomorphic]
  const kinds = [append, product, sqlite(() => context.sqlite()), plainFiles, ...peers]
  const { lanes, absent } = await startLanes(context, 'commands', kinds, commandsPerTurn)
  context.log(`${lanes.length} contenders take turns, ${rounds} rounds`)
  for (const lane of lanes) await lane.warmUp(lane.every === 1 ? warmUpTurns : 1)
  await takeTurns(lanes, rounds)
  for (const lane of lanes) await lane.close()
  return {
    bounds: [
      ...singleBounds('create', creates, lanes),
      ...singleBounds('str_replace', replaces, lanes),
    ],
    tables: [
      table('One durable command: create, 1 kB', creates, lanes, absent, remarks(kinds)),
      table('One durable command: str_replace in 1 kB', replaces, lanes, absent, []),
    ],
  }
}

type Samples = (lane: Lane) => Summary
const creates: Samples = (lane) => lane.creates
const replaces: Samples = (lane) => lane.replaces
const all: Samples = (lane) => lane.all

function singleBounds(command: string, samples: Samples, lanes: readonly Lane[]): Bound[] {
  const median = (kind: string) => {
    const lane = lanes.find(({ name }) => name === kind)
    return lane === undefined ? undefined : samples(lane).median
  }
  const ours = median(product.name) ?? Number.NaN
  const limits = [
    [append.name, 2.5],
    ['SQLCipher', 1.25],
    [plainFiles.name, 1],
  ] as const
  const upper = limits.map(([name, limit]) => {
    const subject = `${command}, × ${name}`
    const peer = median(name)
    if (peer === undefined) return unmeasured(subject, `≤ ${ratio(limit)}`, 'not installed')
    return atMost(subject, ours / peer, limit, ratio)
  })
  const git = median(gitCommit.name) ?? Number.NaN
  return [...upper, atLeast(`${command}, times faster than git commit`, git / ours, 20, ratio)]
}

async function measureSustained(context: RunContext): Promise<Section> {
  const { blocks, blockCommands } = context.scale
  const { disk, counts } = countedDisk()
  const counted: ContenderKind = {
    ...product,
    start: async (directory) => {
      const { store } = await createBenchStore(directory, { disk })
      const settle = () => store.maintenance.checkpoint()
      return { ...memoryCommands(handlersOf(store)), settle, close: () => store.close() }
    },
  }
  const kinds = [append, counted, sqlite(() => context.sqlite()), plainFiles]
  const { lanes, absent } = await startLanes(context, 'sustained', kinds, blockCommands / 2)
  context.log(`sustained load, ${blocks} blocks of ${blockCommands} commands each`)
  const before = counts.branchMoves
  await takeTurns(lanes, blocks)
  const checkpoints = counts.branchMoves - before
  for (const lane of lanes) await lane.close()
  const title = 'Sustained commands of 1 kB, create and str_replace by turns'
  const notes = [
    `Blocks of ${blockCommands} commands without a pause. Checkpoints of gitlocket beside them, ` +
      `and in its p99: ${checkpoints - blocks}.`,
  ]
  return { bounds: [p99Bound(lanes)], tables: [table(title, all, lanes, absent, notes)] }
}

function p99Bound(lanes: readonly Lane[]): Bound {
  const p99 = (kind: string) => lanes.find(({ name }) => name === kind)?.all.p99 ?? Number.NaN
  const subject = `p99 with checkpoints, × the p99 of the ${plainFiles.name}`
  return atMost(subject, p99(product.name) / p99(plainFiles.name), 2, ratio)
}

function table(
  title: string,
  samples: Samples,
  lanes: readonly Lane[],
  absent: readonly Absent[],
  notes: readonly string[],
): Table {
  const [floorLane] = lanes
  const floor = floorLane === undefined ? Number.NaN : samples(floorLane).median
  const rows = lanes.map((lane) => {
    const { n, median, p99 } = samples(lane)
    const worst = n < p99SamplesMin ? '' : milliseconds(p99)
    const cpu = lane.pace === 'fast' ? milliseconds(lane.cpu) : ''
    return [lane.name, ratio(median / floor), milliseconds(median), worst, cpu, digits(n)]
  })
  const missing = absent.map(({ name, reason }) => [name, reason, '', '', '', '0'])
  const columns = ['', '× append', 'median', 'p99', 'CPU', 'n']
  return { title, columns, rows: [...rows, ...missing], notes }
}

function remarks(kinds: readonly ContenderKind[]): string[] {
  const lines = kinds.filter(({ remark }) => remark !== '')
  return [
    'One command at a time; the contenders take turns, and what one does in the background is ' +
      'finished before the next begins. The p99 of so short bursts holds no checkpoint: see the ' +
      'sustained table. CPU is the processor time of this process, threads included, per command ' +
      'of both kinds.',
    lines.map(({ name, remark }) => `- ${name}: ${remark}`).join('\n'),
  ]
}
