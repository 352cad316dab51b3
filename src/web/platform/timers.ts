// Timers and pauses of browsers and workers.

import type { Timer } from '../../platform/timers.ts'

export type { Timer } from '../../platform/timers.ts'

/** There is no process to keep alive. */
export function inBackground(run: () => void, ms: number): Timer {
  return setTimeout(run, ms)
}

const waiting: (() => void)[] = []
let wake: (() => void) | undefined

export function afterOthers(run: () => void): void {
  waiting.push(run)
  wake ??= makeWake()
  wake()
}

function runNext(): void {
  waiting.shift()?.()
}

/** A timer of zero waits for milliseconds once it is nested; a message does not. */
function makeWake(): () => void {
  if (typeof MessageChannel === 'undefined') return () => void setTimeout(runNext, 0)
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', runNext)
  port1.start()
  return () => port2.postMessage(undefined)
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
