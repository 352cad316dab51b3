// What a redaction erases, and what proves it.

import type { MutatedFile } from '../mutant.ts'

export const redaction: readonly MutatedFile[] = [
  {
    file: 'store/absence.ts',
    mutants: [
      {
        line: 'return [...living, ...past]',
        becomes: 'return living',
        test: 'attack/redaction-replay.test.ts',
        name: 'finds a cache from before the redaction by its proof of absence',
      },
      {
        line: 'found.push(...cached.filter((id) => redacted.has(id)).map(cacheResidue))',
        becomes: '',
        test: 'attack/redaction-replay.test.ts',
        name: 'finds a cache from before the redaction by its proof of absence',
      },
    ],
  },
]
