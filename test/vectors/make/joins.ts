// Vectors of keyrings that changed apart and were joined, and of joins with one fault each. FORMAT
// §7.2.

import { deviceIdOf } from '../../../src/format/id.ts'
import type { Oid } from '../../../src/git/objects/object.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../../src/keys/recovery.ts'
import { asRecovery, type JoinPlan, withMember } from '../../support/forge-fault.ts'
import type { Forge } from '../../support/forge.ts'
import { removeDevice, withDevice } from '../../support/forged-clones.ts'
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
  return [...accepted(members), ...refused(members), ...forgedMembers(members)]
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
  const { second, newcomer } = members
  const author = second
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
    [
      'accepted',
      'a join with an owner whose id a passphrase enrolled apart, by that owner, with what it gave',
      '7.2',
      (f) => {
        const clone = squatted(f, author)
        f.keyring((next) => withMember(next, author, 'owner'))
        f.keyring((next) => withMember(next, newcomer, 'writer'), { fault: { author } })
        return f.joinWith(clone, { fault: { author } })
      },
    ],
    [
      'accepted',
      'a join with what a device wrote on whom a passphrase enrolled that was dropped apart',
      '7.2',
      (f) => {
        f.keyring((next) => withMember(next, author, 'owner'))
        const clone = squatted(f, newcomer)
        clone.change([nextRow], { author })
        f.keyring((next) => ({ ...next, recovery: next.recovery.slice(0, 1) }), {
          epoch: f.newEpoch(),
        })
        return f.joinWith(clone)
      },
    ],
  ]
}

const passphraseSlot = { slotId: 'bb'.repeat(16) }

/** A clone in which a passphrase, whose key pair is known without Argon2id, enrols a device. */
function squatted(forge: Forge, identity: Identity): Forge {
  const secret = recoveryKeyIdentity(forge.storeId, new Uint8Array(32).fill(8))
  const keys = { signingKey: secret.signing.publicKey, kemKey: secret.kem.publicKey }
  const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
  const entry = { ...passphraseSlot, type: 'passphrase', ...keys, argon2 } as const
  forge.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }))
  const clone = forge.fork()
  clone.keyring((next) => withMember(next, identity, 'writer', 'passphrase'), {
    fault: asRecovery(passphraseSlot, secret),
  })
  return clone
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
      'record_role',
      'a join by a writer who was admitted apart',
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

/** What nobody can make of a device or a recovery identity. */
function forgedMembers({ second, newcomer }: Members): readonly Join[] {
  return [
    [
      'keyring_chain',
      'a join that keeps the role that a passphrase gave an owner',
      '7.2',
      (f) => {
        const clone = squatted(f, second)
        f.keyring((next) => withMember(next, second, 'owner'))
        const to = { role: 'writer', roleBy: 'passphrase' } as const
        return f.joinWith(clone, {
          directory: (next) => withDevice(next, second.deviceId, to),
        })
      },
    ],
    [
      'keyring_chain',
      'a device that is added with keys that it has not signed',
      '7.1',
      (f) => {
        const forged = { ...newcomer, keySignature: second.keySignature }
        return f.keyring((next) => withMember(next, forged, 'writer'))
      },
    ],
    [
      'record_device',
      'a recovery key that signs under the id of a device with its key',
      '1',
      (f) => {
        const { signing } = recoveryKeyIdentity(f.storeId, new Uint8Array(32).fill(7))
        const deviceId = deviceIdOf(signing.publicKey)
        const { record } = asRecovery(passphraseSlot, { signing })
        return f.keyring((next) => withMember(next, newcomer, 'owner', 'recovery'), {
          fault: { author: { deviceId, signing }, ...(record && { record }) },
        })
      },
    ],
  ]
}
