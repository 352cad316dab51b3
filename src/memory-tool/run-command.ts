// Runs the commands of one memory tool, in the order in which its calls are made.

import type { Effect } from '../operations/operation.ts'
import { type CommandName, commands } from './commands.ts'
import type { ToolMount } from './mount.ts'
import { errorContentOf, Refusal } from './refusal.ts'
import type { ToolSpace } from './tool-space.ts'

/** Takes the input of a command as the model wrote it. Rejects with what `refusalOf` words. */
export type RunCommand = (name: CommandName, input: unknown) => Promise<string>

export function commandRunner(space: ToolSpace<ToolMount>): RunCommand {
  const inOrder = turnOrder()
  return async (name, input) => {
    const { effect, run } = commands[name]
    return inOrder(effect, () => run(space, input))
  }
}

/** The command that an input names. Throws a Refusal. */
export function commandOf(input: unknown): CommandName {
  const name: unknown =
    typeof input === 'object' && input !== null ? Reflect.get(input, 'command') : undefined
  if (typeof name === 'string' && isCommand(name)) return name
  const names = Object.keys(commands).join(', ')
  throw new Refusal(`Invalid \`command\` parameter: it should be one of ${names}`)
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

/** Runs a call as soon as every call that must precede it has settled. */
export type TurnOrder = <T>(effect: Effect, run: () => Promise<T>) => Promise<T>

export function turnOrder(): TurnOrder {
  let current: Effect = 'write'
  /** Resolves when the calls of the other kind before the current ones have settled. */
  let ready: Promise<void> = Promise.resolve()
  /** Resolves when all calls so far have settled. Holds no answer, so that none remains in RAM. */
  let settled: Promise<void> = ready
  return (effect, run) => {
    if (effect !== current) ready = settled
    current = effect
    const answer = ready.then(run)
    const before = settled
    settled = answer.then(
      () => before,
      () => before,
    )
    return answer
  }
}

/** Wire names. */
export interface ToolAnswer {
  readonly content: string
  readonly is_error: boolean
}

/**
 * Runs the command that an input names. What `read` throws is for the model, too. Throws only
 * faults, which are not for the model.
 */
export async function answerTool(
  run: RunCommand,
  read: () => unknown,
  isFault: (error: unknown) => boolean = () => false,
): Promise<ToolAnswer> {
  try {
    const input = await read()
    return { content: await run(commandOf(input), input), is_error: false }
  } catch (error) {
    if (isFault(error)) throw error
    return { content: errorContentOf(error), is_error: true }
  }
}
