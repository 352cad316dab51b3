// Timers and pauses of browsers and workers.

import type { Timer } from '../../platform/timers.ts'

export type { Timer } from '../../platform/timers.ts'

/** There is no process to keep alive. */
export function inBackground(run: () => void, ms: number): Timer {
  return setTimeout(run, ms)
}

/**
 * A timer of zero waits for milliseconds once it is nested; a message does not. Each call has a
 * channel of its own: in Workers, one ends with the request that made it.
 */
export function afterOthers(run: () => void): void {
  if (typeof MessageChannel === 'undefined') {
    setTimeout(run, 0)
    return
  }
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', () => {
    port1.close()
    run()
  })
  port1.start()
  port2.postMessage(undefined)
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
