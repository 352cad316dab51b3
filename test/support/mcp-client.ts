// The official client of the Model Context Protocol, for tests: on a store in this process, on the
// command line, or on a server; in the protocol of 2026 and in those of 2025.

import { PassThrough } from 'node:stream'
import {
  Client,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import {
  type McpConnection,
  type McpOptions,
  type MemoryMounts,
  serveMcp,
} from '../../src/mcp/mcp.ts'

export type Era = '2026-07-28' | '2025-11-25' | '2025-06-18'

export const eras: readonly Era[] = ['2026-07-28', '2025-11-25', '2025-06-18']

/** What a tool has answered. */
export interface Answered {
  readonly text: string
  readonly refused: boolean
  readonly value: Record<string, unknown> | undefined
}

export class McpCaller {
  readonly client: Client

  private constructor(client: Client) {
    this.client = client
  }

  static async connect(transport: Transport, era: Era, name = 'Test Client'): Promise<McpCaller> {
    const modern = era === '2026-07-28'
    const client = new Client(
      { name, version: '1' },
      modern ? { versionNegotiation: { mode: 'auto' } } : { supportedProtocolVersions: [era] },
    )
    await client.connect(transport)
    if (client.getNegotiatedProtocolVersion() !== era) throw new Error('another protocol is spoken')
    return new McpCaller(client)
  }

  async call(name: string, input: Record<string, unknown> = {}): Promise<Answered> {
    const result = await this.client.callTool({ name, arguments: input })
    const [first] = result.content
    const text = first?.type === 'text' ? first.text : ''
    const value =
      result.structuredContent === undefined ? undefined : Object(result.structuredContent)
    return { text, refused: result.isError ?? false, value }
  }

  /** The value of a call that must succeed. */
  async value(name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const { value, refused, text } = await this.call(name, input)
    if (refused || value === undefined) throw new Error(`${name} was refused: ${text}`)
    return value
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

/** The client's end of two streams. */
class StreamTransport implements Transport {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  onclose?: () => void
  onmessage?: (message: JSONRPCMessage) => void
  #rest = ''

  async start(): Promise<void> {
    this.output.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.onmessage?.(JSON.parse(line))
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.input.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.input.end()
    this.onclose?.()
  }
}

/** A client of stores in this process. */
export async function connectTo(
  stores: MemoryMounts,
  options: McpOptions & { readonly era?: Era; readonly name?: string } = {},
): Promise<{ readonly caller: McpCaller; readonly connection: McpConnection }> {
  const transport = new StreamTransport()
  const connection = await serveMcp(stores, transport.input, transport.output, options)
  const caller = await McpCaller.connect(transport, options.era ?? '2026-07-28', options.name)
  return { caller, connection }
}

/** A client that starts a command, as clients do. */
export function connectByCommand(
  command: string,
  args: readonly string[],
  { era, env, name }: { era: Era; env: Record<string, string>; name?: string },
): Promise<McpCaller> {
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: 'ignore' })
  return McpCaller.connect(transport, era, name)
}

/** A client of a server, with a credential. */
export function connectToServer(
  url: string,
  { token, era, name }: { token: string; era: Era; name?: string },
): Promise<McpCaller> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  return McpCaller.connect(transport, era, name)
}
