// The adapter for the memory tool of the Anthropic SDK (docs/MEMORY-TOOL.md): handlers for its
// `betaMemoryTool`, and the whole tool for `client.beta.messages.toolRunner`. The types are written
// out here, so that they fit every generation of the SDK and need none of them.

import type { Access } from '../api/actions.ts'
import { StoreError } from '../errors.ts'
import type { CommandName } from '../memory-tool/commands.ts'
import {
  checkGiven,
  describeMounts,
  type MemoryMounts,
  spaceOf,
} from '../memory-tool/given-mounts.ts'
import type { Mount, MountContext, MountInfo } from '../memory-tool/mount.ts'
import { renderPrompt } from '../memory-tool/prompt.ts'
import { refusalOf } from '../memory-tool/refusal.ts'
import { commandOf, commandRunner, type RunCommand } from '../memory-tool/run-command.ts'
import type { Author } from '../store/commits/commit-context.ts'
import { toolError, type ToolErrorClass } from './tool-error.ts'

export { agentDefaults } from './agent-defaults.ts'
export type {
  AgentBeta,
  AgentDefaults,
  AgentDefaultsOptions,
  ClearThinkingEdit,
  ClearToolUsesEdit,
  CompactEdit,
} from './agent-defaults.ts'
export type { Access } from '../api/actions.ts'
export type { CommandName } from '../memory-tool/commands.ts'
export { memoryToolDescription, memoryToolSchema } from '../memory-tool/schema.ts'
export type { JsonSchema, MemoryToolSchema } from '../memory-tool/schema.ts'
export type { MemoryMount, MemoryMounts } from '../memory-tool/given-mounts.ts'
export type { ToolErrorClass } from './tool-error.ts'

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

/** What the Messages API accepts in the definition of the tool besides its type and name. */
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
  stores: MemoryMounts,
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
  stores: MemoryMounts,
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
  stores: MemoryMounts,
  { access }: Pick<CommonMemoryToolOptions, 'access'> = {},
): Promise<string> {
  const given = checkGiven(stores)
  return renderPrompt(spaceOf(given, await describeMounts(given, access)))
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
function runnerOf(stores: MemoryMounts, options: MemoryToolOptions): RunCommand {
  const given = checkGiven(stores)
  const author = authorOf(options)
  const opened = given.mounts.map(({ store }) => ({ store, me: store.as(author) }))
  const make = async (): Promise<RunCommand> => {
    const infos = await describeMounts(given, options.access)
    const mounts = infos.flatMap((info, index) => {
      const open = opened[index]
      return open === undefined ? [] : mountOf(info, open)
    })
    return commandRunner(spaceOf(given, mounts))
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

function mountOf(info: MountInfo, open: Omit<MountContext, 'access'>): Mount {
  const context = { ...open, access: info.access }
  return { ...info, use: (work) => work(context) }
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
