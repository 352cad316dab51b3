// What is known of the versions that were verified before.

import type { MutatedFile } from '../mutant.ts'

export const versionIds: readonly MutatedFile[] = [
  {
    file: 'store/local/version-ids.ts',
    mutants: [
      {
        line: 'if (history.find(id) === undefined) continue',
        becomes: '',
        test: 'unit/store/version-ids.test.ts',
        name: 'do not refuse a version of a commit that was dropped',
      },
      {
        line: 'if (this.#at !== after) return',
        becomes: '',
        test: 'unit/store/version-ids.test.ts',
        name: 'are read from the last announced commit on',
      },
      {
        line: 'if (written?.kept !== undefined && this.#isBehind(written.kept)) {',
        becomes: 'if (written?.kept !== undefined && this.#since.length < 0) {',
        test: 'unit/store/version-ids.test.ts',
        name: 'continue from what another process has written',
      },
      {
        line: 'return this.#since.length < kept.count',
        becomes: 'return true',
        test: 'unit/store/version-ids.test.ts',
        name: 'are rewritten if the files were found damaged',
      },
    ],
  },
  {
    file: 'store/local/version-id-files.ts',
    mutants: [
      {
        line: 'if (segment?.before !== digest) return false',
        becomes: 'if (segment === undefined) return false',
        test: 'unit/store/version-ids.test.ts',
        name: 'that are missing, older or reordered are not used',
      },
      {
        line: 'return digest === kept.digest',
        becomes: 'return true',
        test: 'unit/store/version-ids.test.ts',
        name: 'are not appended to if they hold other ids',
      },
      {
        line: 'if (segment === undefined || digestAfter(segment) !== kept.digest) return undefined',
        becomes: 'if (segment === undefined) return undefined',
        test: 'unit/store/version-ids.test.ts',
        name: 'are not appended to if they hold other ids',
      },
    ],
  },
  {
    file: 'store/verify/verify.ts',
    mutants: [
      {
        line: 'await accept?.()',
        becomes: '',
        test: 'attack/rollback.test.ts',
        name: 'row_version_reused: a version id of long ago, when it starts and while it runs',
      },
    ],
  },
]
