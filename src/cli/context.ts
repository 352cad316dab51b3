// What every command gets besides its arguments.

import type { Clock } from '../clock.ts'
import type { Environment } from './environment.ts'
import type { Interrupts } from './interrupts.ts'

export interface Context {
  readonly environment: Environment
  readonly interrupts: Interrupts
  readonly clock: Clock
  /** Remarks to print after the answer of any command. */
  readonly notices: string[]
}
