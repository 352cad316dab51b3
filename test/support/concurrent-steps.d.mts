// What `concurrent-steps.mjs` gives to tests of one process.

import type { MemoryStore } from '../../src/index.ts'

export type Say = (...words: readonly string[]) => void

export function runSteps(
  store: MemoryStore,
  name: string,
  steps: readonly string[],
  say: Say,
): Promise<void>
