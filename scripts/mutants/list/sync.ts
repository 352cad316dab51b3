// Mutants of the area "sync".

import type { MutatedFile } from '../mutant.ts'

export const sync: readonly MutatedFile[] = [
  {
    file: 'git/outgoing-pack.ts',
    mutants: [
      {
        line: 'else if (this.#chosen[number] === 0) {',
        becomes: 'else {',
        test: 'interop/thin-pack.test.ts',
        name: 'of more objects than are packed anew holds a tree that recurs only once',
      },
    ],
  },
  {
    file: 'git/pack-writer.ts',
    mutants: [
      {
        line: 'return thinBase !== undefined && names.has(thinBase.oid)',
        becomes: 'return thinBase === undefined',
        test: 'interop/thin-pack.test.ts',
        name: 'never builds on a tree that it brings itself',
      },
    ],
  },
  {
    file: 'store/sync/outgoing.ts',
    mutants: [
      {
        line: 'return tree === oid',
        becomes: 'return false',
        test: 'unit/store/sync/outgoing.test.ts',
        name: 'what is sent after a memory came and went is no tree that is there',
      },
      {
        line: 'return tree === oid',
        becomes: 'return true',
        test: 'unit/store/sync/outgoing.test.ts',
        name: 'what is sent after a memory came and went is no tree that is there',
      },
    ],
  },
]
