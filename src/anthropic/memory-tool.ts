// The adapter for the memory tool of the Anthropic SDK (docs/MEMORY-TOOL.md): handlers for its
// `betaMemoryTool`, and the whole tool for `client.beta.messages.toolRunner`. The types are written
// out here, so that they fit every generation of the SDK and need none of them.

import type { Access, OperationContext } from '../api/operations.ts'
import { StoreError } from '../errors.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { type Command, type CommandName, commands } from './commands.ts'
import { Refusal, refusalOf, toolError, type ToolErrorClass } from './refusal.ts'
import { turnOrder } from './turn-order.ts'

export type { Access } from '../api/operations.ts'
export type { CommandName } from './commands.ts'
export type { ToolErrorClass } from './refusal.ts'
export { memoryToolDescription, memoryToolSchema } from './schema.ts'
export type { JsonSchema, MemoryToolSchema } from './schema.ts'

/** The options that do not say who the author is. */
export interface CommonMemoryToolOptions {
  /** `read_only` refuses every command but `view`; the default is `read_write`. */
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
 * `invalid_input` if the options name no valid actor.
 */
export function memoryToolHandlers(
  store: MemoryStore,
  options: MemoryToolOptions,
): MemoryToolHandlers {
  const context: OperationContext = {
    store,
    me: store.as(authorOf(options)),
    access: options.access ?? 'read_write',
  }
  const inOrder = turnOrder()
  const handler =
    ({ effect, run }: Command): MemoryToolHandler =>
    async (input) => {
      try {
        return await inOrder(effect, () => run(context, input))
      } catch (error) {
        throw await toolError(refusalOf(error), options.ToolError)
      }
    }
  const handlers: MemoryToolHandlers = {
    view: handler(commands.view),
    create: handler(commands.create),
    str_replace: handler(commands.str_replace),
    insert: handler(commands.insert),
    delete: handler(commands.delete),
    rename: handler(commands.rename),
  }
  // The SDK calls `handlers[command]` with a command that the model names.
  return Object.setPrototypeOf(handlers, null)
}

/** The whole tool, for the `tools` of `client.beta.messages.toolRunner`. */
export function memoryTool(
  store: MemoryStore,
  options: MemoryToolOptions,
  extraProps: MemoryToolProps = {},
): MemoryTool {
  const handlers = memoryToolHandlers(store, options)
  return {
    ...extraProps,
    type: 'memory_20250818',
    name: 'memory',
    parse: (input) => input,
    run: async (input) => {
      const name = findCommand(input)
      if (name !== undefined) return handlers[name](input)
      throw await toolError(noSuchCommand(), options.ToolError)
    },
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

function findCommand(input: unknown): CommandName | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const name: unknown = Reflect.get(input, 'command')
  return typeof name === 'string' && isCommand(name) ? name : undefined
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

function noSuchCommand(): Refusal {
  const names = Object.keys(commands).join(', ')
  return new Refusal(`Invalid \`command\` parameter: it should be one of ${names}`)
}
