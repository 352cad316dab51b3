// Git's pkt-lines (gitprotocol-common) over a stream of chunks, and their side bands
// (gitprotocol-capabilities). Must trust no length: a line has at most 65,516 bytes, and a stream
// that ends inside one is an error.

import { concatBytes, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { Endurance } from './stall.ts'

/** The length of an empty packet. */
export const lengthDigits = 4

/** A line, or the flush packet that ends a section. */
export type Packet = Uint8Array | 'flush'

export const flushPacket: Uint8Array = utf8('0000')

export function encodePacket(text: string): Uint8Array {
  const bytes = utf8(text)
  const length = (bytes.length + lengthDigits).toString(16).padStart(lengthDigits, '0')
  return concatBytes(utf8(length), bytes)
}

export class PacketReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #buffer: Uint8Array = new Uint8Array(0)
  #next: Packet | undefined

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Undefined at the end. Throws `remote_protocol`, or `remote_unreachable` if it is cut off. */
  async read(): Promise<Packet | undefined> {
    const next = this.#next
    this.#next = undefined
    return next ?? this.#read()
  }

  /** The packet that the next `read` returns. */
  async peek(): Promise<Packet | undefined> {
    this.#next ??= await this.#read()
    return this.#next
  }

  async #read(): Promise<Packet | undefined> {
    const digits = await this.#take(lengthDigits)
    if (digits === undefined) return undefined
    const text = Buffer.from(digits).toString('latin1')
    const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : Number.NaN
    if (length === 0) return 'flush'
    if (!(length >= lengthDigits && length <= 65_520)) {
      throw protocolError('it sent data that is not a pkt-line')
    }
    const line = await this.#take(length - lengthDigits)
    if (line === undefined) throw cutOff()
    return line
  }

  /** What was read ahead, and the rest of the stream. */
  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#buffer.length > 0) yield this.#buffer
    this.#buffer = new Uint8Array(0)
    for (;;) {
      const { done, value } = await this.#chunks.next()
      if (done === true) return
      yield value
    }
  }

  /** Closes the stream. */
  async cancel(): Promise<void> {
    await this.#chunks.return?.()
  }

  /** Undefined at the end of the stream. */
  async #take(length: number): Promise<Uint8Array | undefined> {
    if (this.#buffer.length < length) await this.#fill(length)
    if (this.#buffer.length < length) {
      if (this.#buffer.length > 0) throw cutOff()
      return length === 0 ? this.#buffer : undefined
    }
    const taken = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return taken
  }

  async #fill(length: number): Promise<void> {
    const parts = [this.#buffer]
    let filled = this.#buffer.length
    while (filled < length) {
      const { done, value } = await this.#chunks.next()
      if (done === true) break
      parts.push(value)
      filled += value.length
    }
    this.#buffer = concatBytes(...parts)
  }
}

/** What becomes of the other bands. */
export interface Listener {
  /** A message of band 2. */
  readonly onText: (text: string) => void
  /** The error that band 3 reports. */
  readonly fail: (text: string) => StoreError
  /** Only data prolongs the exchange. */
  readonly endurance: Pick<Endurance, 'moved' | 'heard'>
}

/** The first band, up to the flush. Throws a reported error. */
export async function* firstBand(
  packets: PacketReader,
  { onText, fail, endurance }: Listener,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const packet = await packets.read()
    if (packet === undefined) throw cutOff()
    if (packet === 'flush') return
    const [band] = packet
    const data = packet.subarray(1)
    if (band === 1 && data.length > 0) endurance.moved(data.length)
    else endurance.heard(packet.length)
    if (band === 1) yield data
    else if (band === 2) onText(textOf(data))
    else if (band === 3) throw fail(textOf(data))
    // An empty packet keeps the connection alive.
    else if (band !== undefined) throw protocolError('it sent an unknown side band')
  }
}

/** Decodes as UTF-8 with replacement characters: for messages, and for ASCII lines. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

export function protocolError(problem: string): StoreError {
  return new StoreError('remote_protocol', `The remote does not speak git's protocol: ${problem}`)
}

export function cutOff(cause?: unknown): StoreError {
  return new StoreError('remote_unreachable', 'The connection to the remote was cut off', { cause })
}
