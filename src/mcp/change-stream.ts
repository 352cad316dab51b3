// The answer to `subscriptions/listen` over HTTP: a stream of addresses, which the client reads at
// its own pace. Holds no more than the addresses that the client named: a change that it has not
// read yet is told once. Ends when the credential does, when the client reaches other stores, or
// when the server closes; the client then subscribes again.

import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server'
import { StoreError } from '../errors.ts'
import { KIBIBYTE } from '../limits.ts'
import type { Mount } from '../memory-tool/mount.ts'
import type { StreamTerms } from '../operations/hosted.ts'
import type { Feeds } from './feed.ts'
import { uriOf } from './protocol.ts'
import type { Affected } from './subscriptions.ts'

export interface ListenRequest {
  readonly request: Request
  /** Its body. */
  readonly body: unknown
  readonly serverFor: (context: McpRequestContext) => Server
}

/** How a client is told of changes over HTTP. */
export interface ListenTerms extends StreamTerms {
  readonly feeds: Feeds
  /** Whether the client still reaches the same stores by the same names. */
  readonly isSameReach: () => Promise<boolean>
  /** Told of faults of a store or the machine. */
  readonly tell: (error: unknown) => void
  /** Called once, when nothing more is told. */
  readonly ended?: () => void
}

/** The most bytes of a request: its addresses are kept as long as the client listens. */
const REQUEST_BYTES_MAX = 64 * KIBIBYTE
/** How often it is looked whether the credential is still valid. */
const CHECK_MS = 1000
/** How many notifications are made at once, before the client reads them. */
const BATCH_MAX = 100

/** Throws `request_too_large`, and what `begin` and opening a store throw. */
export async function answerListen(
  asked: ListenRequest,
  mounts: readonly Mount[],
  begin: () => ListenTerms,
): Promise<Response> {
  const addresses = addressesIn(asked.body)
  const stream = new ChangeStream(addresses, begin())
  try {
    // Before the client learns that it is subscribed.
    await Promise.all(mounts.map((mount) => stream.follow(mount)))
    return await stream.answer(asked)
  } catch (error) {
    stream.end()
    throw error
  }
}

/** Those that the client subscribes to; the protocol reports malformed ones. */
function addressesIn(body: unknown): ReadonlySet<unknown> {
  if (Buffer.byteLength(JSON.stringify(body)) > REQUEST_BYTES_MAX) {
    throw new StoreError(
      'request_too_large',
      `A subscription may have ${REQUEST_BYTES_MAX} bytes: name fewer addresses`,
    )
  }
  const filter: unknown = Reflect.get(Object(Reflect.get(Object(body), 'params')), 'notifications')
  const named: unknown = Reflect.get(Object(filter), 'resourceSubscriptions')
  return new Set(Array.isArray(named) ? named : [])
}

class ChangeStream {
  readonly #addresses: ReadonlySet<unknown>
  readonly #terms: ListenTerms
  readonly #leaving: (() => void)[] = []
  readonly #ending = new AbortController()
  readonly #pending = new Set<string>()
  #isListPending = false
  /** The client has read all notifications so far. */
  #isRead = false
  #wake = (): void => undefined

  constructor(addresses: ReadonlySet<unknown>, terms: ListenTerms) {
    this.#addresses = addresses
    this.#terms = terms
    const { closing } = terms
    closing.addEventListener('abort', () => this.end(), { signal: this.#ending.signal })
    if (closing.aborted) this.end()
  }

  async follow(mount: Mount): Promise<void> {
    const leave = await this.#terms.feeds.join(mount, {
      changed: (affected) => this.#add(mount, affected),
      ended: () => this.end(),
    })
    this.#leaving.push(leave)
    if (this.#ending.signal.aborted) leave()
  }

  async answer({ request, body, serverFor }: ListenRequest): Promise<Response> {
    const handler = createMcpHandler(serverFor, { maxSubscriptions: 1 })
    const response = await handler.fetch(request, { parsedBody: body })
    void this.#run(handler)
    return new Response(response.body && this.#paced(response.body), response)
  }

  /** Tells nothing any more. */
  end(): void {
    if (!this.#ending.signal.aborted) this.#terms.ended?.()
    this.#ending.abort()
    for (const leave of this.#leaving.splice(0)) leave()
    this.#wake()
  }

  #add(mount: Mount, { paths, isListChanged }: Affected): void {
    for (const path of paths) {
      const uri = uriOf(mount, path)
      if (this.#addresses.has(uri)) this.#pending.add(uri)
    }
    this.#isListPending ||= isListChanged
    if (this.#mayNotify) this.#wake()
  }

  get #mayNotify(): boolean {
    return this.#isRead && (this.#pending.size > 0 || this.#isListPending)
  }

  async #run(handler: McpHttpHandler): Promise<void> {
    try {
      while (await this.#mayContinue()) {
        if (this.#mayNotify) this.#notify(handler)
        await this.#woken()
      }
    } catch (error) {
      this.#terms.tell(error)
    }
    this.end()
    await handler.close()
  }

  async #mayContinue(): Promise<boolean> {
    const { isAdmitted, isSameReach } = this.#terms
    const isSeen = (await isAdmitted()) && (!this.#mayNotify || (await isSameReach()))
    return isSeen && !this.#ending.signal.aborted
  }

  #notify({ notify }: McpHttpHandler): void {
    if (this.#isListPending) notify.resourcesChanged()
    this.#isListPending = false
    for (const uri of [...this.#pending].slice(0, BATCH_MAX)) {
      this.#pending.delete(uri)
      notify.resourceUpdated(uri)
    }
  }

  /** Until there is something to tell, or it is time to look at the credential again. */
  async #woken(): Promise<void> {
    if (this.#mayNotify || this.#ending.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CHECK_MS)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** The same stream, of which nothing is read before the client wants it. */
  #paced(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = stream.getReader()
    return new ReadableStream(
      {
        pull: async (controller) => {
          this.#isRead = true
          if (this.#mayNotify) this.#wake()
          const { value } = await reader.read()
          this.#isRead = false
          if (value !== undefined) controller.enqueue(value)
          else {
            this.end()
            controller.close()
          }
        },
        cancel: async () => {
          this.end()
          await reader.cancel()
        },
      },
      { highWaterMark: 0 },
    )
  }
}
