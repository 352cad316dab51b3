// One server of the protocol, for a connection or a request: names the tools and resources, which
// are the memories at `memory://<store>/<path>`, and turns a refusal into a result that the model
// reads. Any other failure reveals nothing about the host.

import {
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  Server,
  type ServerContext,
  type TextResourceContents,
} from '@modelcontextprotocol/server'
import { hasCode } from '../errors.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { errorContentOf, isFault, Refusal, refusalOf } from '../memory-tool/refusal.ts'
import type { Place, ToolSpace } from '../memory-tool/tool-space.ts'
import type { Effect } from '../operations/operation.ts'
import { timestamp, type Wire } from '../operations/wire.ts'
import type { ListedMemory } from '../store/memories.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'
import type { Tool } from './tool-call.ts'
import { effectOf, memoryCommand, tools } from './tools.ts'

/** What a server serves. */
export interface Served {
  readonly space: ToolSpace
  readonly instructions: string
  /** Of gitlocket. */
  readonly version: string
  /** Told the name that a client gives itself, before each request that uses a store. */
  readonly hear: (name: unknown) => void
  /** Told the `traceparent` of a request's `_meta`, if it has one. */
  readonly joinTrace?: ((traceparent: unknown) => void) | undefined
  /** Told of faults of a store or the machine, which a client does not learn. */
  readonly tell: (error: unknown) => void
  /** Runs calls in the order in which they were made. */
  readonly inOrder: <T>(effect: Effect, run: () => Promise<T>) => Promise<T>
  /** Clients may subscribe to changes of the resources, in the protocol of 2026. */
  readonly mayListen?: boolean | undefined
  /** The addresses to which a client of 2025 subscribes; undefined if it may not. */
  readonly subscribed?: Set<string> | undefined
}

const all: ReadonlyMap<string, Tool> = new Map(
  [memoryCommand, ...tools].map((tool) => [tool.definition.name, tool]),
)

export function makeServer(served: Served): Server {
  const { space, instructions, version, mayListen = false, subscribed } = served
  const resources = {
    ...(mayListen && { listChanged: true }),
    ...((mayListen || subscribed !== undefined) && { subscribe: true }),
  }
  const server = new Server(
    { name: 'gitlocket', title: 'gitlocket', version },
    { capabilities: { tools: {}, resources }, instructions },
  )
  server.setRequestHandler('tools/list', () => ({ tools: definitionsFor(space) }))
  const hear = (context: ServerContext): void => {
    served.joinTrace?.(traceOf(context))
    served.hear(nameOf(context, server))
  }
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = all.get(params.name)
    if (tool === undefined) throw invalid('There is no such tool')
    hear(context)
    return call(served, tool, params.arguments ?? {})
  })
  server.setRequestHandler('resources/list', async ({ params }, context) => {
    hear(context)
    const page = await reading(served, () => listResources(space, params?.cursor))
    if (page === undefined) throw invalid('The cursor does not belong to this list')
    return page
  })
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [resourceTemplate],
  }))
  server.setRequestHandler('resources/read', async ({ params }, context) => {
    hear(context)
    const found = await reading(served, () => readResource(space, params.uri))
    if (found === undefined) throw new ResourceNotFoundError(params.uri)
    return { contents: [found] }
  })
  if (subscribed !== undefined) handleSubscriptions(server, space, subscribed)
  return server
}

/** Those of 2025: each address by a request of its own. A memory may be created there later. */
function handleSubscriptions(server: Server, space: ToolSpace, subscribed: Set<string>): void {
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (findPlace(space, uri) === undefined) throw new ResourceNotFoundError(uri)
    if (subscribed.size >= SUBSCRIBED_MAX) {
      throw invalid(`A client may subscribe to ${SUBSCRIBED_MAX} addresses`)
    }
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })
}

/** Those that may change something only where one may: a call of them is refused elsewhere. */
function definitionsFor({ mounts }: ToolSpace): Tool['definition'][] {
  const mayWrite = mounts.some(({ access }) => access === 'read_write')
  return [...all.values()].flatMap((tool) => {
    const { definition } = tool
    if (mayWrite) return [definition]
    if (tool !== memoryCommand) return tool.effect === 'read' ? [definition] : []
    const annotations = { ...definition.annotations, readOnlyHint: true, destructiveHint: false }
    return [{ ...definition, annotations }]
  })
}

async function call(served: Served, tool: Tool, input: Wire): Promise<CallToolResult> {
  const { space, inOrder, tell } = served
  try {
    const { text, value } = await inOrder(effectOf(tool, input), () => tool.run(space, input))
    return { content: [{ type: 'text', text }], ...(value && { structuredContent: value }) }
  } catch (error) {
    if (isFault(error)) tell(error)
    return { content: [{ type: 'text', text: errorContentOf(error) }], isError: true }
  }
}

async function reading<T>({ tell }: Served, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isFault(error)) tell(error)
    throw new ProtocolError(ProtocolErrorCode.InternalError, refusalOf(error).message)
  }
}

