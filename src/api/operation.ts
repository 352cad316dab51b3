// An operation, for all adapters. Each is defined once: its input is inferred from its schema, its
// result from `run`.

import type { z } from 'zod'

/** `manage` is what the token of a session never may: stores, sessions, redactions. */
export type Effect = 'read' | 'write' | 'manage'

export interface Operation<Input, Result, Context> {
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

type Define<Context> = <Input, Result>(
  operation: Operation<Input, Result, Context>,
) => Operation<Input, Result, Context>

/** Defines operations that run in one kind of context. */
export function operationsIn<Context>(): Define<Context> {
  return (operation) => operation
}

type AnyRun = (context: never, input: never) => Promise<unknown>

export type InputOf<Of extends { readonly run: AnyRun }> = Parameters<Of['run']>[1]
export type ResultOf<Of extends { readonly run: AnyRun }> = Awaited<ReturnType<Of['run']>>
