// The memory tool's handlers.

import type { MutatedFile } from '../mutant.ts'

export const handlers: readonly MutatedFile[] = [
  {
    file: 'anthropic/turn-order.ts',
    mutants: [
      {
        line: 'if (effect !== current) ready = settled',
        becomes: '',
        test: 'unit/anthropic/turn-order.test.ts',
        name: 'a read waits for every write before it, not only for the last one',
      },
      {
        line: 'if (effect !== current) ready = settled',
        becomes: 'ready = settled',
        test: 'unit/anthropic/turn-order.test.ts',
        name: 'calls of one kind do not wait for each other',
      },
      {
        line: '() => before,\n      () => before,',
        becomes: '() => undefined,\n      () => undefined,',
        test: 'unit/anthropic/turn-order.test.ts',
        name: 'a write waits for every read before it, not only for the last one',
      },
      {
        line: '() => before,\n    )',
        becomes: '() => undefined,\n    )',
        test: 'unit/anthropic/turn-order.test.ts',
        name: 'a call that fails fails alone, and those after it still wait for the others',
      },
      {
        line: 'current = effect',
        becomes: '',
        test: 'unit/anthropic/turn-order.test.ts',
        name: 'a call waits for all that was before it, however often the kind changed',
      },
    ],
  },
]
