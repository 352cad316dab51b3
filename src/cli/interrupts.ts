// Signals, and what must be cleaned up whichever way the process ends. The store itself needs no
// cleaning: it may stop at any instruction and loses nothing that was acknowledged.

import { StoreError } from '../errors.ts'

export interface Interrupts {
  /** Aborted by the first Ctrl-C. The reason is a StoreError `cancelled`. */
  readonly signal: AbortSignal
  /**
   * While `work` runs, it has all the time that it needs to stop after the first Ctrl-C, and to say
   * where. A second one ends the process at once, with `ending` as the last word.
   */
  patiently<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** As `patiently`, for what runs until it is told to end: by Ctrl-C, or by SIGTERM as well. */
  untilTold<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** While `work` runs, Ctrl-C belongs to somebody else, an editor. */
  ignoring<T>(work: () => Promise<T>): Promise<T>
  /** Runs `cleanup` when the process ends, but for kill -9. Returns how to do it now. */
  atExit(cleanup: () => void): () => void
}

/** Long work has so long to stop by itself after the first Ctrl-C. */
const GRACE_MS = 1000

export function listenForInterrupts(): Interrupts {
  const controller = new AbortController()
  let ignored = false
  let ending: string | undefined
  let isTellable = false
  const end = (): never => {
    if (ending !== undefined) process.stderr.write(`\ngitlocket: ${ending}\n`)
    process.exit(130)
  }
  process.on('SIGINT', () => {
    if (ignored) return
    if (controller.signal.aborted) end()
    controller.abort(new StoreError('cancelled', 'Cancelled'))
    if (ending === undefined) setTimeout(end, GRACE_MS).unref()
    else process.stderr.write('\nStopping; Ctrl-C again ends at once\n')
  })
  process.on('SIGTERM', () => {
    if (!isTellable || controller.signal.aborted) process.exit(143)
    controller.abort(new StoreError('cancelled', 'Cancelled'))
  })
  process.on('SIGHUP', () => process.exit(129))
  const patiently = async <T>(last: string, work: () => Promise<T>): Promise<T> => {
    const before = ending
    ending = last
    try {
      return await work()
    } finally {
      ending = before
    }
  }
  return {
    signal: controller.signal,
    patiently,
    async untilTold(last, work) {
      isTellable = true
      try {
        return await patiently(last, work)
      } finally {
        isTellable = false
      }
    },
    async ignoring(work) {
      ignored = true
      try {
        return await work()
      } finally {
        ignored = false
      }
    },
    atExit: cleanAtExit,
  }
}

function cleanAtExit(cleanup: () => void): () => void {
  let done = false
  const once = (): void => {
    if (done) return
    done = true
    process.off('exit', once)
    cleanup()
  }
  process.on('exit', once)
  return once
}
