// The answer to programs that pass on the inputs of a model, in whatever language they are
// written: the content of the tool result, and whether it is an error.

import { errorContentOf } from './refusal.ts'
import { commandOf, type RunCommand } from './run-command.ts'

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
