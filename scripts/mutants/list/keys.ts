// Who can read, and who may change that: keyrings, directories, archives and slots.

import type { MutatedFile } from '../mutant.ts'

export const keys: readonly MutatedFile[] = [
  {
    file: 'keys/archive.ts',
    mutants: [
      {
        line: 'if (epoch.kid !== kid || !equalBytes(epoch.contentKeyHash, hashC)) throw mismatch()',
        becomes: 'if (epoch.kid !== kid) throw mismatch()',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'an archive of A with another hash of C is keyring_mismatch',
      },
    ],
  },
  {
    file: 'keys/keyring.ts',
    mutants: [
      {
        line: 'if (same && active <= slots.length - shown.length) return',
        becomes: 'if (same) return',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'more active devices than slots is keyring_mismatch',
      },
      {
        line: 'if (same && active <= slots.length - shown.length) return',
        becomes: 'if (same && active < slots.length - shown.length) return',
        test: 'unit/keys/keyring-damage.test.ts',
        name: 'as many active devices as slots, and removed ones, open',
      },
    ],
  },
  {
    file: 'format/directory.ts',
    mutants: [
      {
        line: 'if (before.removed !== 0 || after.removed !== number) {',
        becomes: 'if (before.removed !== 0) {',
        test: 'unit/format/directory.test.ts',
        name: 'with a removal in the past is keyring_chain',
      },
    ],
  },
]
