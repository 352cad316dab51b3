// The words of a refusal, for a model that reads the result of a tool. The six commands have their
// own (src/memory-tool); these are for the other tools. Must not name anything of the host.

import { StoreError } from '../errors.ts'
import { Refusal } from '../memory-tool/refusal.ts'

/** The refusal of an operation at a path, or the error itself, which `errorContentOf` words. */
export function refusalAt(shown: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, message, details } = error
  if (details.parameter !== undefined && code === 'invalid_input') return error
  const say = words[code]
  return say === undefined ? error : new Refusal(say(shown, message), { cause: error })
}

const words: Partial<Readonly<Record<string, (shown: string, message: string) => string>>> = {
  not_found: (shown, message) => `${message}: ${shown}`,
  path_conflict: (shown) =>
    `Cannot write ${shown}: the path is taken, or a file is in the way of its directory`,
  invalid_path: (shown, message) => `Cannot write ${shown}: ${message}`,
  precondition_failed: (shown) =>
    `${shown} has another content than was expected. Read it again, and base the change on that`,
  no_match: (shown) => `No change was made: the old text does not occur in ${shown}`,
  multiple_matches: (shown) =>
    `No change was made: the old text occurs more than once in ${shown}. Include more around it`,
  sensitive_content: (shown, message) =>
    `Cannot write ${shown}. ${message}. Leave it out; note where it is kept instead`,
}
