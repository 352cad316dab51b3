// The adapter for the memory tool of the Anthropic SDK (docs/MEMORY-TOOL.md): handlers for its
// `betaMemoryTool`, and the whole tool for `client.beta.messages.toolRunner`. The types are written
// out here, so that they fit every generation of the SDK and need none of them.

import { StoreError } from '../errors.ts'
import type { CommandName } from '../memory-tool/commands.ts'
import {
  checkGiven,
  describeMounts,
  type MemoryMounts,
  mountOf,
  type ToolStore,
} from '../memory-tool/given-mounts.ts'
import { renderPrompt } from '../memory-tool/prompt.ts'
import { type Refusal, refusalOf } from '../memory-tool/refusal.ts'
import { commandOf, commandRunner, type RunCommand } from '../memory-tool/run-command.ts'
import { ToolSpace } from '../memory-tool/tool-space.ts'
import type { Access } from '../operations/operation.ts'
import type { Author } from '../store/commits/commit-context.ts'

export type { Access } from '../operations/operation.ts'
export { agentDefaults } from './agent-defaults.ts'
export type {
  AgentBeta,
  AgentDefaults,
  AgentDefaultsOptions,
  ClearThinkingEdit,
  ClearToolUsesEdit,
  CompactEdit,
} from './agent-defaults.ts'
export type { CommandName } from '../memory-tool/commands.ts'
export { memoryToolDescription, memoryToolSchema } from '../memory-tool/schema.ts'
export type { JsonSchema, MemoryToolSchema } from '../memory-tool/schema.ts'
export type { MemoryMount, MemoryMounts, ToolStore } from '../memory-tool/given-mounts.ts'

/** The options that do not say who the author is. */
export interface CommonMemoryToolOptions {
  /** `read_only` refuses every command but `view`, in each store; the default is `read_write`. */
  readonly access?: Access | undefined
  /** Why the changes are made, at most 4,096 bytes; stored encrypted with each of them. */
  readonly reason?: string | undefined
  /**
   * The `ToolError` of the SDK that runs the loop, if it is not the ESM copy that
   * `import('@anthropic-ai/sdk/lib/tools/ToolError')` finds from here.
   */
  readonly ToolError?: ToolErrorClass | undefined
}

/** With the author of the changes: an actor, a session, or an actor in the context of a session. */
export type MemoryToolOptions = CommonMemoryToolOptions &
  (
    | { readonly actor: Author['actor']; readonly session?: string | undefined }
    | { readonly actor?: undefined; readonly session: string }
  )

/** Takes the input of one command as the model wrote it, and answers or throws for the model. */
export type MemoryToolHandler = (input: unknown) => Promise<string>

/** Fits the SDK's type of the same name. It has no inherited members. */
export type MemoryToolHandlers = Readonly<Record<CommandName, MemoryToolHandler>>

/** Options of the Messages API for the definition of the tool, without its type and name. */
export interface MemoryToolProps {
  allowed_callers?: (
    | 'direct'
    | 'code_execution_20250825'
    | 'code_execution_20260120'
    | 'code_execution_20260521'
  )[]
  cache_control?: { type: 'ephemeral'; ttl?: '5m' | '1h' } | null
  defer_loading?: boolean
  input_examples?: { [key: string]: unknown }[]
  strict?: boolean
}

/** Fits the SDK's `BetaRunnableTool`. */
export interface MemoryTool extends MemoryToolProps {
  type: 'memory_20250818'
  name: 'memory'
  /** Passes the input on; `run` checks it. */
  parse: (input: unknown) => unknown
  run: MemoryToolHandler
}

/**
 * Handlers for the SDK's `betaMemoryTool`. A handler that resolves has made the change durable; one
 * that rejects has changed nothing, and what it throws is meant for the model. Throws
 * `invalid_input` if the options name no valid actor, or the stores cannot lie next to each other.
 */
