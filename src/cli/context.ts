// What every command gets besides its arguments.

import type { Clock } from '../clock.ts'
import type { Credentials } from '../transport/remote-access.ts'
import type { Environment } from './environment.ts'
import type { Interrupts } from './interrupts.ts'

export interface Context {
  readonly environment: Environment
  readonly interrupts: Interrupts
  readonly clock: Clock
  /** Remarks to print after the answer of any command. */
  readonly notices: string[]
  /** What hosts have accepted of this process, by address. */
  readonly accepted: Map<string, Credentials>
}
