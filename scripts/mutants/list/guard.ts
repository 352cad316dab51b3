// What turns the guard on, who can turn it off, and what it lets through.

import type { MutatedFile } from '../mutant.ts'

const unit = 'unit/store/guard.test.ts'
const attack = 'attack/guard-switch.test.ts'

export const guard: readonly MutatedFile[] = [
  {
    file: 'store/guard/guard.ts',
    mutants: [
      {
        line: 'allowed.includes(sha256) ? undefined',
        becomes: 'allowed.length > 0 ? undefined',
        test: unit,
        name: 'is no finding, and one that differs is',
      },
      {
        line: 'return findings.every((finding) => own.has(keyOf(finding, after)))',
        becomes: 'return own.size > 0',
        test: unit,
        name: 'is one under a path that is a secret',
      },
    ],
  },
  {
    file: 'store/session/session.ts',
    mutants: [
      {
        line: 'return checkGuard(guard, rows, before, allowedTexts(settings.value))',
        becomes: 'return checkGuard(guard, rows, before)',
        test: attack,
        name: 'T76: a tool writes what an owner has let through, and that alone',
      },
    ],
  },
  {
    file: 'store/create.ts',
    mutants: [
      {
        line: 'refuseSecrets = true }',
        becomes: 'refuseSecrets = false }',
        test: attack,
        name: 'T76: a store made over HTTP has the guard on, and its pair is not shown',
      },
    ],
  },
  {
    file: 'store/devices/administration.ts',
    mutants: [
      {
        line: `...pairsOf(before.metadata, 'own'),`,
        becomes: '',
        test: unit,
        name: 'passes in a store, and the metadata of a program replace neither',
      },
    ],
  },
  {
    file: 'api/store-operations.ts',
    mutants: [
      {
        line: 'checkKeys(settings.metadata)',
        becomes: '',
        test: attack,
        name: 'T76: the creation of a store cannot either',
      },
      {
        line: 'checkKeys(patch.metadata ?? {})',
        becomes: '',
        test: attack,
        name: 'T76: the update of a store cannot turn it off: removed',
      },
    ],
  },
]
