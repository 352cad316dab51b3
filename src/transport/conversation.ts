// One conversation with a service of a remote: its refs, then at most one request, over the wire
// that reaches it. Must leave no socket and no process behind.

import { hasCode, StoreError } from '../errors.ts'
import { harmless } from './failures.ts'
import { PacketReader, protocolError } from './pkt-line.ts'
import type { RemoteAccess, RemoteRefs, RemoteWire, Service } from './remote-access.ts'
import { parseRemoteUrl } from './remote-url.ts'
import { cancelled, Endurance, type Patience, timeoutMsDefault } from './stall.ts'
import { readRefs } from './wire.ts'

export class Conversation {
  readonly refs: RemoteRefs
  /** How long the exchange may go on. */
  readonly endurance: Endurance
  readonly #wire: RemoteWire
  readonly #access: RemoteAccess

  /** Lists the refs. Throws a remote code, `invalid_input` or `cancelled`. */
  static async open(access: RemoteAccess, service: Service): Promise<Conversation> {
    const { signal, timeoutMs = timeoutMsDefault, grantNames } = access
    const endurance = new Endurance(timeoutMs, signal)
    const wire = await openWire(access, service, endurance)
    try {
      const refs = await readRefs(await wire.list(), wire.secrets, grantNames)
      if (refs === undefined) throw (await wire.explain()) ?? noEnd()
      return new Conversation(wire, refs, access, endurance)
    } catch (error) {
      await wire.close()
      throw error
    }
  }

  private constructor(
    wire: RemoteWire,
    refs: RemoteRefs,
    access: RemoteAccess,
    endurance: Endurance,
  ) {
    this.#wire = wire
    this.refs = refs
    this.#access = access
    this.endurance = endurance
  }

  /** Sends the request of `length` bytes, and calls `read` with the answer. */
  async exchange<T>(
    request: { readonly body: AsyncIterable<Uint8Array>; readonly length: number },
    read: (packets: PacketReader) => Promise<T>,
  ): Promise<T> {
    const body = this.#counted(request.body)
    this.endurance.begin()
    let packets: PacketReader | undefined
    try {
      packets = new PacketReader(await this.#wire.send(body, request.length), this.signal)
      return await read(packets)
    } catch (error) {
      throw await this.#explained(error)
    } finally {
      await packets?.cancel()
    }
  }

  /** The chunks of a request, each of which is asked for when the one before has been sent. */
  async *#counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const chunk of chunks) {
      yield chunk
      bytes += chunk.length
      this.endurance.moved(chunk.length)
    }
    this.endurance.sent(bytes)
  }

  /** Passes the remote's messages to `onMessage`. Throws `remote_protocol` if they do not end. */
  forward(text: string): void {
    const { onMessage } = this.#access
    if (onMessage === undefined) return
    for (const line of text.split(/[\r\n]+/)) {
      // A packet holds thousands of short lines, each of which costs as much as a packet.
      this.endurance.heard(0)
      const clean = this.harmless(line)
      if (clean !== '') onMessage(clean)
    }
  }

  harmless(text: string): string {
    return harmless(text, this.#wire.secrets)
  }

  get signal(): AbortSignal | undefined {
    return this.#access.signal
  }

  async close(): Promise<void> {
    await this.#wire.close()
  }

  /** If the connection ended early, the wire may know the reason. */
  async #explained(error: unknown): Promise<unknown> {
    const isVague = hasCode(error, 'remote_unreachable')
    return isVague ? ((await this.#wire.explain()) ?? error) : error
  }
}

async function openWire(
  access: RemoteAccess,
  service: Service,
  patience: Patience,
): Promise<RemoteWire> {
  const url = parseRemoteUrl(access.url, { allowHttp: access.allowHttp })
  if (patience.signal?.aborted === true) throw cancelled()
  if (access.wire !== undefined) {
    if (url.kind === 'http') return access.wire(url, service, access, patience)
    throw new StoreError('invalid_input', 'Without a disk, a remote is reached over https:// only')
  }
  // Imported here: most processes need one of them or none.
  if (url.kind === 'http') {
    const { HttpWire } = await import('./http-wire.ts')
    return new HttpWire(url, service, access, patience)
  }
  const { ProcessWire } = await import('./process-wire.ts')
  return ProcessWire.open(url, service, access, patience)
}

function noEnd(): StoreError {
  return protocolError('its list of refs has no end')
}
