// `gitlocket/mcp`: memory stores for clients of the Model Context Protocol, over two streams or
// HTTP, in the protocol of 2026 and in those of 2025. Decides nothing.

import type { Readable, Writable } from 'node:stream'
import { createMcpHandler, type McpRequestContext, type Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { toHex } from '../bytes.ts'
import { type Clock, systemClock } from '../clock.ts'
import { systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import type { Caller } from '../hosting/credentials.ts'
import type { Host } from '../hosting/host.ts'
import { sessionStoresMax } from '../limits.ts'
import {
  checkGiven,
  describeMounts,
  type MemoryMounts,
  mountOf,
} from '../memory-tool/given-mounts.ts'
import { hostedMounts } from '../memory-tool/hosted.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { renderPrompt } from '../memory-tool/prompt.ts'
import { turnOrder } from '../memory-tool/run-command.ts'
import { ToolSpace } from '../memory-tool/tool-space.ts'
import { checkStorePath } from '../operations/actions.ts'
import { surfaceOf } from '../operations/error-surface.ts'
import type { HostedCall, HostedRoute } from '../operations/hosted.ts'
import type { Access } from '../operations/operation.ts'
import type { Author } from '../store/commits/commit-context.ts'
import { inRegexTurn, type Searcher } from '../store/search/regex-turns.ts'
import { AuthorResolver, clientName, keySession, runSession } from './author.ts'
import { answerListen, type ListenTerms } from './change-stream.ts'
import { Feeds } from './feed.ts'
import { makeServer, type Served } from './protocol.ts'
import { LineTransport } from './stdio.ts'
import { notifyOfChanges } from './subscriptions.ts'

export type { HostedRoute } from '../operations/hosted.ts'
export type { Access } from '../operations/operation.ts'
export type { MemoryMount, MemoryMounts } from '../memory-tool/given-mounts.ts'

export interface McpOptions {
  /** `read_only` refuses all that writes; the default is `read_write`. */
  readonly access?: Access | undefined
  /** A directory of a single store: nothing outside it is seen. `/` by default. */
  readonly path?: string | undefined
  /** The author of writes. By default a session for each connection, named after the client. */
  readonly author?: Author | undefined
  /** Asked before each change for the session to write in; undefined if there is no session. */
  readonly session?: (() => string | undefined) | undefined
  /** The program's instructions about one store to the model. */
  readonly instructions?: string | undefined
  /** That clients are told as the version of the server. */
  readonly version?: string | undefined
  /** Told of faults of the store or the machine, which a client does not learn. */
  readonly onError?: ((error: unknown) => void) | undefined
  readonly clock?: Clock
}

export interface McpConnection {
  /** Resolves when the input has ended and all that was asked is answered, or after `close`. */
  readonly closed: Promise<void>
  /** Answers nothing anymore. A write that has begun is completed. */
  close(): Promise<void>
}

/** The stores that a client reaches. */
interface ReachedMounts {
  readonly mounts: readonly Mount[]
  /** The store is `/memories` itself. */
  readonly isOne: boolean
}

type ServingOptions = Pick<Served, 'version' | 'inOrder' | 'tell' | 'joinTrace'>

const VERSION = '1'
/** Open subscriptions of one client. */
const SUBSCRIPTIONS_MAX = 64

/**
 * Serves stores to the client at the other end of two streams. Throws `invalid_path`, and
 * `invalid_input` for stores that cannot be mounted together.
 */
export async function serveMcp(
  stores: MemoryMounts,
  input: Readable,
  output: Writable,
  options: McpOptions = {},
): Promise<McpConnection> {
  const reached = await reachedBy(stores, options)
  const common = commonOf(options)
  const ending = new AbortController()
  let listening: Server | undefined
  let subscribed: Set<string> | undefined
  const listen = (): void =>
    notifyOfChanges(reached.mounts, {
      server: () => listening,
      subscribed: () => subscribed,
      drained: () => transport.drained(),
      tell: common.tell,
      signal: ending.signal,
    })
  const transport = new LineTransport(input, output, listen)
  const authors = new AuthorResolver(authorOf(options), undefined, options.session)
  const served = serve(reached, authors, { ...common, inOrder: turnOrder() })
  const serverFor = ({ era }: { readonly era: string }): Server => {
    subscribed = era === 'modern' ? undefined : new Set()
    listening = makeServer({ ...served, mayListen: era === 'modern', subscribed })
    return listening
  }
  const handle = serveStdio(serverFor, { transport, maxSubscriptions: SUBSCRIPTIONS_MAX })
  void transport.closed.then(() => ending.abort())
  return { closed: transport.closed, close: () => handle.close() }
}

/**
 * Answers requests of HTTP, which the caller has admitted: it looks at no credential, host name or
 * size. All of them write in the name of one author. Throws as `serveMcp` does.
 */
export async function mcpHandler(
  stores: MemoryMounts,
  options: McpOptions = {},
): Promise<(request: Request) => Promise<Response>> {
  const reached = await reachedBy(stores, options)
  const common = { ...commonOf(options), inOrder }
  const authorFor = authorOf(options)
  const listenTerms = listenTermsOf(common.tell)
  const servedFor = (name: unknown): Served =>
    serve(reached, new AuthorResolver(authorFor, name, options.session), common)
  return async (request) => {
    try {
      return await handleHttp(request, { reached, servedFor, listenTerms })
    } catch (error) {
      if (error instanceof StoreError) return refusedRequest(error.message, surfaceOf(error).status)
      throw error
    }
  }
}

async function isTrue(): Promise<boolean> {
  return true
}

/** For a program that admits requests itself, and ends streams by cancelling them. */
function listenTermsOf(tell: ListenTerms['tell']): () => ListenTerms {
  const feeds = new Feeds()
  const closing = new AbortController().signal
  let open = 0
  return () => {
    if (open >= SUBSCRIPTIONS_MAX) {
      throw new StoreError('rate_limited', `There are ${SUBSCRIPTIONS_MAX} subscriptions already`)
    }
    open += 1
    const ended = (): void => {
      open -= 1
    }
    return { feeds, closing, isAdmitted: isTrue, isSameReach: isTrue, tell, ended }
  }
}

/** The route `/mcp` of a server, for its option `routes`. */
export function mcpRoute(options: Pick<McpOptions, 'version'> = {}): HostedRoute {
  const { version = VERSION } = options
  const feedsOf = new WeakMap<Host, Feeds>()
  return {
    path: '/mcp',
    handle: async (call) => {
      const reached = await hostedSpace(call)
      const { host, caller, request, tell, joinTrace } = call
      return handleHttp(request, {
        reached,
        servedFor: (name) => {
          const authors = new AuthorResolver((given) => hostedAuthor(caller, given), name)
          return serve(reached, authors, { version, tell, inOrder, joinTrace })
        },
        listenTerms: () => {
          const feeds = feedsOf.get(host) ?? new Feeds()
          feedsOf.set(host, feeds)
          const isSameReach = async () => isSame(reached, await hostedSpace(call))
          return { ...call.beginStream(), feeds, isSameReach, tell }
        },
      })
    },
  }
}

function isSame({ mounts: before }: ReachedMounts, { mounts: now }: ReachedMounts): boolean {
  return now.map(reachOf).join('\n') === before.map(reachOf).join('\n')
}

function reachOf({ name, storeId }: Mount): string {
  return `${storeId} ${name}`
}

/** Each request of HTTP has one call, and waits for its answer before it makes the next. */
function inOrder<T>(_: unknown, run: () => Promise<T>): Promise<T> {
  return run()
}

function commonOf({ version = VERSION, onError }: McpOptions): Omit<ServingOptions, 'inOrder'> {
  return { version, tell: onError ?? (() => undefined) }
}

function authorOf({ author, clock = systemClock }: McpOptions): (name: unknown) => Author {
  if (author !== undefined) return () => author
  return (name) => ({ actor: { type: 'session', id: runSession(name, clock, systemRandom) } })
}

async function reachedBy(stores: MemoryMounts, options: McpOptions): Promise<ReachedMounts> {
  const given = checkGiven(stores)
  const { access, path = '/', instructions, author = unnamed } = options
  if (!given.isOne && (path !== '/' || instructions !== undefined)) {
    throw new StoreError('invalid_input', '`path` and `instructions` are options for one store')
  }
  const one = { name: 'memories', root: checkStorePath(path), instructions }
  const described = await describeMounts(given, access)
  const mounts = described.map((mount) =>
    Object.assign(mountOf(mount, mount.store.as(author)), given.isOne && one),
  )
  return { mounts, isOne: given.isOne }
}

/** Placeholder author; the caller is known per request. */
const unnamed: Author = { actor: { type: 'session', id: 'mcp-client' } }

function serve(
  { mounts, isOne }: ReachedMounts,
  { hear, author }: AuthorResolver,
  options: ServingOptions,
): Served {
  const authored = mounts.map((mount): Mount => ({
    ...mount,
    use: (work) => mount.use((context) => work({ ...context, me: context.store.as(author()) })),
  }))
  const space = ToolSpace.of(authored, isOne)
  return { space, instructions: `${renderPrompt(space)}\n\n${otherTools}`, hear, ...options }
}

const otherTools =
  'In addition to the tool `memory`, `memory_search` finds known facts, `memory_read` gives the ' +
  'exact text and its hash, and `memory_history` and `memory_restore` bring back old versions.'

/** A key's client is a session of its own; a session is itself, whatever its client is called. */
function hostedAuthor({ actor, keyId }: Caller, name: unknown): Author {
  return actor.type === 'session' ? { actor } : { actor, session: keySession(name, keyId) }
}

/**
 * The stores that the address names, else those of the session, else all that the key's workspace
 * has. Throws `invalid_input` for more than a session may have, and `not_found`.
 */
async function hostedSpace(call: HostedCall): Promise<ReachedMounts> {
  const { host, caller, request, searcher } = call
  const named = new URL(request.url).searchParams.getAll('memory_store_id')
  const storeIds = named.length > 0 ? checkNamed(named) : await storesOf(host, caller)
  const mounts = await hostedMounts(host, caller, storeIds)
  return { mounts: mounts.map((mount) => searchedBy(mount, searcher)), isOne: named.length === 1 }
}

function searchedBy(mount: Mount, searcher: Searcher): Mount {
  return {
    ...mount,
    useInTurn: async (work) => {
      // To open the store within the turn would keep other searches waiting, and to hold it open
      // before the turn would keep its place from other stores.
      await mount.use(async () => undefined)
      return inRegexTurn(searcher, () => mount.use((context) => work({ ...context, searcher })))
    },
  }
}

function checkNamed(named: readonly string[]): readonly string[] {
  if (new Set(named).size === named.length && named.length <= sessionStoresMax) return named
  throw refused(`Name 1 to ${sessionStoresMax} memory stores, each once, as memory_store_id`)
}

/** The stores of a key's workspace; undefined for those of a session. */
async function storesOf(host: Host, caller: Caller): Promise<readonly string[] | undefined> {
  if (caller.attached !== undefined) return undefined
  const { data, nextPage } = await host.list(caller, { limit: sessionStoresMax })
  if (data.length === 0) {
    throw refused(
      'The workspace of this API key has no memory store yet: create one with ' +
        '`gitlocket store create` on the server, or with `POST /v1/memory_stores`',
    )
  }
  if (nextPage === undefined) return data.map(({ storeId }) => storeId)
  throw refused(
    `The workspace of this API key has more than ${sessionStoresMax} memory stores: name those ` +
      'to use in the address, such as /mcp?memory_store_id=memstore_…',
  )
}

function refused(message: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter: 'memory_store_id' } })
}

