// What makes a history acceptable.

import type { MutatedFile } from '../mutant.ts'

export const verification: readonly MutatedFile[] = [
  {
    file: 'store/verify-commit.ts',
    mutants: [
      {
        line: 'checkInTime({ record: before[0].record, directory }, [first])',
        becomes: '',
        test: 'attack/joined-keyrings.test.ts',
        name: 'record_late: as its first parent',
      },
      {
        line: 'checkInTime({ record: before[1].record, directory }, [second])',
        becomes: '',
        test: 'attack/joined-keyrings.test.ts',
        name: 'record_late: as its second parent',
      },
    ],
  },
]
