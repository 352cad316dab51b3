// Waits for another machine, within limits: a promise is abandoned after a time without a sign of
// life, a conversation after a longer time without progress, whatever else is said, and both if the
// caller cancels. Must not close anything: the caller ends what it abandons.

import { StoreError } from '../errors.ts'
import { KIBIBYTE, MEBIBYTE } from '../limits.ts'

/** The longest time without a sign of life, by default. */
export const timeoutMsDefault = 60_000

/**
 * Signs of life prolong a wait to this many times the timeout: ten minutes by default. A host says
 * every five seconds that it still counts objects, or shows what its hooks print; for a million
 * commits on a slow machine that takes minutes.
 */
const signsMax = 10

/** This much data is progress: less in ten minutes is not a transfer. */
const progressBytes = 64 * KIBIBYTE

/** How much a host may say besides data in one conversation: far above any hook's output. */
const chatterBytesMax = 4 * MEBIBYTE
/** The same in packets: empty ones have hardly any bytes. */
const chatterPacketsMax = 65_536
/** As many packets of data may have less than this on average: a packet costs more than a byte. */
const packetBytesMin = 64

export interface Patience {
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** The patience with one conversation, which has phases: the list of refs, then an exchange. */
export class Endurance implements Patience {
  readonly signal: AbortSignal | undefined
  readonly #timeoutMs: number
  #deadline = 0
  #bytes = 0
  #chatterBytes = 0
  #chatterPackets = 0
  /** Packets of data beyond one for every `packetBytesMin`. */
  #surplusPackets = 0

  constructor({ timeoutMs, signal }: Patience) {
    this.signal = signal
    this.#timeoutMs = timeoutMs
    this.begin()
  }

  /** How long to wait for the next sign of life; not above 0 if no more of them count. */
  get timeoutMs(): number {
    return Math.min(this.#timeoutMs, this.#deadline - performance.now())
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
    if (this.#bytes >= progressBytes) this.begin()
    this.#surplusPackets = Math.max(0, this.#surplusPackets + 1 - bytes / packetBytesMin)
    if (this.#surplusPackets > chatterPacketsMax) throw endless('it sends data in tiny packets')
  }

  /** A packet came that is no data. Throws `remote_protocol` if there are too many. */
  heard(bytes: number): void {
    this.#chatterBytes += bytes
    this.#chatterPackets += 1
    const isEndless =
      this.#chatterBytes > chatterBytesMax || this.#chatterPackets > chatterPacketsMax
    if (isEndless) throw endless('it talks without end and sends no data')
  }
}

/** Throws `remote_timeout` or `cancelled`, unless `work` settles first. */
export function awaitMoved<T>(work: Promise<T>, { signal, timeoutMs }: Patience): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => giveUp(timedOut()), timeoutMs)
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
    else if (timeoutMs <= 0) giveUp(timedOut())
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

function endless(what: string): StoreError {
  return new StoreError('remote_protocol', `The remote does not speak git's protocol: ${what}`)
}

function timedOut(): StoreError {
  return new StoreError('remote_timeout', 'The remote stopped answering')
}

export function cancelled(): StoreError {
  return new StoreError('cancelled', 'The exchange with the remote was cancelled')
}
