// 32 changes at once: how many a second, and how many of them share one fdatasync.

import { type Command, Commands } from '../commands.ts'
import type { Contender } from '../contenders/contender.ts'
import { contenderOf, countedDisk, createBenchStore } from '../contenders/product.ts'
import { atLeast, type Section } from '../report.ts'
import { takeTurns } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, ratio, summarize } from '../statistics.ts'

const width = 32

/** Sums over all blocks of one width. Times in ms. */
interface Load {
  readonly width: number
  commands: number
  /** Of each block. */
  readonly walls: number[]
  cpu: number
  syncs: number
}

export async function measureConcurrent(context: RunContext): Promise<Section> {
  const { rounds, mixed } = context.scale
  const { disk, counts } = countedDisk()
  const { store } = await createBenchStore(context.directory('concurrent'), { disk })
  const contender = contenderOf(store)
  const commands = new Commands()
  context.log(`1 and ${width} changes at once, ${rounds} rounds of ${mixed.commandsPerTurn} each`)
  await contender.fill(commands.fill(mixed.memories))
  await runBursts(contender, makeBursts(commands, width, width * 8))
  const loads = [1, width].map((each) => newLoad(each))
  const turns = loads.map((load) => ({
    every: 1,
    take: async () => {
      await contender.settle?.()
      const bursts = makeBursts(commands, load.width, mixed.commandsPerTurn)
      const [start, cpu, syncs] = [performance.now(), process.cpuUsage(), counts.syncs]
      await runBursts(contender, bursts)
      load.walls.push(performance.now() - start)
      load.syncs += counts.syncs - syncs
      await contender.settle?.()
      const used = process.cpuUsage(cpu)
      load.cpu += (used.user + used.system) / 1000
      load.commands += mixed.commandsPerTurn
    },
  }))
  await takeTurns(turns, rounds)
  await store.close()
  const [single = newLoad(1), many = newLoad(width)] = loads
  return describe(single, many, mixed.commandsPerTurn)
}

function newLoad(each: number): Load {
  return { width: each, commands: 0, walls: [], cpu: 0, syncs: 0 }
}

type Bursts = readonly (readonly Command[])[]

/** Changes, `each` of them at once and of as many memories. They take as long to make as a sync. */
function makeBursts(commands: Commands, each: number, total: number): Bursts {
  return Array.from({ length: total / each }, () => commands.burst(each))
}

async function runBursts(contender: Contender, bursts: Bursts): Promise<void> {
  for (const burst of bursts) await Promise.all(burst.map((command) => contender.run(command)))
}

function describe(single: Load, many: Load, block: number): Section {
  const per = (load: Load) => summarize(load.walls).median / block
  const perSecond = (load: Load) => 1000 / per(load)
  const rows = [single, many].map((load) => [
    String(load.width),
    ratio(per(single) / per(load)),
    digits(perSecond(load)),
    milliseconds(per(load)),
    milliseconds(load.cpu / load.commands),
    digits(load.commands / load.syncs),
    digits(load.commands),
  ])
  const columns = ['at once', 'throughput', 'per second', 'wall each', 'CPU each', 'per sync', 'n']
  const notes = [
    'Changes of the workload above, without its views, in bursts that wait for the last of them. ' +
      'CPU is that of the whole process, packing in the background included; a sync is any ' +
      'fdatasync or fsync outside of the packing thread.',
  ]
  return {
    bounds: [
      atLeast(`${width} changes at once, per second`, perSecond(many), 2500, digits),
      atLeast(`${width} changes at once, per fdatasync`, many.commands / many.syncs, 8, digits),
    ],
    tables: [
      {
        title: `${width} changes at once`,
        columns,
        rows,
        notes,
        plot: {
          name: 'concurrent',
          title: 'Changes per second (higher is better)',
          bars: [single, many].map((load) => ({
            label: `${load.width} at once`,
            value: perSecond(load),
            ours: true,
          })),
          format: digits,
        },
      },
    ],
  }
}
