// How long work keeps the event loop, and with it every other store, timer and request of the
// process, from running.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

const nanosecondsPerMillisecond = 1e6

/** Runs `work` on a loop that is watched; `longest` are milliseconds. */
export async function watchLoop<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly longest: number }> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  // Without a tick before and after, the first and the last delay would not be seen.
  await sleep(2)
  const result = await work()
  await sleep(2)
  delays.disable()
  return { result, longest: delays.max / nanosecondsPerMillisecond }
}
