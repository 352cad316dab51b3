// Subkeys of an epoch: the numbering of the format, and what an auditor has.

import { expect, test } from 'vitest'
import { fromHex, label, toHex } from '../../../src/bytes.ts'
import { deriveKey, hash256 } from '../../../src/crypto/digest.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { auditKeys, epochKeys, kidOf } from '../../../src/keys/epoch.ts'

const seed = '11'.repeat(16)
const A = new Uint8Array(32).fill(1)
const C = new Uint8Array(32).fill(2)
const epoch = epochKeys(seed, A, C)

test('the kid is a hash of seed and both keys', () => {
  const hash = hash256(label('GLK1/kcv/v1'), fromHex(seed), hash256(A), hash256(C))
  expect(epoch.kid).toBe(toHex(hash).slice(0, 32))
  expect(kidOf(seed, A, hash256(C))).toBe(epoch.kid)
  expect(epochKeys('22'.repeat(16), A, C).kid).not.toBe(epoch.kid)
})

test.each([
  ['record', epoch.record, A, 1],
  ['directory', epoch.directory, A, 3],
  ['archive of A', epoch.archiveA, A, 5],
  ['memory', epoch.memory, C, 1],
  ['detail', epoch.detail, C, 2],
  ['settings', epoch.settings, C, 3],
  ['archive of C', epoch.archiveC, C, 5],
])('the key for %s is the subkey of the format', (_, keys, master, subkey) => {
  expect(keys.key).toEqual(deriveKey(master, subkey, 'GLK1keys'))
  expect(keys.saltKey).toEqual(deriveKey(master, 4, 'GLK1keys'))
  expect(keys.kid).toBe(epoch.kid)
})

test('the group key, the salts of slots and auditors’ slots come from A', () => {
  expect(epoch.group).toEqual(signingKeyPair(deriveKey(A, 2, 'GLK1keys')))
  expect(epoch.slotSaltKey).toEqual(deriveKey(A, 4, 'GLK1keys'))
  expect(epoch.auditorSlotKey).toEqual(deriveKey(A, 6, 'GLK1keys'))
})

test('all other slots come from C', () => {
  expect(epoch.slotKey).toEqual(deriveKey(C, 6, 'GLK1keys'))
})

test('an auditor with A and H(C) has the same epoch without any key of C', () => {
  const audit = auditKeys(seed, A, hash256(C))
  expect(epoch).toMatchObject(audit)
  expect(Object.keys(audit).toSorted()).toEqual([
    'archiveA',
    'auditKey',
    'auditorSlotKey',
    'contentKeyHash',
    'directory',
    'group',
    'kid',
    'record',
    'seed',
    'slotSaltKey',
  ])
})
