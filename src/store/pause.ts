// Long work gives way, now and then.

import { StoreError } from '../errors.ts'

/** Lets timers and input run, and ends the work if the caller wants that. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) {
    throw new StoreError('cancelled', 'The work was cancelled', { cause: signal.reason })
  }
  await new Promise((resolve) => setImmediate(resolve))
}
