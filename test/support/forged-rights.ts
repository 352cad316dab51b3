// Merges after one side has taken a right from a device that continued with the other side.

import { generateIdentity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { asRecovery, withMember } from './forge-fault.ts'
import { countingRandom } from './forge-seal.ts'
import type { Forge } from './forge.ts'
import {
  change,
  type Clones,
  type Forging,
  inRight,
  named,
  ofB,
  removeDevice,
} from './forged-clones.ts'
import { memory, version } from './standard-forge.ts'

type Act = (clones: Clones) => void

/** What the left side takes from whom. */
const removed: Act = ({ left, second }) => removeDevice(left, second)
const lowered: Act = ({ left, second }) => change(left, second, { role: 'writer' })
const rotates: Act = ({ left }) => left.keyring((next) => next)
const silenced: Act = ({ left, writer }) => change(left, writer, { role: 'reader' })
const regained: Act = ({ left, writer }) => change(left, writer, { role: 'writer' })

/** What the right side does, without knowing. */
const writes: Act = ({ right, second }) => right.change([inRight], { author: second })
const sets: Act = ({ right, second }) => right.settings(named('late'), { author: second })
const writerWrites: Act = ({ right, asWriter }) => right.change([ofB], asWriter)
const founderWrites: Act = ({ right }) => right.change([ofB])
const redacts: Act = ({ left, right, second }) => {
  right.redact([[memory.a, version.a1]], { author: second })
  for (const side of [left, right]) side.rewrite(new Set([version.a1]))
}
const enrolled = await generateIdentity(countingRandom('enrolled'))
const enrols: Act = ({ right }) => {
  const recoveryKey = recoveryKeyIdentity(right, new Uint8Array(32).fill(7))
  const fault = asRecovery({ slotId: 'aa'.repeat(16) }, recoveryKey)
  right.keyring((next) => withMember(next, enrolled, 'owner', 'recovery'), { fault })
}

/** By the founder unless told otherwise. */
function merged(acts: readonly Act[], by?: 'writer' | 'second'): Forging {
  return (clones): Forge => {
    for (const act of acts) act(clones)
    const { left, right } = clones
    left.merge(right, [], by === undefined ? {} : { author: clones[by] })
    return left
  }
}

export type RightsCase = readonly [code: string, name: string, forging: Forging]

export const lostRights: readonly RightsCase[] = [
  ['record_after_revocation', 'a merge of what a removed owner wrote', merged([removed, writes])],
  ['record_after_revocation', 'a merge of settings by a removed owner', merged([removed, sets])],
  [
    'record_after_revocation',
    'a merge of a redaction by a removed owner',
    merged([redacts, removed]),
  ],
  [
    'record_after_revocation',
    'a merge of what a device wrote that may only read now',
    merged([silenced, writerWrites]),
  ],
  [
    'record_after_revocation',
    'a merge where one who lost its right has built on another',
    merged([removed, silenced, writes, writerWrites]),
  ],
  [
    'record_after_revocation',
    'a merge where a device in force has built on the first of two late records',
    merged([removed, writes, founderWrites, writes]),
  ],
  [
    'merge_needs_owner',
    'a merge of a redaction by an owner of once, by a writer',
    merged([redacts, lowered], 'writer'),
  ],
  [
    'merge_needs_owner',
    'a merge of a redaction by an owner of once, by itself',
    merged([redacts, lowered], 'second'),
  ],
  [
    'merge_needs_owner',
    'a merge of settings by an owner of once, by a writer',
    merged([sets, lowered], 'writer'),
  ],
  [
    'merge_needs_owner',
    'a merge of settings by a removed owner that a writer has built on, by that writer',
    merged([removed, sets, writerWrites], 'writer'),
  ],
  [
    'merge_needs_owner',
    'a merge of a redaction by a removed owner that a writer has built on, by that writer',
    merged([redacts, removed, writerWrites], 'writer'),
  ],
  [
    'keyring_conflict',
    'a merge of a removal and an enrolment by recovery key, by an owner of both sides',
    merged([removed, rotates, rotates, enrols]),
  ],
  [
    'keyring_conflict',
    'a merge of a removal and what a removed owner wrote before an enrolment',
    merged([removed, rotates, rotates, writes, enrols]),
  ],
]

export const keptRights: readonly RightsCase[] = [
  ['accepted', 'a merge of what an owner of once wrote', merged([lowered, writes])],
  ['accepted', 'a merge of the same by itself', merged([lowered, writes], 'second')],
  [
    'accepted',
    'a merge of what a device wrote that has its role again',
    merged([silenced, regained, writerWrites]),
  ],
  [
    'accepted',
    'a merge of what a removed owner wrote, and a writer has built on',
    merged([removed, writes, writerWrites], 'writer'),
  ],
  ['accepted', 'a merge of settings by an owner of once, by an owner', merged([sets, lowered])],
  [
    'accepted',
    'a merge of a redaction by an owner of once, by an owner',
    merged([redacts, lowered]),
  ],
  [
    'accepted',
    'a merge of a redaction by a removed owner that a writer has built on, by an owner',
    merged([redacts, removed, writerWrites]),
  ],
]