/** With each request in the protocol of 2026; once, with the first one, in that of 2025. */
function nameOf({ mcpReq }: ServerContext, server: Server): unknown {
  const { envelope = {} } = mcpReq
  const info: unknown = Reflect.get(envelope, CLIENT_INFO_META_KEY) ?? server.getClientVersion()
  return Reflect.get(Object(info), 'name')
}

function traceOf({ mcpReq: { ['_meta']: meta = {} } }: ServerContext): unknown {
  return Reflect.get(meta, 'traceparent')
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

const SCHEME = 'memory://'
const PAGE = 100
/** Addresses of one client of 2025. */
const SUBSCRIBED_MAX = 1000
/** As JSON, of a memory that is read as a resource. */
const TEXT_BYTES_MAX = 1_000_000

const resourceTemplate: ResourceTemplateType = {
  uriTemplate: `${SCHEME}{store}/{+path}`,
  name: 'memory',
  title: 'A memory',
  description: 'The text of one memory: the path has its segments percent-encoded',
}

/** Undefined for a cursor of another list. */
async function listResources(
  { mounts }: ToolSpace,
  cursor: string | undefined,
): Promise<ListResourcesResult | undefined> {
  const from = cursor === undefined ? { index: 0, after: undefined } : placeOf(mounts, cursor)
  const mount = mounts[from?.index ?? 0]
  if (from === undefined || mount === undefined) return undefined
  const { root } = mount
  try {
    const page = from.after === undefined || root === '/' ? from.after : root + from.after
    const found = await mount.use(({ store }) => store.memories({ path: root, limit: PAGE, page }))
    const data = found.data.filter((one): one is ListedMemory => one.type === 'memory')
    const resources = data.map((memory) => resourceOf(mount, memory))
    const next = found.nextPage === undefined ? undefined : belowRoot(mount, found.nextPage)
    const following = mounts[from.index + 1]
    if (next !== undefined) return { resources, nextCursor: cursorOf(mount, next) }
    return following === undefined ? { resources } : { resources, nextCursor: cursorOf(following) }
  } catch (error) {
    if (cursor !== undefined && hasCode(error, 'invalid_input')) return undefined
    throw error
  }
}

/** Undefined if there is no such memory. Throws a Refusal for one that is too long. */
async function readResource(
  space: ToolSpace,
  uri: string,
): Promise<TextResourceContents | undefined> {
  const place = findPlace(space, uri)
  if (place === undefined || place.isRoot) return undefined
  const memory = await place.mount.use(({ store }) => store.read(place.path))
  if (memory === undefined) return undefined
  const { path, content } = memory
  if (Buffer.byteLength(JSON.stringify(content)) > TEXT_BYTES_MAX) {
    throw new Refusal('The memory is too long for one answer: read it with memory_read')
  }
  return { uri: uriOf(place.mount, path), mimeType: mimeTypeOf(path), text: content }
}

function findPlace(space: ToolSpace, uri: string): Place | undefined {
  const [, store = '', rest = ''] = /^memory:\/\/([^/?#]+)\/([^?#]+)$/.exec(uri) ?? []
  const mount = space.mounts.find(({ name }) => name === decode(store))
  const segments = rest.split('/').map(decode)
  if (mount === undefined || !segments.every(isSegment)) return undefined
  try {
    const place = space.parse('uri', `${space.directoryOf(mount)}/${segments.join('/')}`)
    return place.mount === mount ? place : undefined
  } catch (error) {
    // A path that no memory can have.
    if (error instanceof Refusal) return undefined
    throw error
  }
}

function isSegment(segment: string | undefined): segment is string {
  return segment !== undefined && !['', '.', '..'].includes(segment) && !segment.includes('/')
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function resourceOf(mount: Mount, { path, sizeBytes, updatedAt }: MemoryInfo): Resource {
  return {
    uri: uriOf(mount, path),
    name: path.slice(path.lastIndexOf('/') + 1),
    title: belowRoot(mount, path).slice(1),
    mimeType: mimeTypeOf(path),
    size: sizeBytes,
    annotations: { lastModified: timestamp(updatedAt) },
  }
}

export function uriOf(mount: Mount, path: string): string {
  return SCHEME + (mount.name + belowRoot(mount, path)).split('/').map(encodeURIComponent).join('/')
}

/** A path of the store as the caller knows it, who sees nothing above. */
function belowRoot({ root }: Mount, path: string): string {
  return root === '/' ? path : path.slice(root.length)
}

function mimeTypeOf(path: string): string {
  return /\.(?:md|markdown)$/i.test(path) ? 'text/markdown' : 'text/plain'
}

/** The cursor of the next page: the mount, and the last path in it. */
function cursorOf({ name }: Mount, after = ''): string {
  return Buffer.from(name + after).toString('base64url')
}

function placeOf(
  mounts: readonly Mount[],
  cursor: string,
): { readonly index: number; readonly after: string | undefined } | undefined {
  const decoded = Buffer.from(cursor, 'base64url').toString()
  const end = decoded.includes('/') ? decoded.indexOf('/') : decoded.length
  const index = mounts.findIndex(({ name }) => name === decoded.slice(0, end))
  return index === -1 ? undefined : { index, after: decoded.slice(end) || undefined }
}
