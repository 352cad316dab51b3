// One contender of a comparison with its commands and its samples.

import { changes, type CommandName, Commands } from './commands.ts'
import type { Contender, ContenderKind } from './contenders/contender.ts'
import { timed, type Turn } from './rounds.ts'
import type { RunContext } from './run-context.ts'
import { summarize, type Summary } from './statistics.ts'

export interface LaneOptions {
  /** Commands in a turn of a fast contender, and of a slow one. */
  readonly commandsPerTurn: number
  readonly slowCommandsPerTurn: number
  /** Memories that each contender is given before. */
  readonly memories: number
}

export class Lane implements Turn {
  readonly name: string
  readonly every: number
  readonly pace: ContenderKind['pace']
  readonly #contender: Contender
  readonly #commands: Commands
  readonly #commandsPerTurn: number
  readonly #samples = new Map<CommandName, number[]>()
  #cpu = 0

  constructor(
    kind: Pick<ContenderKind, 'name' | 'every' | 'pace'>,
    contender: Contender,
    commandsPerTurn: number,
    commands: Commands,
  ) {
    this.name = kind.name
    this.every = kind.every
    this.pace = kind.pace
    this.#contender = contender
    this.#commands = commands
    this.#commandsPerTurn = commandsPerTurn
  }

  /** Milliseconds of each command of these names. */
  of(names: readonly CommandName[]): Summary {
    return summarize(names.flatMap((name) => this.#samples.get(name) ?? []))
  }

  /**
   * Mean milliseconds of processor time of this process per change, all its threads together, with
   * the views between the changes and with what is done in the background.
   */
  get cpu(): number {
    return this.#cpu / this.of(changes).n
  }

  /** `settle` ends background work, off the clock, before another contender's turn. */
  async take(): Promise<void> {
    // Before the clock starts: making their texts takes time, too.
    const commands = Array.from({ length: this.#commandsPerTurn }, () => this.#commands.next())
    const before = process.cpuUsage()
    for (const command of commands) {
      const elapsed = await timed(() => this.#contender.run(command))
      this.#samplesOf(command.command).push(elapsed)
    }
    await this.#contender.settle?.()
    const { user, system } = process.cpuUsage(before)
    this.#cpu += (user + system) / 1000
  }

  /** Takes `turns` turns that do not count. */
  async warmUp(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) await this.take()
    this.#samples.clear()
    this.#cpu = 0
  }

  async close(): Promise<void> {
    await this.#contender.close()
  }

  #samplesOf(name: CommandName): number[] {
    const samples = this.#samples.get(name) ?? []
    this.#samples.set(name, samples)
    return samples
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
  options: LaneOptions,
): Promise<{ readonly lanes: readonly Lane[]; readonly absent: readonly Absent[] }> {
  const lanes: Lane[] = []
  const absent: Absent[] = []
  for (const [index, kind] of kinds.entries()) {
    const { name, pace } = kind
    const perTurn = pace === 'fast' ? options.commandsPerTurn : options.slowCommandsPerTurn
    try {
      const contender = await kind.start(context.directory(`${section}/${index}`))
      const commands = new Commands()
      await contender.fill(commands.fill(options.memories))
      await contender.settle?.()
      lanes.push(new Lane(kind, contender, perTurn, commands))
    } catch (error) {
      absent.push({ name, reason: reasonOf(error) })
    }
  }
  return { lanes, absent }
}

export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n')[0] ?? ''
}
