// The message that the model gets when a command fails. Texts of foreign errors must not get into
// it.

import { StoreError } from '../errors.ts'
import { surfaceOf } from '../operations/error-surface.ts'

/** A failure, worded for the model. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  /** The documentation puts `Error: ` before most messages, but not all. */
  readonly prefix: '' | 'Error: '

  constructor(message: string, options: { readonly prefix?: ''; readonly cause?: unknown } = {}) {
    super(
      message.toWellFormed(),
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.prefix = options.prefix ?? 'Error: '
  }
}

/** The refusal for any failure that no command words itself. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  // A StoreError's message is one sentence without plaintext, keys and host paths.
  if (error instanceof StoreError) return new Refusal(error.message, { cause: error })
  return new Refusal('The memory store failed unexpectedly. View the path before you try again', {
    cause: error,
  })
}

/** Faults of a store or the machine: for the operator alone. */
export function isFault(error: unknown): boolean {
  return !(error instanceof Refusal) && surfaceOf(error).status >= 500
}

/** The whole content of the error result, as the tool runner of the SDK would write it. */
export function errorContentOf(error: unknown): string {
  const { prefix, message } = refusalOf(error)
  return prefix + message
}
