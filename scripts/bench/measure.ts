// How everything is measured: what is compared takes turns in one run, and next to the time on the
// clock stands the processor time, which carries over from one disk to another.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantiles } from './statistics.ts'

/** One side of a comparison. */
export interface Contender {
  readonly name: string
  /** One unit of work. False if this unit does not count, such as a view between changes. */
  take(): unknown
  /** Finishes background work, so that it is charged to this contender and disturbs no other. */
  settle?(): Promise<void>
  close?(): unknown
}

export interface Measured {
  readonly name: string
  /** Milliseconds: the median on the clock, and the mean of the processor for each unit. */
  readonly time: number
  readonly processor: number
  readonly n: number
}

export interface Turns {
  readonly rounds: number
  /** Units of work in one turn. */
  readonly units?: number
  /** Milliseconds of rest after each turn; background work in it counts. */
  readonly rest?: number
}

/** Each round starts with another contender. The first round does not count. */
export async function byTurns(
  contenders: readonly Contender[],
  { rounds, units = 1, rest = 0 }: Turns,
): Promise<readonly Measured[]> {
  const samples = contenders.map(() => ({ times: [] as number[], processor: 0 }))
  for (let round = 0; round <= rounds; round += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const index = (turn + round) % contenders.length
      const [contender, sample] = [contenders[index], samples[index]]
      if (contender === undefined || sample === undefined) continue
      const before = processorTime()
      const times = await take(contender, units)
      await sleep(rest)
      await contender.settle?.()
      if (round === 0) continue
      sample.times.push(...times)
      sample.processor += processorTime() - before
    }
  }
  for (const contender of contenders) await contender.close?.()
  return contenders.map(({ name }, index) => {
    const { times = [], processor = Number.NaN } = samples[index] ?? {}
    return { name, time: median(times), processor: processor / times.length, n: times.length }
  })
}

async function take(contender: Contender, units: number): Promise<readonly number[]> {
  const times: number[] = []
  for (let unit = 0; unit < units; unit += 1) {
    const start = performance.now()
    const isCounted = await contender.take()
    if (isCounted !== false) times.push(performance.now() - start)
  }
  return times
}

export function median(samples: readonly number[]): number {
  return quantiles(samples, [0.5])[0]
}

/** The duration of `work` in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const TICK_MS = 10

/** Milliseconds of this process with its threads and, on Linux, of the children that ended. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + TICK_MS * ticksOfChildren()
}

function ticksOfChildren(): number {
  if (process.platform !== 'linux') return 0
  const fields = readFileSync('/proc/self/stat', 'latin1')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[13]) + Number(fields[14])
}
