// One server of the protocol, for a connection or a request: names the tools and resources, and
// turns a refusal into a result that the model reads. Any other failure reveals nothing about the
// host.

import {
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { errorContentOf, isFault, refusalOf } from '../memory-tool/refusal.ts'
import type { ToolSpace } from '../memory-tool/tool-space.ts'
import type { Effect } from '../operations/operation.ts'
import type { Wire } from '../operations/wire.ts'
import { listResources, readResource, resourceTemplate } from './resources.ts'
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
  /** Told of faults of a store or the machine, which a client does not learn. */
  readonly tell: (error: unknown) => void
  /** Runs calls in the order in which they were made. */
  readonly inOrder: <T>(effect: Effect, run: () => Promise<T>) => Promise<T>
}

const all: ReadonlyMap<string, Tool> = new Map(
  [memoryCommand, ...tools].map((tool) => [tool.definition.name, tool]),
)

export function makeServer(served: Served): Server {
  const { space, instructions, version } = served
  const server = new Server(
    { name: 'gitlocket', title: 'gitlocket', version },
    { capabilities: { tools: {}, resources: {} }, instructions },
  )
  server.setRequestHandler('tools/list', () => ({ tools: definitionsFor(space) }))
  const hear = (context: ServerContext): void => served.hear(nameOf(context, server))
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
  return server
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

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
