// An operation, for all adapters. Each is defined once: its input is inferred from its schema, its
// result from `run`.

import type { z } from 'zod'
import { StoreError } from '../errors.ts'
import type { Access } from '../hosting/credentials.ts'
import type { ChangeWriter } from '../store/change-writer.ts'
import type { Searcher } from '../store/search/regex-turns.ts'
import type { StoreHandle } from '../store/store-handle.ts'

export type { Access }

/** `manage` is what the token of a session never may: stores, sessions, redactions. */
export type Effect = 'read' | 'write' | 'manage'

export interface OperationDefinition<Input, Result, Context> {
  /** For a refusal: `the deletion of memories`. */
  readonly name: string
  readonly effect: Effect
  readonly input: z.ZodType<Input>
  /**
   * Expects an input that `parseInput` returned. A write is queued before this returns, so that
   * calls take effect in the order in which they are made.
   */
  readonly run: (context: Context, input: Input) => Promise<Result>
  /** Whether it matches a regular expression, for which the callers of a server take turns. */
  readonly takesTurn?: (input: Input) => boolean
}

/** A store, or its state at a point of the past. */
export type MemoryReader = Pick<StoreHandle, 'read' | 'list'>

export interface OperationContext {
  readonly store: MemoryReader
  readonly me: ChangeWriter
  readonly access: Access
  /** Whose turn it is, where the callers of a server share the threads for regular expressions. */
  readonly searcher?: Searcher | undefined
}

/** Defines operations that run in one kind of context. */
export function operationsIn<Context>(): <Input, Result>(
  operation: OperationDefinition<Input, Result, Context>,
) => OperationDefinition<Input, Result, Context> {
  return (operation) => operation
}

/** Runs an operation. Throws `read_only` first. */
export async function runOperation<Input, Result, Context extends OperationContext>(
  operation: OperationDefinition<Input, Result, Context>,
  context: Context,
  input: Input,
): Promise<Result> {
  checkAccess(operation, context.access)
  return operation.run(context, input)
}

/** Throws `read_only`. */
export function checkAccess(
  { name, effect }: { readonly name: string; readonly effect: Effect },
  access: Access,
): void {
  if (effect === 'read' || access === 'read_write') return
  throw new StoreError('read_only', `The access is read-only: ${name} is refused`)
}
