// The connection to one client over two streams, one message a line. When the input ends, open
// requests are answered first. A client that asks faster than it gets answers waits.

import { PassThrough, type Readable, type Writable } from 'node:stream'
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

/** Requests that may wait for their answers before no more are read. */
const pendingMax = 64

type RequestId = string | number

const LISTEN = 'subscriptions/listen'

export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #input: Readable
  /** What the SDK reads. It ends by its own, which the input does not. */
  readonly #feed = new PassThrough()
  readonly #wire: StdioServerTransport
  readonly #pending = new Set<RequestId>()
  /** Resolves when nothing is read or written anymore. */
  readonly closed: Promise<void>
  readonly #output: Writable
  #listen: (() => void) | undefined
  #hasEnded = false

  /** `listen` is called once, before the first subscription is answered. */
  constructor(input: Readable, output: Writable, listen?: () => void) {
    this.#input = input
    this.#output = output
    this.#listen = listen
    // The SDK adds a listener for each answer that waits. Node warns of more than ten, on stderr.
    output.setMaxListeners(Math.max(output.getMaxListeners(), 2 * pendingMax))
    this.#wire = new StdioServerTransport(this.#feed, output)
    this.closed = new Promise((resolve) => {
      Object.assign(this.#wire, {
        onclose: () => {
          this.onclose?.()
          resolve()
        },
        onerror: (error: Error) => this.onerror?.(error),
        onmessage: (message: JSONRPCMessage) => this.#receive(message),
      })
    })
  }

  async start(): Promise<void> {
    await this.#wire.start()
    this.#input.on('data', (chunk) => void this.#feed.write(chunk))
    const end = (): void => {
      this.#hasEnded = true
      this.#go()
    }
    for (const event of ['end', 'close', 'error']) this.#input.on(event, end)
    if (this.#input.readableEnded || this.#input.destroyed) end()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#wire.send(message)
    } finally {
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
        this.#settle(message.id)
      }
    }
  }

  async close(): Promise<void> {
    this.#input.pause()
    await this.#wire.close()
  }

  /** Resolves when the client has read the output, or the connection has ended. */
  async drained(): Promise<void> {
    if (!this.#output.writableNeedDrain) return
    const isDrained = new Promise((resolve) => this.#output.once('drain', resolve))
    await Promise.race([isDrained, this.closed])
  }

  #receive(message: JSONRPCMessage): void {
    const method = isJSONRPCRequest(message) ? message.method : undefined
    if (method === LISTEN || method === 'resources/subscribe') {
      this.#listen?.()
      this.#listen = undefined
    }
    // A subscription of 2026 is answered only when it ends, so nothing waits for that.
    if (isJSONRPCRequest(message) && method !== LISTEN) this.#pending.add(message.id)
    if (this.#pending.size >= pendingMax) this.#input.pause()
    this.onmessage?.(message)
    // A request that is cancelled gets no answer.
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      const id: unknown = message.params?.['requestId']
      if (typeof id === 'string' || typeof id === 'number') this.#settle(id)
    }
  }

  #settle(id: RequestId | undefined): void {
    if (id !== undefined) this.#pending.delete(id)
    this.#go()
  }

  #go(): void {
    if (this.#hasEnded && this.#pending.size === 0) this.#feed.end()
    if (!this.#hasEnded && this.#pending.size < pendingMax) this.#input.resume()
  }
}
