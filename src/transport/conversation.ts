// One conversation with a service of a remote: GitRemoteHTTP lists the refs and sends the one
// request over the wire that reaches the remote. Owns the translation of every failure into error
// codes. Must leave no socket and no process behind.

import { StoreError } from '../errors.ts'
import { branchName } from '../git/refs/branch.ts'
import { checkedAdvertisement } from './advertisement.ts'
import { statusFailure } from './http-failure.ts'
import { HttpWire } from './http-wire.ts'
import { PacketReader, protocolError } from './pkt-line.ts'
import { ProcessWire } from './process-wire.ts'
import type { RemoteAccess, RemoteRefs } from './remote-access.ts'
import { parseRemoteUrl } from './remote-url.ts'
import { harmless } from './server-text.ts'
import { cancelled, Endurance, type Patience, timeoutMsDefault } from './stall.ts'
import { type Service, wholeBody, type Wire } from './wire.ts'

export class Conversation {
  readonly refs: RemoteRefs
  /** How long the exchange may go on. */
  readonly endurance: Endurance
  readonly #wire: Wire
  readonly #service: Service
  readonly #access: RemoteAccess
  readonly #auth: unknown

  /** Lists the refs. Throws a remote code, `invalid_input` or `cancelled`. */
  static async open(access: RemoteAccess, service: Service): Promise<Conversation> {
    const { signal, timeoutMs = timeoutMsDefault } = access
    const endurance = new Endurance({ timeoutMs, signal })
    const wire = await openWire(access, service, endurance)
    try {
      const { refs, auth } = await discover(wire, service, signal)
      return new Conversation(wire, { refs, auth, service, access, endurance })
    } catch (error) {
      await wire.close()
      throw translated(error, wire)
    }
  }

  private constructor(
    wire: Wire,
    parts: {
      readonly refs: RemoteRefs
      readonly auth: unknown
      readonly service: Service
      readonly access: RemoteAccess
      readonly endurance: Endurance
    },
  ) {
    this.#wire = wire
    this.endurance = parts.endurance
    this.refs = parts.refs
    this.#auth = parts.auth
    this.#service = parts.service
    this.#access = parts.access
  }

  /** Sends the request of `length` bytes, and calls `read` with the answer. */
  async exchange<T>(
    request: { readonly body: AsyncIterable<Uint8Array>; readonly length: number },
    read: (packets: PacketReader) => Promise<T>,
  ): Promise<T> {
    const wire = this.#wire
    const headers = { 'content-length': String(request.length) }
    const body = this.#counted(request.body)
    this.endurance.begin()
    const how = { http: wire, service: this.#service, url: wire.url, auth: this.#auth }
    let packets: PacketReader | undefined
    try {
      const { GitRemoteHTTP } = await import('isomorphic-git/managers')
      const answer = await GitRemoteHTTP.connect({ ...how, headers, body })
      packets = new PacketReader(answer.body ?? wholeBody(new Uint8Array(0)), this.signal)
      return await read(packets)
    } catch (error) {
      throw await this.#explained(error)
    } finally {
      await packets?.cancel()
    }
  }

  /** The chunks of a request, each of which is asked for when the one before has been sent. */
  async *#counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk
      this.endurance.moved(chunk.length)
    }
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
    const failure = translated(error, this.#wire)
    const isVague = failure instanceof StoreError && failure.code === 'remote_unreachable'
    return isVague ? ((await this.#wire.explain()) ?? failure) : failure
  }
}

async function openWire(access: RemoteAccess, service: Service, patience: Patience): Promise<Wire> {
  const url = parseRemoteUrl(access.url, { allowHttp: access.allowHttp })
  if (patience.signal?.aborted === true) throw cancelled()
  if (url.kind === 'http') return new HttpWire(url, access, patience)
  return ProcessWire.open(url, service, access, patience)
}

async function discover(
  wire: Wire,
  service: Service,
  signal: AbortSignal | undefined,
): Promise<{ readonly refs: RemoteRefs; readonly auth: unknown }> {
  const authenticate = wire instanceof HttpWire ? () => wire.authenticate() : undefined
  // Imported lazily: it takes as long as opening a store, and most processes only do that.
  const { GitRemoteHTTP } = await import('isomorphic-git/managers')
  const found: unknown = await GitRemoteHTTP.discover({
    http: {
      request: async (request) => {
        return checkedAdvertisement(await wire.request(request), wire.secrets, signal)
      },
    },
    service,
    url: wire.url,
    headers: {},
    protocolVersion: 1,
    onAuth: authenticate,
    onAuthFailure: authenticate,
    onAuthSuccess: wire instanceof HttpWire ? () => wire.accepted() : undefined,
  })
  if (typeof found !== 'object' || found === null || !('refs' in found)) {
    throw protocolError('it requires another protocol version')
  }
  const auth = 'auth' in found ? found.auth : undefined
  return { refs: refsOf(found), auth }
}

function refsOf(found: object): RemoteRefs {
  const refs = 'refs' in found && found.refs instanceof Map ? found.refs : new Map()
  const listed =
    'capabilities' in found && found.capabilities instanceof Set ? found.capabilities : []
  const capabilities = new Set<string>()
  for (const capability of listed) if (typeof capability === 'string') capabilities.add(capability)
  if ([...capabilities].some((name) => /^object-format=(?!sha1$)/.test(name))) {
    throw protocolError('its object format is not SHA-1')
  }
  let head: string | undefined
  let others = 0
  for (const [name, oid] of refs) {
    if (typeof name !== 'string' || typeof oid !== 'string' || !/^[0-9a-f]{40}$/.test(oid)) {
      throw protocolError('its list of refs is damaged')
    }
    if (name === branchName) head = oid
    else if (name.startsWith('refs/') && !name.endsWith('^{}')) others += 1
  }
  return { head, others, capabilities }
}

/** Translates everything that GitRemoteHTTP and the wires throw. */
function translated(error: unknown, wire: Wire): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error
  const data: unknown = 'data' in error ? error.data : undefined
  if (error.name === 'HttpError') return httpError(data, wire)
  if (error.name === 'UserCanceledError') {
    return new StoreError(
      'remote_auth',
      'The remote requires credentials, or rejects those of this machine',
    )
  }
  if (error.name === 'SmartHttpError' || error.name === 'ParseError') {
    return protocolError('its answer is not a list of refs')
  }
  if (error.name === 'EmptyServerResponseError') return protocolError('its answer is empty')
  return error
}

function httpError(data: unknown, wire: Wire): StoreError {
  const isData = typeof data === 'object' && data !== null
  const status = isData && 'statusCode' in data ? Number(data.statusCode) : 0
  const text =
    isData && 'response' in data && typeof data.response === 'string' ? data.response : ''
  return statusFailure(status, text, wire.secrets)
}
