// `completion`: prints the script that completes command lines in a shell.

import { usageError } from '../command-error.ts'
import type { Answer, Command, Input } from '../command.ts'
import { shells } from '../completion.ts'

export function completion(commands: readonly Command[], input: Input): Answer {
  const shell = input.argument(0)
  const script = shells[shell]?.(commands)
  if (script !== undefined) return { text: script, json: { shell, script } }
  throw usageError(`The shell must be one of ${Object.keys(shells).join(', ')}`, 'completion')
}
