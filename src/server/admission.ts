// Admits requests, by their headers alone: the hosts and origins by which the server is reached,
// the credential, and the version and betas of the API (Memory Stores API §1).

import { StoreError } from '../errors.ts'
import type { Caller, Host } from '../hosting/host.ts'

export interface Doorways {
  /** Names by which the server is reached, without a port, in lower case. */
  readonly hosts: ReadonlySet<string>
  /** Origins of web pages that may ask, such as `https://console.example`. */
  readonly origins: ReadonlySet<string>
}

const betas: readonly string[] = ['agent-memory-2026-07-22', 'managed-agents-2026-04-01']

/**
 * Refuses what a web page asks, unless its origin is allowed, and a host name that is not ours: one
 * that an attacker's DNS lets point here (rebinding). Of a target that names a host, that one
 * counts too (RFC 9112, 3.2.2). Throws `permission_denied`.
 */
export function checkDoorway({ url, headers }: Request, { hosts, origins }: Doorways): void {
  const target = new URL(url).host
  const named = [target, headers.get('host') ?? target]
  if (!named.every((host) => hosts.has(host.replace(/:\d{1,5}$/, '').toLowerCase()))) {
    throw new StoreError('permission_denied', 'The server is not reached by this host name')
  }
  const origin = headers.get('origin')
  if (origin === null || origins.has(origin)) return
  throw new StoreError('permission_denied', 'The server takes no requests of this origin')
}

/** Throws `unauthenticated`, whatever is wrong. */
export function authenticate(headers: Headers, host: Host): Caller {
  const tokens = [headers.get('x-api-key'), bearerOf(headers.get('authorization'))]
  const [token, ...others] = new Set(tokens.filter((one) => one !== null))
  const caller = token === undefined || others.length > 0 ? undefined : host.authenticate(token)
  if (caller !== undefined) return caller
  throw new StoreError(
    'unauthenticated',
    'The request needs a valid API key or session token, in x-api-key or as a bearer token',
  )
}

/** An empty text, which is no one's, for an authorization of another kind. */
function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''
}

/** Throws `invalid_input`, or `permission_denied` for another workspace. */
export function checkHeaders(headers: Headers, caller: Caller, needsBeta: boolean): void {
  const version = headers.get('anthropic-version')
  if (version !== null && !/^\d{4}-\d\d-\d\d$/.test(version)) {
    throw new StoreError('invalid_input', 'The header anthropic-version must be a date')
  }
  const workspace = headers.get('anthropic-workspace-id')
  if (workspace !== null && workspace !== caller.workspaceId) {
    throw new StoreError('permission_denied', 'The credential is not of this workspace')
  }
  if (needsBeta) checkBeta(headers.get('anthropic-beta') ?? '')
}

function checkBeta(header: string): void {
  const named = new Set(header.split(',').map((name) => name.trim()))
  const count = betas.filter((name) => named.has(name)).length
  if (count === 1) return
  const problem = count === 0 ? 'must name one of' : 'must name only one of'
  throw new StoreError('invalid_input', `The header anthropic-beta ${problem} ${betas.join(', ')}`)
}