const SESSION_HEADER = 'mcp-session-id'
const SESSION_BYTES = 16
const INVALID_REQUEST = -32_600

interface HttpService {
  readonly reached: ReachedMounts
  /** Gets the name that is known before the request is read by the protocol. */
  readonly servedFor: (name: unknown) => Served
  /** Throws `rate_limited`. */
  readonly listenTerms: () => ListenTerms
}

async function handleHttp(request: Request, service: HttpService): Promise<Response> {
  const body = await bodyOf(request)
  // One request of many calls would be many for which one was let in.
  if (Array.isArray(body))
    return refusedRequest('Batches are not taken: send one message a request')
  const asked = Reflect.has(Object(body), 'method') ? Reflect.get(Object(body), 'method') : ''
  const served = service.servedFor(nameIn(request.headers.get(SESSION_HEADER)))
  const serverFor = ({ era }: McpRequestContext): Server =>
    makeServer({ ...served, mayListen: era === 'modern' })
  if (asked === 'subscriptions/listen') {
    const { mounts } = service.reached
    return answerListen({ request, body, serverFor }, mounts, service.listenTerms)
  }
  const handler = createMcpHandler(serverFor, { maxSubscriptions: 0 })
  const response = await handler.fetch(request, body === undefined ? {} : { parsedBody: body })
  const isFirst = asked === 'initialize'
  return isFirst && response.ok ? withSession(response, clientNameIn(body)) : response
}

/** Undefined for anything but JSON: the protocol reports it. */
async function bodyOf(request: Request): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  try {
    return JSON.parse(await request.clone().text())
  } catch {
    return undefined
  }
}

function clientNameIn(body: unknown): unknown {
  const params: unknown = Reflect.get(Object(body), 'params')
  const clientInfo: unknown = Reflect.get(Object(params), 'clientInfo')
  return Reflect.get(Object(clientInfo), 'name')
}

function withSession(response: Response, name: unknown): Response {
  const headers = new Headers(response.headers)
  headers.set(SESSION_HEADER, `${clientName(name)}.${toHex(systemRandom(SESSION_BYTES))}`)
  return new Response(response.body, { status: response.status, headers })
}

function nameIn(session: string | null): string | undefined {
  return session === null ? undefined : session.replace(/\.[^.]*$/, '')
}

function refusedRequest(message: string, status = 400): Response {
  const error = { jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }
  return Response.json(error, { status })
}
