// What is answered to programs that pass the inputs of a model on, in whatever language they are
// written: the content of the tool result, and whether it is an error.

import { errorContentOf } from './refusal.ts'
import { commandOf, type RunCommand } from './run-command.ts'

/** Wire names. */
export interface ToolAnswer {
  readonly content: string
  readonly is_error: boolean
}

/** Runs the command that an input names. Throws only what is a fault, and not for the model. */
export async function answerTool(
  run: RunCommand,
  input: unknown,
  isFault: (error: unknown) => boolean = () => false,
): Promise<ToolAnswer> {
  try {
    return { content: await run(commandOf(input), input), is_error: false }
  } catch (error) {
    if (isFault(error)) throw error
    return { content: errorContentOf(error), is_error: true }
  }
}
