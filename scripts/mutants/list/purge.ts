// Erasing from the disk what a redaction has condemned.

import type { MutatedFile } from '../mutant.ts'

export const purge: readonly MutatedFile[] = [
  {
    file: 'git/disk-object-store.ts',
    mutants: [
      {
        line: `// A pack that a cancelled intent names must not become one of ours meanwhile.
      await this.#settleIntents()`,
        becomes: '',
        test: 'fault/object-store-purge.test.ts',
        name: 'what a full disk refused can be done again in the same turn',
      },
    ],
  },
]
