// A device or recovery entry for which both sides have different keys (FORMAT §7.2): the result of
// a sync, and its report of passphrases and recovery keys that no longer open the store.

import { expect, test } from 'vitest'
import { signingKeyPair } from '../../../../src/crypto/signature.ts'
import { joinDirectories } from '../../../../src/format/directory-join.ts'
import { byOwner, type Directory, type RecoveryEntry } from '../../../../src/format/directory.ts'
import { deviceIdOf, formatId } from '../../../../src/format/id.ts'
import { generateIdentity } from '../../../../src/keys/identity.ts'
import { findKeyring, readKeyringState } from '../../../../src/store/access/authority.ts'
import { findDivergence } from '../../../../src/store/commits/divergence.ts'
import {
  describeJoin,
  type JoinedKeyrings,
  joinHeadKeyrings,
  type Tips,
} from '../../../../src/store/sync/joined-keyrings.ts'
import { passphraseOf, recoveryKeyOf } from '../../../support/directories.ts'
import { withKem, withMember } from '../../../support/forge-fault.ts'
import type { Forge } from '../../../support/forge.ts'
import { standardClones } from '../../../support/forged-clones.ts'

const storeId = '11'.repeat(16)
const key = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const { publicKey: signingKey } = signingKeyPair(key(1))
const deviceId = deviceIdOf(signingKey)

function side(number: number, change: Partial<Directory>): Directory {
  const lists = { devices: [], removed: [], recovery: [], gone: [] }
  const rest = { ...lists, quota: 0, quotaSet: 0, founderRandom: undefined }
  return { number, previous: [key(number)], ...rest, ...change }
}

function device(kemByte: number): Directory['devices'][number] {
  const keys = { signingKey, kemKey: key(kemByte, 1216), keySignature: key(kemByte, 64) }
  const by = { role: 'writer', roleBy: 'owner', namedBy: 'owner', ...byOwner } as const
  return { deviceId, ...keys, ...by, added: 1, roleSet: 1, name: '', named: 1 }
}

function entry(type: RecoveryEntry['type'], slot: number, keys: number = slot): RecoveryEntry {
  const of = { signingKey: key(keys), kemKey: key(keys, 1216) }
  const either = type === 'passphrase' ? passphraseOf(slot) : recoveryKeyOf(slot)
  return { ...either, ...of }
}

const passphrases = (...slots: number[]): Directory['recovery'] =>
  slots.map((slot) => entry('passphrase', slot))

test.each<[string, Partial<Directory>, Partial<Directory>, Partial<JoinedKeyrings>]>([
  [
    'a device with different keys',
    { devices: [device(1)] },
    { devices: [device(2)] },
    { removed: [formatId('device', deviceId)] },
  ],
  [
    'a recovery key with different keys',
    { recovery: [entry('recovery', 1)] },
    { recovery: [entry('recovery', 1, 2)] },
    { dropped: 1 },
  ],
  [
    'a slot of two types',
    { recovery: [entry('recovery', 1)] },
    { recovery: [entry('passphrase', 1)] },
    { dropped: 1 },
  ],
  [
    'six passphrases',
    { recovery: passphrases(1, 2, 3) },
    { recovery: passphrases(4, 5, 6) },
    { passphrases: 4, dropped: 2 },
  ],
  [
    'a passphrase that one side has dropped',
    { recovery: passphrases(1) },
    { recovery: passphrases(2), gone: [entry('passphrase', 1).slotId] },
    { passphrases: 1 },
  ],
])('the report of a join counts %s', (_, first, second, expected) => {
  const sides = [side(4, first), side(6, second)] as const
  const [ours, theirs] = sides.map((directory) => ({ keyring: { directory } }))
  if (ours === undefined || theirs === undefined) throw new Error('two sides')
  const report = describeJoin({ ours, theirs }, { directory: joinDirectories(storeId, sides) })
  expect(report).toEqual({ removed: [], lowered: [], passphrases: 0, dropped: 0, ...expected })
})

test('keyring_conflict: a device joins nothing where that would remove it', async () => {
  const { left, right, second } = (await standardClones('own keys replaced'))()
  const identity = await generateIdentity(left.random)
  left.keyring((next) => withMember(next, identity, 'owner'))
  const forgery = withKem(identity, second.kem)
  const fault = { author: second }
  right.keyring((next) => withMember(next, forgery, 'owner'), { fault })
  const objects = new Map([...left.objects, ...right.objects])
  const source = {
    objects: { read: (oid: string) => objects.get(oid) },
    storeId: left.storeId,
    epochs: left.epochs,
  }
  const tips = { ours: tipOf(left, source), theirs: tipOf(right, source) }
  const divergence = await findDivergence(source, left.head, right.head)
  const session = { storeId: left.storeId, identity, random: left.random }
  const joining = joinHeadKeyrings(session, source, tips, divergence)
  await expect(joining).rejects.toMatchObject({ code: 'keyring_conflict' })
  await expect(joining).rejects.toThrow('an owner for both sides has to sync')
})

function tipOf(forge: Forge, source: Parameters<typeof readKeyringState>[0]): Tips['ours'] {
  const { head: commit, keyringRecord: record } = forge
  const keyring = readKeyringState(source, findKeyring(source.objects, commit), record)
  return { head: { commit, record, height: forge.entries.length, tree: '' }, keyring }
}
