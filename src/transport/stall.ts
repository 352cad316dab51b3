// Waits for another machine, within limits: a promise is abandoned after a time without a sign of
// life, a conversation after a longer time without progress, whatever else is said, and both if the
// caller cancels. Must not close anything: the caller ends what it abandons.

import type { Writable } from 'node:stream'
import { StoreError } from '../errors.ts'
import { KIBIBYTE, MEBIBYTE } from '../limits.ts'

/** The longest time without a sign of life, by default. */
export const timeoutMsDefault = 60_000

/**
 * Signs of life prolong a wait to this many times the timeout: ten minutes by default. A host
 * reports every five seconds that it still counts objects, or shows what its hooks print; for a
 * million commits on a slow machine that takes minutes.
 */
const signsMax = 10

/** This much data is progress: less in ten minutes is not a transfer. */
const progressBytes = 64 * KIBIBYTE

/**
 * The most that a host may send in addition to data in one conversation: far above any hook's
 * output.
 */
const chatterBytesMax = 4 * MEBIBYTE
/** The same in packets: empty ones have hardly any bytes. */
const chatterPacketsMax = 65_536
/** As many packets of data may have less than this on average: a packet costs more than a byte. */
const packetBytesMin = 64

/** Sent bytes may still be in buffers: an answer to this much may take another timeout. */
const bytesOnTheWay = 4 * MEBIBYTE

export interface Patience {
  readonly signal: AbortSignal | undefined
  /** The rest of a wait that began at `since`; not above 0 if it is over. */
  leftOf(since: number): number
}

/** The patience with one conversation, which has phases: the list of refs, then an exchange. */
export class Endurance implements Patience {
  readonly signal: AbortSignal | undefined
  readonly #timeoutMs: number
  #deadline = 0
  #bytes = 0
  /** When data last came or went. */
  #movedAt = Number.NEGATIVE_INFINITY
  /** Sent as a whole, and not answered yet. */
  #unanswered = 0
  #chatterBytes = 0
  #chatterPackets = 0
  /** Packets of data beyond one for every `packetBytesMin`. */
  #surplusPackets = 0

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.signal = signal
    this.#timeoutMs = timeoutMs
    this.begin()
  }

  /**
   * A wait for an answer begins again with each piece that is sent: a slow line needs longer for a
   * pack than any answer to it may take.
   */
  leftOf(since: number): number {
    const now = performance.now()
    const timeouts = 1 + Math.floor(this.#unanswered / bytesOnTheWay)
    const end = Math.max(since, this.#movedAt) + timeouts * this.#timeoutMs
    return Math.min(end, this.#deadline) - now
  }

  /** All bytes of a request were handed over; `bytes` is their number. */
  sent(bytes: number): void {
    this.#unanswered = bytes
  }

  /** A phase begins, or there was progress. */
  begin(): void {
    this.#bytes = 0
    this.#deadline = performance.now() + signsMax * this.#timeoutMs
  }

  /**
   * Data came or went: the content of a pack. Throws `remote_protocol` if it comes in too many
   * packets.
   */
  moved(bytes: number): void {
    this.#bytes += bytes
    this.#movedAt = performance.now()
    if (this.#bytes >= progressBytes) this.begin()
    this.#surplusPackets = Math.max(0, this.#surplusPackets + 1 - bytes / packetBytesMin)
    if (this.#surplusPackets > chatterPacketsMax) throw endless('it sends data in tiny packets')
  }

  /** A packet without data arrived. Throws `remote_protocol` if there are too many. */
  heard(bytes: number): void {
    this.#unanswered = 0
    this.#chatterBytes += bytes
    this.#chatterPackets += 1
    const isEndless =
      this.#chatterBytes > chatterBytesMax || this.#chatterPackets > chatterPacketsMax
    if (isEndless) throw endless('it talks without end and sends no data')
  }
}

/** Throws `remote_timeout` or `cancelled`, unless `work` settles first. */
export function awaitMoved<T>(work: Promise<T>, patience: Patience): Promise<T> {
  const { signal } = patience
  const since = performance.now()
  const left = patience.leftOf(since)
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const more = patience.leftOf(since)
      if (more <= 0) giveUp(timedOut())
      // A timer may be early by a fraction of a millisecond.
      else timer = setTimeout(look, Math.max(1, more))
    }
    let timer = setTimeout(look, left)
    const abort = (): void => giveUp(cancelled())
    const settle = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const giveUp = (error: unknown): void => {
      settle()
      reject(error)
    }
    signal?.addEventListener('abort', abort)
    work.finally(settle).then(resolve, reject)
    if (signal?.aborted === true) abort()
    // Work that is done at once would always be faster than the timer.
    else if (left <= 0) giveUp(timedOut())
  })
}

/** The chunks of a stream, each awaited with `awaitMoved`. Calls `end` at the end. */
export async function* moving(
  chunks: AsyncIterable<Uint8Array>,
  patience: Patience,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await awaitMoved(iterator.next(), patience)
      if (done === true) return
      yield value
    }
  } finally {
    end()
  }
}

/** Resolves once a stream takes more, or another event shows that it never will. */
export function drained(stream: Writable, ...others: readonly string[]): Promise<void> {
  const events = ['drain', 'close', ...others]
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of events) stream.off(event, done)
      resolve()
    }
    for (const event of events) stream.on(event, done)
  })
}

function endless(what: string): StoreError {
  return new StoreError('remote_protocol', `The remote does not speak git's protocol: ${what}`)
}

function timedOut(): StoreError {
  return new StoreError('remote_timeout', 'The remote stopped answering')
}

export function cancelled(): StoreError {
  return new StoreError('cancelled', 'The exchange with the remote was cancelled')
}
