// Waits for another machine, within limits: a promise is abandoned after a time without progress,
// or if the caller cancels. Must not close anything: the caller ends what it abandons.

import { StoreError } from '../errors.ts'

/** The longest time without progress, by default. */
export const timeoutMsDefault = 60_000

export interface Patience {
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
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

function timedOut(): StoreError {
  return new StoreError('remote_timeout', 'The remote stopped answering')
}

export function cancelled(): StoreError {
  return new StoreError('cancelled', 'The exchange with the remote was cancelled')
}
