// The Anthropic SDK, an optional companion of gitlocket, and its errors in words of the command
// line. The SDK itself reads its variables: the key, and the address of the API.

import type * as Sdk from '@anthropic-ai/sdk'
import type { ErrorCode } from '../../errors.ts'
import { CommandError } from '../command-error.ts'

export type AnthropicSdk = typeof Sdk

/** Looks next to gitlocket only: what lies in the working directory is not for it to run. */
export async function loadSdk(): Promise<AnthropicSdk> {
  try {
    return await import('@anthropic-ai/sdk')
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
    // The bundle requires it.
    if (code !== 'MODULE_NOT_FOUND') throw error
    throw new CommandError(
      'invalid_input',
      'The package @anthropic-ai/sdk is not installed next to gitlocket',
      'Install it in the same way: `npm install -g @anthropic-ai/sdk`, or without -g in a project',
    )
  }
}

/** The failure of a request, with what to do. Other errors come back as they are. */
export function failureOf(sdk: AnthropicSdk, error: unknown): unknown {
  const isKeyless = error instanceof Error && error.message.includes('authentication method')
  if (isKeyless) return failure('unauthenticated', 'There is no key for the Messages API', keyHint)
  if (error instanceof sdk.APIConnectionError) return offline
  if (error instanceof sdk.APIError) return refusalOf(error)
  // A stream that ends too early, or in which a command is no JSON.
  return error instanceof sdk.AnthropicError ? offline : error
}

const keyHint = 'Set ANTHROPIC_API_KEY to a key of your account, from platform.claude.com'

const offline: CommandError = failure(
  'remote_unreachable',
  'The Messages API could not be reached, or its answer broke off',
  'Check the network, and ANTHROPIC_BASE_URL if it is set; then ask again',
)

/** What the API says about a request that it did not answer. */
interface ApiFailure {
  readonly status: number | undefined
  readonly type: string | undefined
  readonly message: string
  readonly headers: Headers | undefined
}

/** An error in the middle of a stream has no status. */
function refusalOf({ status, error, message, headers }: ApiFailureOfSdk): CommandError {
  const { type, message: words } = detailsOf(error)
  return wordedRefusal({ status, type, message: words ?? message, headers })
}

interface ApiFailureOfSdk {
  readonly status: number | undefined
  readonly error: unknown
  readonly message: string
  readonly headers: Headers | undefined
}

function wordedRefusal({ status, type, message, headers }: ApiFailure): CommandError {
  if (status === 401 || type === 'authentication_error') {
    return failure('unauthenticated', 'The Messages API does not accept the key', keyHint)
  }
  if (status === 402 || status === 403 || type === 'permission_error' || type === 'billing_error') {
    return failure(
      'permission_denied',
      `The Messages API does not allow this: ${message}`,
      'Check what the account and the key may do',
    )
  }
  if (status === 404 || type === 'not_found_error') {
    const hint = 'Name another model with --model; the key may not have this one'
    return failure('not_found', `The Messages API does not know this: ${message}`, hint)
  }
  if (status === 429 || type === 'rate_limit_error') {
    return failure('rate_limited', 'The limit of the key is reached', waitHint(headers))
  }
  if (status === 413 || /prompt is too long|context window/i.test(message)) {
    const hint = 'Start a new chat: what is in the memory stays'
    return failure('request_too_large', 'The conversation is too long for the model', hint)
  }
  if (status !== undefined && status < 500) {
    return failure(
      'invalid_input',
      `The Messages API refuses the request: ${message}`,
      'Try another --model, or --no-thinking for a model that does not think',
    )
  }
  const hint = 'Ask again in a moment; status.claude.com says more'
  return failure('remote_unreachable', 'The Messages API is overloaded or failing', hint)
}

function waitHint(headers: Headers | undefined): string {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN)
  return seconds >= 1 ? `Wait ${Math.ceil(seconds)} s and ask again` : 'Wait a moment and ask again'
}

function failure(code: ErrorCode, message: string, hint: string): CommandError {
  return new CommandError(code, message, hint, { place: '' })
}

/** The body of an error is `{type, error: {type, message}}`. */
function detailsOf(body: unknown): { readonly type?: string; readonly message?: string } {
  const { error } = fieldsOf(body)
  const { type, message } = fieldsOf(error)
  return {
    ...(typeof type === 'string' && { type }),
    ...(typeof message === 'string' && { message }),
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
