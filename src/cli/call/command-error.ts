// Errors of the command line itself, with what to do next.

import { type ErrorCode, type ErrorDetails, hasCode, StoreError } from '../../errors.ts'

/** A failure with a more specific hint than the table of codes has. */
export class CommandError extends StoreError {
  /** What to do, as a sentence. */
  readonly hint: string
  /** Text that must not be lost; printed to standard output before the error is reported. */
  readonly output: string
  /** Printed instead of the store's path, if the failure is about something else. */
  readonly place: string | undefined
  /** Machine-readable facts in addition to the details. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, hint: string, options: CommandErrorOptions = {}) {
    const { output = '', place, facts = {}, details = {}, cause } = options
    super(code, message, { details, cause })
    this.hint = hint
    this.output = output
    this.place = place
    this.facts = facts
  }
}

export interface CommandErrorOptions {
  readonly output?: string
  readonly place?: string
  readonly facts?: Readonly<Record<string, unknown>>
  readonly details?: ErrorDetails
  readonly cause?: unknown
}

export function usageError(message: string, verb?: string, details?: ErrorDetails): CommandError {
  const help = verb === undefined ? 'gitlocket --help' : `gitlocket ${verb} --help`
  const hint = `\`${help}\` shows the options`
  return new CommandError('invalid_input', message, hint, details && { details })
}

/** For a document about a store, whose signer may be known by the key of an option. */
export function ofAnotherStore(error: unknown, option: string): unknown {
  if (!hasCode(error, 'store_id_mismatch')) return error
  const hint = `--store names another store; --${option} needs none, but a key that you know`
  return new CommandError(error.code, error.message, hint)
}
