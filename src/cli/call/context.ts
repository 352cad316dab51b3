// The context that every command gets with its arguments.

import type { Clock } from '../../clock.ts'
import type { Credentials } from '../../transport/remote-access.ts'
import type { Environment } from './environment.ts'

export interface Context {
  readonly environment: Environment
  readonly interrupts: Interrupts
  readonly clock: Clock
  /** Remarks to print after the answer of any command. */
  readonly notices: string[]
  /** What hosts have accepted of this process, by address. */
  readonly accepted: Map<string, Credentials>
}

/** Signals, and cleanup however the process ends (terminal/interrupts.ts). */
export interface Interrupts {
  /** Aborted by the first Ctrl-C. The reason is a StoreError `cancelled`. */
  readonly signal: AbortSignal
  /**
   * While `work` runs, the first Ctrl-C leaves it all the time that it needs to stop and to report
   * where. A second one ends the process immediately and prints `ending`.
   */
  patiently<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** Like `patiently`, for work that runs until Ctrl-C or SIGTERM ends it. */
  untilStopped<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** While `work` runs, Ctrl-C is left to another program, such as an editor. */
  ignoring<T>(work: () => Promise<T>): Promise<T>
  /** Runs `cleanup` when the process ends, except by kill -9. Returns a function to run it now. */
  atExit(cleanup: () => void): () => void
}
