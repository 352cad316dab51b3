// Git's pkt-lines (gitprotocol-common) over a stream of chunks, and their side bands
// (gitprotocol-capabilities). Must trust no length: a line has at most 65,516 bytes, and a stream
// that ends inside one is an error.

import { concatBytes, joinBytes, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { KIBIBYTE } from '../limits.ts'
import { TimeSlice } from '../time-slice.ts'
import type { Endurance } from './stall.ts'

/** The length of an empty packet. */
export const lengthDigits = 4

/** A line, or the flush packet that ends a section. */
export type Packet = Uint8Array | 'flush'

export const flushPacket: Uint8Array = utf8('0000')

const zeroDigit = 0x30
/** Data is passed on in pieces of about this size, however small its packets are. */
const pieceBytes = 64 * KIBIBYTE
/** The most of one message that is shown. */
const messageBytesMax = 16 * KIBIBYTE
const decoder = new TextDecoder()
const noData = new Uint8Array(0)

export function encodePacket(text: string): Uint8Array {
  const bytes = utf8(text)
  const length = (bytes.length + lengthDigits).toString(16).padStart(lengthDigits, '0')
  return concatBytes(utf8(length), bytes)
}

/** The packets of a stream. Gives way between them: a host may send many small ones at once. */
export class PacketReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #slice: TimeSlice
  #buffer: Uint8Array = new Uint8Array(0)
  #next: Packet | undefined

  constructor(chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#slice = new TimeSlice(signal)
  }

  /**
   * Undefined at the end. Throws `remote_protocol`, `remote_unreachable` if it is cut off, or
   * `cancelled`.
   */
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

  /** Whether the next packet has arrived as a whole. */
  get hasNext(): boolean {
    return this.#next !== undefined || this.#buffer.length >= this.#lengthOfNext()
  }

  async #read(): Promise<Packet | undefined> {
    if (this.#slice.isOver()) await this.#slice.next()
    if (this.#buffer.length < lengthDigits) await this.#fill(lengthDigits)
    if (this.#buffer.length === 0) return undefined
    if (this.#buffer.length < lengthDigits) throw cutOff()
    const length = this.#lengthOfNext()
    if (Number.isNaN(length)) throw protocolError('it sent data that is not a pkt-line')
    if (this.#buffer.length < length) await this.#fill(length)
    if (this.#buffer.length < length) throw cutOff()
    const isFlush = this.#buffer.subarray(0, lengthDigits).every((digit) => digit === zeroDigit)
    const packet = this.#buffer.subarray(lengthDigits, length)
    this.#buffer = this.#buffer.subarray(length)
    return isFlush ? 'flush' : packet
  }

  /** With its digits, four for a flush packet too; not a number unless its digits are there. */
  #lengthOfNext(): number {
    const digits = this.#buffer.subarray(0, lengthDigits)
    const text = String.fromCharCode(...digits)
    const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : Number.NaN
    if (length === 0) return lengthDigits
    return length >= lengthDigits && length <= 65_520 ? length : Number.NaN
  }

  /** The bytes that were read ahead, and the rest of the stream. */
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

  /** Fewer bytes only at the end of the stream. */
  async #fill(length: number): Promise<void> {
    const parts = [this.#buffer]
    let filled = this.#buffer.length
    while (filled < length) {
      const { done, value } = await this.#chunks.next()
      if (done === true) break
      parts.push(value)
      filled += value.length
    }
    this.#buffer = joinBytes(parts)
  }
}

/** What becomes of the other bands. */
export interface BandListener {
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
  listener: BandListener,
): AsyncGenerator<Uint8Array> {
  const gathered = new Gathered()
  try {
    for (;;) {
      // Bytes that have arrived do not wait for later ones.
      if (!gathered.isEmpty && !packets.hasNext) yield gathered.take()
      const packet = await packets.read()
      if (packet === undefined) throw cutOff()
      if (packet === 'flush') break
      const data = hearBand(packet, listener)
      if (!gathered.hasRoom(data)) yield gathered.take()
      gathered.add(data)
    }
  } catch (error) {
    // A report may be complete before the error.
    if (!gathered.isEmpty) yield gathered.take()
    throw error
  }
  if (!gathered.isEmpty) yield gathered.take()
}

/** Returns the data of a packet of the first band; passes on that of the others. */
function hearBand(packet: Uint8Array, { onText, fail, endurance }: BandListener): Uint8Array {
  const [band] = packet
  const data = packet.subarray(1)
  if (band === 1 && data.length > 0) endurance.moved(data.length)
  else endurance.heard(packet.length)
  if (band === 1) return data
  if (band === 2) onText(textOf(data.subarray(0, messageBytesMax)))
  else if (band === 3) throw fail(textOf(data))
  // An empty packet keeps the connection alive.
  else if (band !== undefined) throw protocolError('it sent an unknown side band')
  return noData
}

/** The data of packets, put together. */
class Gathered {
  #bytes: Uint8Array = new Uint8Array(0)
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  hasRoom(data: Uint8Array): boolean {
    return this.isEmpty || this.#length + data.length <= this.#bytes.length
  }

  add(data: Uint8Array): void {
    if (this.isEmpty) this.#bytes = new Uint8Array(Math.max(pieceBytes, data.length))
    this.#bytes.set(data, this.#length)
    this.#length += data.length
  }

  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#length = 0
    return taken
  }
}

/** Decodes as UTF-8 with replacement characters: for messages, and for ASCII lines. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

export function protocolError(problem: string): StoreError {
  return new StoreError('remote_protocol', `The remote does not speak git's protocol: ${problem}`)
}

export function cutOff(peer = 'the remote'): StoreError {
  return new StoreError('remote_unreachable', `The connection to ${peer} was cut off`)
}
