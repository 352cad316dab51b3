// `gitlocket/mcp`: memory stores for clients of the Model Context Protocol, over two streams or
// HTTP, in the protocol of 2026 and in those of 2025. Decides nothing.

import type { Readable, Writable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Access, checkStorePath } from '../api/actions.ts'
import type { HostedRoute } from '../api/hosted.ts'
import { type Clock, systemClock } from '../clock.ts'
import { systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { checkGiven, describeMounts, type MemoryMounts } from '../memory-tool/given-mounts.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { turnOrder } from '../memory-tool/turn-order.ts'
import type { Author } from '../store/commits/commit-context.ts'
import { hostedAuthor, hostedSpace } from './hosted.ts'
import { handleHttp } from './http.ts'
import { makeServer } from './protocol.ts'
import { type AuthorOf, Scribe, serving, type ServingOptions } from './serving.ts'
import { runSession } from './session-names.ts'
import { LineTransport } from './stdio.ts'

export type { HostedRoute } from '../api/hosted.ts'
export type { Access } from '../api/actions.ts'
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

interface Reached {
  readonly mounts: readonly Mount[]
  /** The store is `/memories` itself. */
  readonly isOne: boolean
}

const VERSION = '1'

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
  const { mounts, isOne } = await reached(stores, options)
  const transport = new LineTransport(input, output)
  const scribe = new Scribe(authorOf(options), undefined, options.session)
  const served = serving(mounts, isOne, scribe, { ...commonOf(options), inOrder: turnOrder() })
  const handle = serveStdio(() => makeServer(served), { transport, maxSubscriptions: 0 })
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
  const { mounts, isOne } = await reached(stores, options)
  const common = { ...commonOf(options), inOrder }
  const authorFor = authorOf(options)
  return (request) =>
    handleHttp(request, (name) => {
      return serving(mounts, isOne, new Scribe(authorFor, name, options.session), common)
    })
}

/** The route `/mcp` of a server, for its option `routes`. */
export function mcpRoute(options: Pick<McpOptions, 'version'> = {}): HostedRoute {
  const { version = VERSION } = options
  return {
    path: '/mcp',
    handle: async ({ host, caller, request, searcher, tell }) => {
      const { searchParams } = new URL(request.url)
      const { mounts, isOne } = hostedSpace(host, caller, searchParams, searcher)
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

function commonOf({ version = VERSION, onError }: McpOptions): Omit<ServingOptions, 'inOrder'> {
  return { version, tell: onError ?? (() => undefined) }
}

function authorOf({ author, clock = systemClock }: McpOptions): AuthorOf {
  if (author !== undefined) return () => author
  return (name) => {
    return { actor: { type: 'session', id: runSession(name, clock, systemRandom) } }
  }
}

async function reached(stores: MemoryMounts, options: McpOptions): Promise<Reached> {
  const given = checkGiven(stores)
  const { access, path = '/', instructions, author = unnamed } = options
  if (!given.isOne && (path !== '/' || instructions !== undefined)) {
    throw new StoreError('invalid_input', '`path` and `instructions` are options for one store')
  }
  const one = { name: 'memories', root: checkStorePath(path), instructions }
  const infos = await describeMounts(given, access)
  const mounts = infos.flatMap((info, index): readonly Mount[] => {
    const store = given.mounts[index]?.store
    if (store === undefined) return []
    const context = { store, me: store.as(author), access: info.access }
    return [{ ...info, ...(given.isOne && one), use: (work) => work(context) }]
  })
  return { mounts, isOne: given.isOne }
}

/** Nothing is written in this name: who calls is known when he does. */
const unnamed: Author = { actor: { type: 'session', id: 'mcp-client' } }
