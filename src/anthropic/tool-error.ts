// How a refusal is thrown: as the SDK's `ToolError`, which the tool runner passes on unchanged, or
// without the SDK as a plain Error, to which the runner adds `Error: `.

import type { Refusal } from '../memory-tool/refusal.ts'

/** The SDK's class. It must be the copy that the tool runner checks with `instanceof`. */
export type ToolErrorClass = new (content: string) => Error

/** The error to throw from a handler. It keeps `cause` for the operator's log. */
export async function toolError(
  refusal: Refusal,
  chosen: ToolErrorClass | undefined,
): Promise<Error> {
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
