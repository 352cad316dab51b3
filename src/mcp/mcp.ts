// `gitlocket/mcp`: memory stores for clients of the Model Context Protocol, over two streams or
// HTTP, in the protocol of 2026 and in those of 2025. Decides nothing.

import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { HostedRoute } from '../api/hosted.ts'
import type { Access } from '../api/operations.ts'
import { checkStorePath } from '../api/schemas.ts'
import { type Clock, systemClock } from '../clock.ts'
import { systemRandom } from '../crypto/random.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { turnOrder } from '../memory-tool/turn-order.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { hostedAuthor, hostedSpace } from './hosted.ts'
import { handleHttp } from './http.ts'
import { makeServer, type Served } from './protocol.ts'
import { type AuthorOf, Scribe, serving } from './serving.ts'
import { runSession } from './session-names.ts'
import { LineTransport } from './stdio.ts'

export type { HostedRoute } from '../api/hosted.ts'
export type { Access } from '../api/operations.ts'

export interface McpOptions {
  /** `read_only` refuses all that writes; the default is `read_write`. */
  readonly access?: Access | undefined
  /** A directory of the store: nothing beside it is seen. `/` by default. */
  readonly path?: string | undefined
  /** Who writes. By default a session for each connection, named after the client. */
  readonly author?: Author | undefined
  /** Asked before each change, for a session to write in instead; undefined if there is none. */
  readonly session?: (() => string | undefined) | undefined
  /** What the program says of the store to the model. */
  readonly instructions?: string | undefined
  /** That clients are told as the version of the server. */
  readonly version?: string | undefined
  /** Told what is wrong with the store or the machine, which a client does not learn. */
  readonly onError?: ((error: unknown) => void) | undefined
  readonly clock?: Clock
}

export interface McpConnection {
  /** Resolves when the input has ended and all that was asked is answered, or after `close`. */
  readonly closed: Promise<void>
  /** Answers nothing anymore. A write that has begun is completed. */
  close(): Promise<void>
}

const VERSION = '1'

/** Serves a store to the client at the other end of two streams. Throws `invalid_path`. */
export async function serveMcp(
  store: MemoryStore,
  input: Readable,
  output: Writable,
  options: McpOptions = {},
): Promise<McpConnection> {
  const mount = await mountOf(store, options)
  const transport = new LineTransport(input, output)
  const scribe = new Scribe(authorOf(options), undefined, options.session)
  const served = serving([mount], true, scribe, { ...commonOf(options), inOrder: turnOrder() })
  const handle = serveStdio(() => makeServer(served), { transport, maxSubscriptions: 0 })
  return { closed: transport.closed, close: () => handle.close() }
}

/**
 * Answers requests of HTTP, which the caller has admitted: it looks at no credential, host name or
 * size. All of them write in the name of one author. Throws `invalid_path`.
 */
export async function mcpHandler(
  store: MemoryStore,
  options: McpOptions = {},
): Promise<(request: Request) => Promise<Response>> {
  const mount = await mountOf(store, options)
  const common = { ...commonOf(options), inOrder }
  const authorFor = authorOf(options)
  return (request) =>
    handleHttp(request, (name) => {
      return serving([mount], true, new Scribe(authorFor, name, options.session), common)
    })
}

/** The route `/mcp` of a server, for its option `routes`. */
export function mcpRoute(options: Pick<McpOptions, 'version'> = {}): HostedRoute {
  const { version = VERSION } = options
  return {
    path: '/mcp',
    handle: async ({ host, caller, request, tell }) => {
      const { mounts, isOne } = hostedSpace(host, caller, new URL(request.url).searchParams)
      return handleHttp(request, (name) => {
        const scribe = new Scribe((given) => hostedAuthor(caller, given), name)
        return serving(mounts, isOne, scribe, { version, tell, inOrder })
      })
    },
  }
}

/** Each request of HTTP has one call, and waits for its answer before it makes the next. */
function inOrder<T>(_: unknown, run: () => Promise<T>): Promise<T> {
  return run()
}

function commonOf({ version = VERSION, onError }: McpOptions): Pick<Served, 'version' | 'tell'> {
  return { version, tell: onError ?? (() => undefined) }
}

function authorOf({ author, clock = systemClock }: McpOptions): AuthorOf {
  if (author !== undefined) return () => author
  return (name) => {
    return { actor: { type: 'session', id: runSession(name, clock, systemRandom) } }
  }
}

async function mountOf(store: MemoryStore, options: McpOptions): Promise<Mount> {
  const { access = 'read_write', path = '/', instructions, author } = options
  const context = { store, me: store.as(author ?? unnamed), access }
  return {
    name: 'memories',
    storeId: store.id,
    access,
    description: (await store.info()).settings.description,
    instructions,
    root: checkStorePath(path),
    use: (work) => work(context),
  }
}

/** Nothing is written in this name: who calls is known when he does. */
const unnamed: Author = { actor: { type: 'session', id: 'mcp-client' } }
