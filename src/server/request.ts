// Reads what a request asks for: the parameters of its query, and its body up to a size. What they
// mean is for the operations.

import { type OwnedBytes, utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { Caller } from '../hosting/credentials.ts'
import type { Host } from '../hosting/host.ts'
import type { HostedRoute } from '../operations/hosted.ts'
import type { Wire } from '../operations/wire.ts'

/** The parameters with these names. Throws `invalid_input`. */
export function readQuery(url: string, names: readonly string[]): Wire {
  const start = url.indexOf('?')
  if (start === -1) return {}
  const found = new Map<string, string>()
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const [name = '', ...value] = pair.split('=')
    const key = decode(name)
    if (found.has(key)) throw invalid('A parameter of the query is given twice')
    found.set(key, decode(value.join('=')))
  }
  const fields: Record<string, unknown> = {}
  for (const name of names) {
    const value = found.get(name)
    if (value !== undefined) fields[name] = valueOf(name, value)
  }
  return fields
}

/** Operations expect JSON numbers and booleans here; any other text is passed on as it is. */
function valueOf(name: string, text: string): unknown {
  const isNumber = name === 'limit' || name === 'depth'
  if (isNumber && /^(?:0|[1-9]\d{0,8})$/.test(text)) return Number(text)
  if (name === 'include_archived') return text === 'true' || (text === 'false' ? false : text)
  return text
}

function decode(text: string): string {
  const decoded = decodeURIComponentOrUndefined(text.replaceAll('+', ' '))
  if (decoded !== undefined) return decoded
  throw invalid('The query must be percent-encoded UTF-8')
}

function decodeURIComponentOrUndefined(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** How much of a body will be read at most. */
export function sentBytes(headers: Headers, bytesMax: number): number {
  return Math.min(Number(headers.get('content-length') ?? bytesMax), bytesMax)
}

/** The fields with these names. Throws `invalid_input` or `request_too_large`. */
export async function readBody(
  request: Request,
  { fields, optional = false }: { readonly fields: readonly string[]; readonly optional?: boolean },
  bytesMax: number,
): Promise<Wire> {
  const bytes = await readBytes(request, bytesMax)
  if (bytes.length === 0 && optional) return {}
  if (bytes.length === 0) throw invalid('The request needs a body: a JSON object')
  checkContentType(request.headers.get('content-type') ?? '')
  const body = parse(bytes)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('The body must be a JSON object')
  }
  // By name, so that no key of the body becomes anything else.
  const own = fields.filter((name) => Object.hasOwn(body, name))
  return Object.fromEntries(own.map((name) => [name, Reflect.get(body, name)]))
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8Text(bytes))
  } catch {
    // The error of the parser quotes the text.
    throw invalid('The body must be JSON in UTF-8')
  }
}

function checkContentType(contentType: string): void {
  if (/^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i.test(contentType))
    return
  throw invalid('The content type of a body must be application/json, in UTF-8')
}

/** Throws `invalid_input` or `request_too_large`. */
export async function readBytes(request: Request, bytesMax: number): Promise<OwnedBytes> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax)
  if (length === '0') return new Uint8Array()
  try {
    if (length === null) return await readStream(request.body, bytesMax)
    const bytes = new Uint8Array(await request.arrayBuffer())
    if (bytes.length <= bytesMax) return bytes
  } catch (error) {
    throw error instanceof StoreError ? error : invalid('The body was cut off')
  }
  throw tooLarge(bytesMax)
}

/** Stops reading at the first byte that is too many. */
async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<OwnedBytes> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream?.getReader()
  for (;;) {
    const chunk = await reader?.read()
    if (chunk?.value === undefined) return Buffer.concat(chunks)
    length += chunk.value.length
    if (length > bytesMax) throw tooLarge(bytesMax)
    chunks.push(chunk.value)
  }
}

function tooLarge(limit: number): StoreError {
  return new StoreError('request_too_large', `The body of a request has at most ${limit} bytes`, {
    details: { limit },
  })
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}

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

/** How long a browser may remember that an origin may ask. */
const PREFLIGHT_SECONDS = 600

/** What lets a page of an allowed origin read the answer. No cookie is ever looked at. */
export function crossOriginHeaders(
  { fetching }: Pick<HostedRoute, 'fetching'>,
  request: Request,
  status: number,
): Readonly<Record<string, string>> {
  if (fetching === undefined) return {}
  const origin = request.headers.get('origin')
  if (origin === null) {
    // Has git ask for the key. A browser would show a window of its own.
    return { vary: 'Origin', ...(status === 401 && { 'www-authenticate': 'Basic realm="git"' }) }
  }
  if (!fetching.origins.has(origin)) return { vary: 'Origin' }
  return { vary: 'Origin', 'access-control-allow-origin': origin }
}

/** The answer to a preflight, which has no credential. */
export function preflightHeaders(
  route: HostedRoute,
  request: Request,
): Readonly<Record<string, string>> {
  return {
    ...crossOriginHeaders(route, request, 200),
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization, content-type, git-protocol',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}

/** Throws `unauthenticated`, whatever is wrong. */
export async function authenticate(headers: Headers, host: Host): Promise<Caller> {
  const tokens = [headers.get('x-api-key'), bearerOf(headers.get('authorization'))]
  const [token, ...others] = new Set(tokens.filter((one) => one !== null))
  const isOne = token !== undefined && others.length === 0
  const caller = isOne ? await host.authenticate(token) : undefined
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

/** The same for a key that fetches: as a bearer token, or as the password that git sends. */
export async function authenticateFetch(headers: Headers, host: Host): Promise<Caller> {
  const authorization = headers.get('authorization')
  const token = passwordOf(authorization) ?? bearerOf(authorization)
  const caller = token ? await host.authenticateFetch(token) : undefined
  if (caller !== undefined) return caller
  throw new StoreError(
    'unauthenticated',
    'The request needs a key that fetches this store, as the password or as a bearer token',
  )
}

/** Without a password, the user name: some programs have one field for a token. */
function passwordOf(authorization: string | null): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const [, user = '', password = ''] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('latin1')) ?? []
  return password === '' ? user : password
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
