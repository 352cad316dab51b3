// Vectors of keyrings that changed apart and were joined, and of joins with one fault each. FORMAT
// §7.2.

import type { Oid } from '../../../src/git/objects/object.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import { type JoinPlan, withMember } from '../../support/forge-fault.ts'
import type { Forge } from '../../support/forge.ts'
import { removeDevice } from '../../support/forged-clones.ts'
import { memory, nextRow, type Standard } from '../../support/standard-forge.ts'

type Join = readonly [
  expect: string,
  name: string,
  clause: string,
  act: (forge: Forge) => Oid | undefined,
]

interface Members extends Pick<Standard, 'writer' | 'reader'> {
  /** An owner beside the founder. */
  readonly second: Identity
  readonly newcomer: Identity
}

export async function joins({ forge, writer, reader }: Standard): Promise<readonly Join[]> {
  const second = await generateIdentity(forge.random)
  const newcomer = await generateIdentity(forge.random)
  const members = { writer, reader, second, newcomer }
  return [...accepted(members), ...refused(members)]
}

/** The founder removes the writer here, a second owner admits somebody in the clone returned. */
function part(forge: Forge, { writer, second, newcomer }: Members): Forge {
  forge.keyring((next) => withMember(next, second, 'owner'))
  const clone = forge.fork()
  removeDevice(forge, writer)
  clone.keyring((next) => withMember(next, newcomer, 'writer'), { fault: { author: second } })
  return clone
}

function accepted(members: Members): readonly Join[] {
  const { second: author, newcomer } = members
  const { memoryId, path } = nextRow
  const row = { memoryId, path, operation: 'modified', content: 'together\n' } as const
  return [
    ['accepted', 'keyrings that were joined', '7.2', (f) => f.joinWith(part(f, members))],
    [
      'accepted',
      'a join with rows, and a change on top by who was admitted apart',
      '7.2',
      (f) => {
        const clone = part(f, members)
        f.change([nextRow])
        clone.change([{ ...nextRow, versionId: 'ab'.repeat(16), content: 'apart\n' }], { author })
        f.joinWith(clone, { rows: [row] })
        return f.change([{ memoryId: memory.b, operation: 'deleted', path: '/dir/b.md' }], {
          author: newcomer,
        })
      },
    ],
  ]
}

function refused(members: Members): readonly Join[] {
  const { second, newcomer, reader, writer } = members
  const join =
    (plan: JoinPlan) =>
    (f: Forge): Oid =>
      f.joinWith(part(f, members), plan)
  return [
    [
      'keyring_conflict',
      'a merge of keyrings that changed apart',
      '7.2',
      (f) => {
        f.keyring((next) => withMember(next, second, 'owner'))
        const clone = f.fork()
        f.keyring((next) => next)
        const fault = { author: second }
        clone.keyring((next) => withMember(next, newcomer, 'writer'), { fault })
        return f.merge(clone)
      },
    ],
    [
      'keyring_chain',
      'a join that brings a removed device back',
      '7.2',
      join({ directory: (next) => ({ ...withMember(next, writer, 'writer'), removed: [] }) }),
    ],
    [
      'keyring_chain',
      'a join whose archives have another order',
      '7',
      join({ older: (epochs) => epochs.toReversed() }),
    ],
    ['record_role', 'a join by a reader', '7.2', join({ fault: { author: reader } })],
    [
      'record_device',
      'a join by who was admitted apart',
      '7.2',
      join({ fault: { author: newcomer } }),
    ],
    [
      'record_late',
      'a join with what a removed owner admitted',
      '7.2',
      (f) => {
        const clone = part(f, members)
        removeDevice(f, second)
        return f.joinWith(clone)
      },
    ],
  ]
}
