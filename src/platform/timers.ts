// Timers that do not keep the process alive, and pauses.

import { setTimeout as pause } from 'node:timers/promises'

export type Timer = ReturnType<typeof setTimeout>

/** Runs something later, unless the process has ended by then. */
export function inBackground(run: () => void, ms: number): Timer {
  return setTimeout(run, ms).unref()
}

/** Runs something after all other work that waits. */
export function afterOthers(run: () => void): void {
  setImmediate(run)
}

/** Rejects as soon as the signal is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await pause(ms, undefined, signal === undefined ? {} : { signal })
}