export function memoryToolHandlers(
  stores: MemoryMounts<ToolStore>,
  options: MemoryToolOptions,
): MemoryToolHandlers {
  const run = runnerOf(stores, options)
  const handler =
    (name: CommandName): MemoryToolHandler =>
    (input) =>
      answering(options, () => run(name, input))
  const handlers: MemoryToolHandlers = {
    view: handler('view'),
    create: handler('create'),
    str_replace: handler('str_replace'),
    insert: handler('insert'),
    delete: handler('delete'),
    rename: handler('rename'),
  }
  // The SDK calls `handlers[command]` with a command that the model names.
  return Object.setPrototypeOf(handlers, null)
}

/** The whole tool, for the `tools` of `client.beta.messages.toolRunner`. */
export function memoryTool(
  stores: MemoryMounts<ToolStore>,
  options: MemoryToolOptions,
  extraProps: MemoryToolProps = {},
): MemoryTool {
  const run = runnerOf(stores, options)
  return {
    ...extraProps,
    type: 'memory_20250818',
    name: 'memory',
    parse: (input) => input,
    run: (input) => answering(options, () => run(commandOf(input), input)),
  }
}

/**
 * The section of a system prompt on how the memory is used, and which stores are there, with
 * their access, descriptions and instructions.
 */
export async function memoryPrompt(
  stores: MemoryMounts<ToolStore>,
  { access }: Pick<CommonMemoryToolOptions, 'access'> = {},
): Promise<string> {
  const given = checkGiven(stores)
  return renderPrompt(ToolSpace.of(await describeMounts(given, access), given.isOne))
}

/** The answer of `work`. Throws errors that are meant for the model. */
async function answering(
  { ToolError }: CommonMemoryToolOptions,
  work: () => Promise<string>,
): Promise<string> {
  try {
    return await work()
  } catch (error) {
    throw await toolError(refusalOf(error), ToolError)
  }
}

/** The stores are asked for their names before the first command. */
function runnerOf(stores: MemoryMounts<ToolStore>, options: MemoryToolOptions): RunCommand {
  const given = checkGiven(stores)
  const author = authorOf(options)
  // An author that is not valid is refused at once.
  for (const { store } of given.mounts) store.as(author)
  const make = async (): Promise<RunCommand> => {
    const described = await describeMounts(given, options.access)
    const mounts = described.map((mount) => mountOf(mount, mount.store.as(author)))
    return commandRunner(ToolSpace.of(mounts, given.isOne))
  }
  let made: Promise<RunCommand> | undefined
  return async (name, input) => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return (await made)(name, input)
  }
}

function authorOf(options: MemoryToolOptions): Author {
  const { reason, session } = options
  const actor = options.actor ?? (session === undefined ? undefined : sessionActor(session))
  if (actor === undefined) {
    throw new StoreError('invalid_input', 'The memory tool needs an actor or a session')
  }
  return { actor, session, reason }
}

function sessionActor(session: string): Author['actor'] {
  return { type: 'session', id: session }
}

/** The SDK's class. It must be the copy that the tool runner checks with `instanceof`. */
export type ToolErrorClass = new (content: string) => Error

/** The error to throw from a handler. It keeps `cause` for the operator's log. */
async function toolError(refusal: Refusal, chosen: ToolErrorClass | undefined): Promise<Error> {
  const ToolError = chosen ?? (await findToolError())
  if (ToolError === undefined) return withCause(new Error(refusal.message), refusal.cause)
  return withCause(new ToolError(refusal.prefix + refusal.message), refusal.cause)
}

let found: Promise<ToolErrorClass | undefined> | undefined

function findToolError(): Promise<ToolErrorClass | undefined> {
  found ??= importToolError()
  return found
}

/**
 * The class of the SDK's ESM copy, or undefined if the SDK, an optional peer, is not installed. The
 * `try` is for bundlers: some refuse to build if a module is missing outside of one.
 */
async function importToolError(): Promise<ToolErrorClass | undefined> {
  try {
    const { ToolError } = await import('@anthropic-ai/sdk/lib/tools/ToolError')
    return ToolError
  } catch {
    return undefined
  }
}

/** Sets `cause`, not enumerable, as the constructor of Error does. */
function withCause(error: Error, cause: unknown): Error {
  if (cause === undefined) return error
  return Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
}
