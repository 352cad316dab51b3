// Runs the commands of one memory tool, in the order in which its calls are made.

import { type CommandName, commands } from './commands.ts'
import { Refusal } from './refusal.ts'
import type { ToolSpace } from './tool-space.ts'
import { turnOrder } from './turn-order.ts'

/** Takes the input of a command as the model wrote it. Rejects with what `refusalOf` words. */
export type RunCommand = (name: CommandName, input: unknown) => Promise<string>

export function commandRunner(space: ToolSpace): RunCommand {
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
