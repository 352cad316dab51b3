// The operations of the Memory Stores API on a host of many stores: who may call which, and the
// store that one of them works with.

import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import type { Caller } from '../hosting/credentials.ts'
import type { Cursors } from '../hosting/cursors.ts'
import type { Host } from '../hosting/host.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { Searcher } from '../store/search/regex-turns.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import {
  checkAccess,
  type Effect,
  type OperationDefinition,
  type OperationContext,
  operationsIn,
  runOperation,
} from './operation.ts'
import { fieldsIn, parseInput } from './schemas.ts'
import type { Wire } from './wire.ts'

/** For operations in one store; a server of one store can offer them, too. */
export interface StoreContext extends OperationContext {
  readonly me: StoreWriter
  readonly store: MemoryStore
  readonly cursors: Cursors
}

/** For operations on stores and sessions. */
export interface HostContext {
  readonly host: Host
  readonly caller: Caller
  readonly clock: Clock
}

export const storeOperation = operationsIn<StoreContext>()
export const hostOperation = operationsIn<HostContext>()

/** A request at a path that an adapter of another protocol answers, on the server's door. */
export interface HostedCall {
  readonly host: Host
  readonly caller: Caller
  /** Its body has been received. */
  readonly request: Request
  /** In whose turn a regular expression of the request gets a thread. */
  readonly searcher: Searcher
  /** For the log of the operator: an error of which the caller learns no more than that it is. */
  readonly tell: (error: unknown) => void
  /** For a protocol that carries a `traceparent` in its body. The header takes precedence. */
  readonly joinTrace: (traceparent: unknown) => void
  /** For an answer without an end of its own. Throws `rate_limited`. */
  readonly beginStream: () => StreamTerms
}

/** The terms of an answer that the client or one of these ends. */
export interface StreamTerms {
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  /** Whether the credential of the request is still valid. */
  readonly isAdmitted: () => Promise<boolean>
}

/** A path of a server that an adapter of another protocol answers: `mcpRoute` makes one. */
export interface HostedRoute {
  /** `/mcp` */
  readonly path: string
  /** @internal For keys that fetch alone, and for web pages of these origins. */
  readonly fetching?: { readonly origins: ReadonlySet<string> }
  /** @internal What it throws is answered as the error of an operation is. */
  readonly handle: (call: HostedCall) => Promise<Response>
}

/** An operation as a route has it: parses its input, whose `memory_store_id` names the store. */
export interface RoutedOperation {
  readonly name: string
  readonly effect: Effect
  /** The names of the parameters of its input. */
  readonly fields: readonly string[]
  readonly run: (context: HostContext, input: Wire) => Promise<Wire>
}

export function onHost<Input>({
  name,
  effect,
  input: schema,
  run,
}: OperationDefinition<Input, Wire, HostContext>): RoutedOperation {
  return {
    name,
    effect,
    fields: fieldsIn(schema),
    run: async (context, input) => run(context, parseInput(schema, input)),
  }
}

export function inStore<Input>(
  operation: OperationDefinition<Input, Wire, StoreContext>,
): RoutedOperation {
  const { name, effect, input: schema } = operation
  const run: RoutedOperation['run'] = async ({ host, caller }, input) => {
    const storeId = String(input['memory_store_id'])
    const parsed = parseInput(schema, input)
    const { cursors } = host
    const access = caller.attached?.get(storeId) ?? 'read_write'
    return host.use(caller, storeId, (store, me) =>
      runOperation(operation, { store, me, access, cursors }, parsed),
    )
  }
  return { name, effect, fields: fieldsIn(schema), run }
}

/**
 * Refuses what a session may not, before anything else of a request is looked at. Throws
 * `not_found` for a store that is not attached, `read_only` or `permission_denied`.
 */
export function checkMayCall(
  { attached }: Caller,
  operation: RoutedOperation,
  storeId: string | undefined,
): void {
  if (attached === undefined) return
  const access = storeId === undefined ? 'read_write' : attached.get(storeId)
  if (access === undefined) throw new StoreError('not_found', 'There is no such memory store')
  if (operation.effect === 'manage') {
    throw new StoreError('permission_denied', `A session is refused ${operation.name}`)
  }
  checkAccess(operation, access)
}
