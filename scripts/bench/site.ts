// A finished long history, for everything that is measured on it.

import type { History } from './long-history.ts'
import type { RunContext } from './run-context.ts'

export interface Site {
  readonly context: RunContext
  readonly history: History
  readonly identityFile: string
  /** `at 100,000 commits and 10,000 memories` */
  readonly size: string
}
