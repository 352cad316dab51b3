// Arbitrary steps of clones around one remote: the actions of their users, and failures. A step
// names a clone by a number; the world chooses the clone, and decides whether it may act.

import * as fc from 'fast-check'
import type { Role } from '../../src/index.ts'
import type { Loss, Moment } from '../support/faulty-disk.ts'
import { full } from '../support/seed.ts'
import type { Trouble } from './convergence-auditor.ts'
import type { Death } from './convergence-death.ts'
import { changes } from './store-commands.ts'
import type { PlannedChange } from './store-model.ts'

/** What one clone does by itself; each can be cut short by a death. */
export type Work =
  | { readonly type: 'apply'; readonly planned: readonly PlannedChange[] }
  | { readonly type: 'settings'; readonly name: string }
  | { readonly type: 'redact'; readonly pick: number }
  | { readonly type: 'sync' }
  | { readonly type: 'add'; readonly role: Role }
  | { readonly type: 'role'; readonly whose: number; readonly role: Role }
  | { readonly type: 'remove'; readonly whose: number }
  | { readonly type: 'passphrase' }
  | { readonly type: 'recovery'; readonly keepOld: boolean }

export type Step =
  | { readonly type: 'work'; readonly clone: number; readonly work: Work }
  | { readonly type: 'cut'; readonly clone: number; readonly after: number }
  | { readonly type: 'reopen'; readonly clone: number }
  | {
      readonly type: 'kill'
      readonly clone: number
      readonly works: readonly Work[]
      readonly death: Death
    }
  | {
      readonly type: 'join'
      readonly by: 'card' | 'passphrase' | 'recovery'
      readonly death: Death | undefined
    }
  | { readonly type: 'audit'; readonly auditor: number; readonly trouble: Trouble }

function constant<const T>(value: T): fc.Arbitrary<T> {
  return fc.constant(value)
}

const role = fc.constantFrom<Role[]>('owner', 'writer', 'reader', 'auditor')
const apply = fc.record({ type: constant('apply'), planned: changes })
const sync = fc.record({ type: constant('sync') })
const settings = fc.record({
  type: constant('settings'),
  name: fc.constantFrom('x', 'y', 'z'),
})
const redact = fc.record({ type: constant('redact'), pick: fc.nat() })
const keyring: fc.Arbitrary<Work> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: constant('add'), role }) },
  { weight: 2, arbitrary: fc.record({ type: constant('role'), whose: fc.nat(), role }) },
  { weight: 2, arbitrary: fc.record({ type: constant('remove'), whose: fc.nat() }) },
  // Argon2id costs more than all else together.
  { weight: full ? 1 : 0, arbitrary: fc.record({ type: constant('passphrase') }) },
  { weight: 1, arbitrary: fc.record({ type: constant('recovery'), keepOld: fc.boolean() }) },
)

const work: fc.Arbitrary<Work> = fc.oneof(
  { weight: 10, arbitrary: apply },
  { weight: 7, arbitrary: sync },
  { weight: 1, arbitrary: settings },
  { weight: 2, arbitrary: redact },
  { weight: 3, arbitrary: keyring },
)

const death: fc.Arbitrary<Death> = fc.record({
  at: fc.integer({ min: 1, max: 120 }),
  moment: fc.constantFrom<Moment[]>('before', 'torn', 'after'),
  loss: fc.constantFrom<Loss[]>('nothing', 'contents', 'contents and names'),
})

const clone = fc.nat()

const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ after: fc.nat({ max: 40 }) }) },
  { weight: 3, arbitrary: fc.record({ death }) },
)

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 22, arbitrary: fc.record({ type: constant('work'), clone, work }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: constant('cut'), clone, after: fc.nat({ max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: constant('reopen'), clone }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: constant('kill'),
      clone,
      works: fc.array(work, { minLength: 1, maxLength: 3 }),
      death,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: constant('join'),
      by: fc.constantFrom(
        ...(full ? (['card', 'passphrase', 'recovery'] as const) : (['card', 'recovery'] as const)),
      ),
      death: fc.option(death, { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: constant('audit'), auditor: fc.nat(), trouble }),
  },
)
