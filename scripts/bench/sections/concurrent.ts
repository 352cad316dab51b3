// 32 commands at once: how much of what the processor allows is reached, and how many of them share
// one fdatasync.

import type { Contender } from '../contenders/contender.ts'
import { countedDisk, createBenchStore, handlersOf, memoryCommands } from '../contenders/product.ts'
import { atLeast, type Section } from '../report.ts'
import { takeTurns } from '../rounds.ts'
import type { RunContext } from '../run-context.ts'
import { digits, milliseconds, percent, ratio } from '../statistics.ts'
import { Workload } from '../workload.ts'

const width = 32

/** Sums over all blocks of one width. Times in ms. */
interface Load {
  readonly width: number
  commands: number
  wall: number
  cpu: number
  syncs: number
}

export async function measureConcurrent(context: RunContext): Promise<Section> {
  const { blocks, blockCommands } = context.scale
  const { disk, counts } = countedDisk()
  const { store } = await createBenchStore(context.directory('concurrent'), { disk })
  const commands = memoryCommands(handlersOf(store))
  const workload = new Workload()
  context.log(`1 and ${width} commands at once, ${blocks} blocks of ${blockCommands} each`)
  await runBlock(commands, workload, width, width * 8)
  const loads = [1, width].map((each) => newLoad(each))
  const turns = loads.map((load) => ({
    every: 1,
    take: async () => {
      await store.maintenance.checkpoint()
      const [start, cpu, syncs] = [performance.now(), process.cpuUsage(), counts.syncs]
      await runBlock(commands, workload, load.width, blockCommands)
      const used = process.cpuUsage(cpu)
      load.wall += performance.now() - start
      load.cpu += (used.user + used.system) / 1000
      load.syncs += counts.syncs - syncs
      load.commands += blockCommands
    },
  }))
  await takeTurns(turns, blocks)
  await store.close()
  return describe(loads[0] ?? newLoad(1), loads[1] ?? newLoad(width))
}

function newLoad(each: number): Load {
  return { width: each, commands: 0, wall: 0, cpu: 0, syncs: 0 }
}

/** Creates and replacements by turns, `each` of them at once. */
async function runBlock(
  commands: Pick<Contender, 'create' | 'replace'>,
  workload: Workload,
  each: number,
  total: number,
): Promise<void> {
  for (let done = 0; done < total; done += each) {
    const burst = Array.from({ length: each }, (_, index) =>
      (done + index) % 2 === 0
        ? commands.create(workload.nextCreate())
        : commands.replace(workload.nextReplace()),
    )
    await Promise.all(burst)
  }
}

function describe(single: Load, many: Load): Section {
  const per = (load: Load) => load.wall / load.commands
  const speedUp = per(single) / per(many)
  const allowed = single.wall / single.cpu
  const rows = [single, many].map((load) => [
    String(load.width),
    ratio(per(single) / per(load)),
    digits(1000 / per(load)),
    milliseconds(per(load)),
    milliseconds(load.cpu / load.commands),
    digits(load.commands / load.syncs),
    digits(load.commands),
  ])
  const columns = ['at once', 'throughput', 'per second', 'wall each', 'CPU each', 'per sync', 'n']
  const notes = [
    `A single command waits for the disk and the rest is processor time; that share alone would ` +
      `allow ${ratio(allowed)} the throughput. CPU is that of the whole process, packing in the ` +
      'background included; a sync is any fdatasync or fsync outside of the packing thread.',
  ]
  return {
    bounds: [
      atLeast(`${width} at once, share of what the CPU allows`, speedUp / allowed, 0.8, percent),
      atLeast(`${width} at once, commands per fdatasync`, many.commands / many.syncs, 8, digits),
    ],
    tables: [{ title: `${width} commands at once, 1 kB each`, columns, rows, notes }],
  }
}
