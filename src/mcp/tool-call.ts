// How a tool runs: its input is parsed, its path finds a mount, and an operation of operations/
// does the work. Must not decide anything that an operation decides.

import type { Tool as Definition } from '@modelcontextprotocol/server'
import { StoreError } from '../errors.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { Refusal } from '../memory-tool/refusal.ts'
import { toolRoot } from '../memory-tool/tool-path.ts'
import type { Nowhere, Place, ToolSpace } from '../memory-tool/tool-space.ts'
import { type Effect, type OperationDefinition, runOperation } from '../operations/operation.ts'
import type { PathContext } from '../operations/path-operations.ts'
import { inputSchemaOf, type ObjectSchema, parseInput } from '../operations/schemas.ts'
import type { Wire } from '../operations/wire.ts'

/** What a tool answers: for old clients as text, for others as a value, too. */
export interface ToolResult {
  readonly text: string
  readonly value?: Wire
}

export interface Tool {
  readonly definition: Definition
  readonly effect: Effect
  /** Throws what `errorContentOf` words. */
  readonly run: (space: ToolSpace, input: unknown) => Promise<ToolResult>
}

/** An operation at a place, which the caller knows as `shown`. */
export interface At {
  readonly space: ToolSpace
  readonly mount: Mount
  readonly shown: string
}

/** The specifics of the tool of an operation. */
export interface Shape<Input, Result> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly outputSchema: ObjectSchema
  /** Given for writes; a read is neither. */
  readonly hints?: { readonly destructiveHint: boolean; readonly idempotentHint: boolean }
  /** Whether the path is a memory's new path. */
  readonly isNew?: boolean
  readonly present: (result: Result, at: At, input: Input) => ToolResult
  /** The answer where no store is; without it, such a path is refused. */
  readonly nowhere?: (space: ToolSpace, place: Nowhere, input: Input) => Promise<ToolResult>
}

export function toolOf<Input extends { readonly path?: string | undefined }, Result>(
  operation: OperationDefinition<Input, Result, PathContext>,
  { name, title, description, outputSchema, hints, ...shape }: Shape<Input, Result>,
): Tool {
  const readOnlyHint = operation.effect === 'read'
  const annotations = { title, readOnlyHint, ...hints, openWorldHint: false }
  const inputSchema = inputSchemaOf(operation)
  return {
    definition: { name, title, description, inputSchema, outputSchema, annotations },
    effect: operation.effect,
    run: async (space, raw) => {
      const input = parseInput(operation.input, raw)
      const place = placeOf(space, input, shape.isNew ?? false)
      if (place.mount === undefined) return runNowhere(space, place, input, shape.nowhere)
      const at = { space, mount: place.mount, shown: place.shown }
      return shape.present(await runAt(operation, place, input), at, input)
    },
  }
}

/** Runs an operation where a place is. Throws a refusal that names the place. */
export async function runAt<Input, Result>(
  operation: OperationDefinition<Input, Result, PathContext>,
  { mount, path, shown }: Place,
  input: Input,
): Promise<Result> {
  const { root, use, useInTurn = use } = mount
  const using = operation.takesTurn?.(input) === true ? useInTurn : use
  try {
    return await using((context) =>
      runOperation(operation, { ...context, root }, { ...input, path }),
    )
  } catch (error) {
    throw refusalAt(shown, error)
  }
}

function placeOf(
  space: ToolSpace,
  { path = toolRoot }: { readonly path?: string | undefined },
  isNew: boolean,
): Place | Nowhere {
  return isNew ? space.parseNew('path', path) : space.parse('path', path)
}

async function runNowhere<Input>(
  space: ToolSpace,
  place: Nowhere,
  input: Input,
  answer: Shape<Input, unknown>['nowhere'],
): Promise<ToolResult> {
  if (answer !== undefined && place.isRoot) return answer(space, place, input)
  throw new Refusal(
    place.isRoot
      ? `${place.shown} holds no memories itself: give a path below one of its directories`
      : `There is no such file or directory: ${place.shown}`,
  )
}

/** The refusal of an operation at a path, or the error itself, which `errorContentOf` words. */
function refusalAt(shown: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, message, details } = error
  if (details.parameter !== undefined && code === 'invalid_input') return error
  const say = words[code]
  return say === undefined ? error : new Refusal(say(shown, message), { cause: error })
}

/** For a model that reads the result of a tool. Must not name anything of the host. */
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
