// One contender of a comparison with its commands and its samples.

import type { Contender, ContenderKind } from './contenders/contender.ts'
import { timed, type Turn } from './rounds.ts'
import type { RunContext } from './run-context.ts'
import { summarize, type Summary } from './statistics.ts'
import { Workload } from './workload.ts'

export class Lane implements Turn {
  readonly name: string
  readonly every: number
  readonly pace: ContenderKind['pace']
  readonly #contender: Contender
  readonly #workload: Workload
  readonly #commandsPerTurn: number
  #creates: number[] = []
  #replaces: number[] = []
  #cpu = 0

  constructor(
    kind: Pick<ContenderKind, 'name' | 'every' | 'pace'>,
    contender: Contender,
    commandsPerTurn: number,
    workload: Workload = new Workload(),
  ) {
    this.name = kind.name
    this.every = kind.every
    this.pace = kind.pace
    this.#contender = contender
    this.#workload = workload
    this.#commandsPerTurn = commandsPerTurn
  }

  /** Milliseconds of each command. */
  get creates(): Summary {
    return summarize(this.#creates)
  }

  get replaces(): Summary {
    return summarize(this.#replaces)
  }

  get all(): Summary {
    return summarize([...this.#creates, ...this.#replaces])
  }

  /** Mean milliseconds of processor time of this process per command, all its threads together. */
  get cpu(): number {
    return this.#cpu / (this.#creates.length + this.#replaces.length)
  }

  /** `settle` ends background work, off the clock, before another contender's turn. */
  async take(): Promise<void> {
    const before = process.cpuUsage()
    for (let count = 0; count < this.#commandsPerTurn; count += 1) {
      const create = this.#workload.nextCreate()
      this.#creates.push(await timed(() => this.#contender.create(create)))
      const replace = this.#workload.nextReplace()
      this.#replaces.push(await timed(() => this.#contender.replace(replace)))
    }
    const { user, system } = process.cpuUsage(before)
    this.#cpu += (user + system) / 1000
    await this.#contender.settle?.()
  }

  /** Takes `turns` turns that do not count. */
  async warmUp(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) await this.take()
    this.#creates = []
    this.#replaces = []
    this.#cpu = 0
  }

  async close(): Promise<void> {
    await this.#contender.close()
  }
}

export interface Absent {
  readonly name: string
  readonly reason: string
}

/** Starts each kind in a separate directory; a kind that cannot take part gives the reason. */
export async function startLanes(
  context: RunContext,
  section: string,
  kinds: readonly ContenderKind[],
  commandsPerTurn: number,
): Promise<{ readonly lanes: readonly Lane[]; readonly absent: readonly Absent[] }> {
  const lanes: Lane[] = []
  const absent: Absent[] = []
  for (const [index, kind] of kinds.entries()) {
    try {
      const contender = await kind.start(context.directory(`${section}/${index}`))
      lanes.push(new Lane(kind, contender, kind.pace === 'fast' ? commandsPerTurn : 1))
    } catch (error) {
      absent.push({ name: kind.name, reason: reasonOf(error) })
    }
  }
  return { lanes, absent }
}

export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n')[0] ?? ''
}
